"""The list of exhibits, and the knobs of each: what there is to look at and to turn."""

import json
import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple, get_args, get_origin

from mingyue.cli.help import Row, print_help
from mingyue.cli.screen import console, is_terminal, number, visible
from mingyue.errors import UserError
from mingyue.explain.catalogue import all_exhibits
from mingyue.explain.exhibit import Definition, Knobs
from mingyue.explain.pages import option, plain
from mingyue.language import tr, translated


class Turn(NamedTuple):
    """A knob or a page as it was spelled (``--query``, ``--set query``), and its value."""

    typed: str
    value: str


def print_list(*, as_json: bool = False) -> None:
    """All exhibits in the order of the article: the name and a line."""
    definitions = all_exhibits()
    if as_json:
        print(json.dumps([_about(definition) for definition in definitions], ensure_ascii=False))
        return
    from rich.table import Table
    from rich.text import Text

    out = console()
    if is_terminal():
        table = Table.grid(padding=(0, 2))
        for definition in definitions:
            table.add_row(Text(definition.name, style="cyan"), Text(definition.brief()))
        out.print(table)
    else:
        for definition in definitions:
            out.print(f"{definition.name:<12} {definition.brief()}")
    first = definitions[0].name
    out.print()
    for command, meaning in (
        (f"mingyue explain {first} RUN", tr("show it on your model")),
        (f"mingyue explain {first} --help", tr("what it is about, and its knobs")),
        ("mingyue explain all RUN --out report.html", tr("all of them on one page")),
    ):
        out.print(Text(f"{command:<43}", style="cyan").append(meaning, "default"), soft_wrap=True)


def print_about(definition: Definition, *, as_json: bool = False) -> None:
    """What the exhibit is about, what it is shown on, what can be turned."""
    if as_json:
        print(json.dumps(_about(definition), ensure_ascii=False))
        return
    name, fields = definition.name, definition.knobs.model_fields
    examples = [["mingyue", "explain", name, "runs/tang"]]
    examples += [[*examples[0], visible(text)] for text in definition.texts[:1]]
    rows: list[Row] = [
        (f"{option(knob)} {_metavar(field.annotation)}", _meaning(field))
        for knob, field in fields.items()
    ]
    pages: list[Row] = [
        (f"{option(page)} {page.upper()}", tr("open the drawings at this page"))
        for page in definition.pages
        if page not in fields
    ]
    common = ["--figure", "--json"]
    if definition.needs_dataset:
        common.insert(0, "--on")
    if not definition.needs_snapshots:
        common += ["--step", "--scrub"]
    panels = {
        tr("Shown on the first of these that the model can read"): [
            (f"{i}.", visible(text)) for i, text in enumerate(definition.texts, 1)
        ],
        tr("Knobs"): rows,
        tr("Pages"): pages,
        tr("Of every exhibit"): [
            ("mingyue explain --help", tr("tells about {options}", options=", ".join(common)))
        ],
    }
    print_help(
        f"mingyue explain {name} RUN [TEXT] {tr('[options]')}",
        f"{definition.title()}\n{definition.brief()}",
        "\n".join(map(shlex.join, examples)),
        {heading: rows for heading, rows in panels.items() if rows},
    )


def knobs_of(definition: Definition, wanted: Mapping[str, Turn]) -> tuple[Knobs, dict[str, str]]:
    """Of what was wanted, by plain name, the exhibit's knobs, and the pages to open.

    Raises:
        UserError: one is neither, or a knob does not take the value.
    """
    fields, pages = definition.knobs.model_fields, list(map(plain, definition.pages))
    known = list(dict.fromkeys([*fields, *pages]))
    for name, turn in wanted.items():
        if name not in known:
            raise UserError(
                tr(
                    "{option}: {exhibit} has no such knob; there are {known}",
                    option=turn.typed,
                    exhibit=definition.name,
                    known=", ".join(map(option, known)),
                )
                if known
                else tr(
                    "{option}: {exhibit} has no knobs", option=turn.typed, exhibit=definition.name
                )
            )
    said = {
        name: _split(fields[name].annotation, turn.value)
        for name, turn in wanted.items()
        if name in fields
    }
    opened = {name: turn.value for name, turn in wanted.items() if name not in fields}
    return definition.knobs.checked(**said), opened


def _about(definition: Definition) -> dict[str, Any]:
    knobs = definition.knobs.model_json_schema().get("properties", {})
    for knob in knobs.values():
        knob["description"] = translated(knob.get("description", ""))
    return {
        "name": definition.name,
        "title": definition.title(),
        "brief": definition.brief(),
        "texts": list(definition.texts),
        "pages": list(definition.pages),
        "knobs": knobs,
    }


def _split(kind: Any, value: str) -> Any:
    """``1,2,3`` for a knob that takes several."""
    several = get_origin(kind) in (list, tuple) or any(
        get_origin(k) in (list, tuple) for k in get_args(kind)
    )
    return [part.strip() for part in value.split(",")] if several else value


def _metavar(kind: Any) -> str:
    kinds = [k for k in get_args(kind) or (kind,) if k is not type(None)]
    if all(isinstance(k, str) for k in kinds):  # Literal
        return "|".join(kinds)
    if get_origin(kind) in (list, tuple):
        return f"{_metavar(kinds[0])},…"
    return {int: "N", float: "X", bool: "true|false"}.get(kinds[0], "TEXT")


def _meaning(field: Any) -> str:
    """The description, the bounds, the default."""
    bounds = [
        f"{sign} {number(bound) if isinstance(bound, int) else bound}"
        for part in field.metadata
        for name, sign in (("ge", "≥"), ("gt", ">"), ("le", "≤"), ("lt", "<"))
        if (bound := getattr(part, name, None)) is not None
    ]
    said = translated(field.description or "")
    if bounds:
        said += f" ({', '.join(bounds)})"
    if field.default not in (None, "", ()):
        said += f" [{field.default}]"
    return said
