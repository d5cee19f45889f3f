"""An exhibit as a still page, SVG or PNG: title, claim, verdicts, and panels beneath each other.

Two passes: every part first says how tall it wants to be, then the page is cut to that height
and each part is drawn at its place. Chinese needs a font that has it, and we look for one; in an
SVG the words stay words, to be searched and copied.
"""

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mingyue.errors import UserError
from mingyue.explain import colours
from mingyue.explain.exhibit import Exhibit, Verdict
from mingyue.explain.figure.fonts import (
    LATIN_SANS,
    LATIN_SERIF,
    SANS,
    SERIF,
    anywhere,
    find,
)
from mingyue.explain.figure.sheet import Part, Sheet, wrap
from mingyue.language import tr
from mingyue.text.files import write_atomic


def save(exhibit: Exhibit, path: str | Path, *, dark: bool = False) -> None:
    """Write the exhibit under ``path``, as SVG or PNG as its suffix says.

    Raises:
        UserError: another suffix, matplotlib is missing, or a font for Chinese is.
    """
    path = Path(path)
    kind = path.suffix.lower().removeprefix(".")
    if kind not in {"svg", "png"}:
        raise UserError(tr("{path}: a still figure is .svg or .png", path=path))
    write_atomic(path, render(exhibit, kind, dark=dark))


def require() -> None:
    """Import matplotlib; to be asked before the long work, too.

    Raises:
        UserError: it is missing.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise UserError(
            tr("a figure needs matplotlib: pip install 'mingyue[plots]' (.html needs nothing)")
        ) from error


def render(exhibit: Exhibit, kind: str, *, dark: bool = False) -> bytes:
    """The bytes of the picture; ``kind`` is "svg" or "png"."""
    require()
    import matplotlib
    from matplotlib.figure import Figure

    from mingyue.explain.figure.drawing import part_of  # it imports matplotlib

    words = find(exhibit, LATIN_SANS, SANS, SERIF)
    headings = find(exhibit, LATIN_SERIF, SERIF, SANS)
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": exhibit.name,  # the same exhibit, the same bytes
        "text.parse_math": False,
        "axes.unicode_minus": False,
        "font.family": words,
    }
    with matplotlib.rc_context(settings):
        sheet = Sheet(colours.theme(dark), dark, headings)
        parts = [*_words(exhibit, sheet), *(part_of(panel, sheet) for panel in exhibit.panels)]
        parts += [*_notes(exhibit, sheet)]
        height = 2 * sheet.margin + sum(part.height for part in parts)
        figure = Figure(figsize=(sheet.width, height), facecolor=sheet.theme.paper)
        sheet.figure, y = figure, sheet.margin
        for part in parts:
            part.draw(y)
            y += part.height
        written = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else None
        with _quietly():
            figure.savefig(written, format=kind, dpi=160, metadata=metadata)
    if kind == "png":
        return written.getvalue()
    drawn = anywhere(written.getvalue(), headings, [*LATIN_SERIF, *SERIF], "serif")
    return anywhere(drawn, words, [*LATIN_SANS, *SANS], "sans-serif")


@contextmanager
def _quietly() -> Iterator[None]:
    """No words about a rare character or a weight that the font lacks: a box stands there."""
    log = logging.getLogger("matplotlib.font_manager")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        log.setLevel(level)


def _words(exhibit: Exhibit, sheet: Sheet) -> Iterator[Part]:
    title = {"size": 20, "family": sheet.headings}
    yield sheet.paragraph(exhibit.title, after=0.12, leading=1.3, **title)
    yield sheet.paragraph(exhibit.see, size=10.5, after=0.16, leading=1.6)
    for verdict in exhibit.verdicts:
        yield _verdict(verdict, sheet)


def _verdict(verdict: Verdict, sheet: Sheet) -> Part:
    """A mark, the claim, and in grey what was measured."""
    mark, colour = {
        True: ("✓", sheet.theme.good),
        False: ("✗", sheet.theme.bad),
        None: ("?", sheet.theme.unsure),
    }[verdict.holds]
    lines = [(line, sheet.theme.ink) for line in wrap(verdict.claim, 10.5, sheet.inner - 0.3)]
    lines += [(line, sheet.theme.faint) for line in wrap(verdict.measured, 9.5, sheet.inner - 0.3)]

    def draw(y: float) -> None:
        sheet.text(mark, 0, y, 11, colour, weight="bold")
        for i, (line, ink) in enumerate(lines):
            size = 10.5 if ink == sheet.theme.ink else 9.5
            sheet.text(line, 0.3, y + 0.21 * i, size, ink)

    return Part(0.21 * len(lines) + 0.12, draw)


def _notes(exhibit: Exhibit, sheet: Sheet) -> Iterator[Part]:
    for i, note in enumerate(exhibit.notes):
        yield sheet.paragraph(
            note, size=9, colour=sheet.theme.faint, before=0.25 if i == 0 else 0, after=0.04
        )
