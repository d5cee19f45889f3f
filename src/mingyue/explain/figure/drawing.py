"""A panel on the sheet: its title, its scale at the right, and the drawing below.

Pages of a matrix stand side by side when there are at most 64 of them (4 layers × 4 heads, each
as small as a stamp); of more, and of other panels, the page to begin with is drawn and named.
"""

import math

from mingyue.explain.colours import limits, ramp
from mingyue.explain.figure.lists import steps, table
from mingyue.explain.figure.plots import bars, curves, scatter
from mingyue.explain.figure.sheet import Part, Sheet, inches, wrap
from mingyue.explain.figure.tiles import matrix, stamps, strip
from mingyue.explain.numbers import number
from mingyue.explain.panels import (
    Bars,
    Curves,
    Matrix,
    Panel,
    Scatter,
    Steps,
    Strip,
    Table,
    page_of,
)

MANY_PAGES, MANY_ACROSS = 64, 16


def part_of(panel: Panel, sheet: Sheet) -> Part:
    """The panel with its title above and air around."""
    match panel:
        case Matrix():
            body = stamps(panel, sheet) if _fit_side_by_side(panel) else None
            title, body = (panel.title, body) if body else (_paged(panel), matrix(panel, sheet))
        case Curves():
            title, body = panel.title, curves(panel, sheet)
        case Bars():
            title, body = _paged(panel), bars(panel, sheet)
        case Scatter():
            title, body = panel.title, scatter(panel, sheet)
        case Strip():
            title, body = _paged(panel), strip(panel, sheet)
        case Table():
            title, body = panel.title, table(panel, sheet)
        case Steps():
            title, body = panel.title, steps(panel, sheet)
    scale = panel.scale if isinstance(panel, Matrix | Strip) else None
    room = sheet.inner - (2.6 if scale else 0)
    lines = wrap(title, 11.5, room)
    top = 0.4 + 0.24 * len(lines) + 0.1

    def draw(y: float) -> None:
        for i, line in enumerate(lines):
            sheet.text(line, 0, y + 0.4 + 0.24 * i, 11.5, sheet.theme.ink, weight="bold")
        if isinstance(panel, Matrix | Strip):
            _legend(panel, sheet, y + 0.4)
        body.draw(y + top)

    return Part(top + body.height, draw)


def _fit_side_by_side(panel: Matrix) -> bool:
    sizes = [len(labels) for labels in panel.pages.values()]
    return 1 < math.prod(sizes) <= MANY_PAGES and (len(sizes) == 1 or sizes[-1] <= MANY_ACROSS)


def _paged(panel: Matrix | Bars | Strip) -> str:
    """The title, with the name of the page that is drawn."""
    return " · ".join([panel.title, *page_of(panel)[1]])


def _legend(panel: Matrix | Strip, sheet: Sheet, y: float) -> None:
    """The ramp with the numbers at its ends, at the right of the title."""
    low, high = limits(panel.values, panel.scale)
    words = number(high) + (f" {panel.unit}" if panel.unit else "")
    right = sheet.inner - inches(words, 8.5) - 0.08
    axes = sheet.axes(right - 1.1, y + 0.03, 1.1, 0.1)
    axes.imshow(ramp(panel.scale, sheet.dark)[None], aspect="auto", interpolation="none")
    axes.set_axis_off()
    sheet.text(number(low), right - 1.18, y + 0.01, 8.5, sheet.theme.faint, ha="right")
    sheet.text(words, sheet.inner, y + 0.01, 8.5, sheet.theme.faint, ha="right")
