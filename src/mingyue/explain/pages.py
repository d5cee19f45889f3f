"""Turning the pages of panels: ``--layer 2 --head 1`` as words, for every renderer.

A dimension is named by its key in ``panel.pages`` and a page by its label there; blanks and
hyphens in names are one, so that any name can be an option.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.panels import Paged, Panel
from mingyue.language import tr


def plain(name: str) -> str:
    """A name as it is compared: ``--From Layer``, from-layer and from_layer are the same."""
    return name.strip("-").replace("-", "_").replace(" ", "_").lower()


def option(name: str) -> str:
    """A name as it is typed."""
    return "--" + plain(name).replace("_", "-")


def dimensions(exhibit: Exhibit) -> dict[str, list[str]]:
    """What can be turned in the exhibit's panels, by plain name, and all labels there are."""
    found: dict[str, dict[str, None]] = {}
    for panel in exhibit.panels:
        for name, labels in _pages(panel).items():
            found.setdefault(plain(name), {}).update(dict.fromkeys(labels))
    return {name: list(labels) for name, labels in found.items()}


def turned(exhibit: Exhibit, wanted: Mapping[str, str]) -> Exhibit:
    """The exhibit with its panels opened at the pages wanted, {dimension: label}.

    A panel without such a dimension, or without that page in it, stays as it is.

    Raises:
        UserError: no panel has that page.
    """
    known = dimensions(exhibit)
    for name, label in wanted.items():
        if label not in known.get(name, []):
            raise UserError(
                tr(
                    "{option}: there is no {page} here; there are {known}",
                    option=option(name),
                    page=label or "''",
                    known=listed(known.get(name, [])),
                )
            )
    panels = [
        _turned(panel, wanted) if isinstance(panel, Paged) and panel.pages else panel
        for panel in exhibit.panels
    ]
    return replace(exhibit, panels=panels)


def _turned(panel: Paged, wanted: Mapping[str, str]) -> Paged:
    page = [*panel.page] + [0] * (len(panel.pages) - len(panel.page))
    for place, (name, labels) in enumerate(panel.pages.items()):
        if wanted.get(plain(name)) in labels:
            page[place] = list(labels).index(wanted[plain(name)])
    return replace(panel, page=page)


def listed(labels: Sequence[str]) -> str:
    """Labels in a few words: 0 … 11, or a, b, c."""
    if list(labels) == [str(n) for n in range(len(labels))] and len(labels) > 2:
        return f"{labels[0]} … {labels[-1]}"
    shown = ", ".join(labels[:8])
    return f"{shown}, …" if len(labels) > 8 else shown


def _pages(panel: Panel) -> Mapping[str, Sequence[str]]:
    return panel.pages if isinstance(panel, Paged) else {}
