"""Words in rows: a table, and the steps of a computation."""

import math
from collections.abc import Callable, Sequence

import matplotlib
import numpy as np

from mingyue.explain.figure.sheet import Part, Sheet, inches, number, wrap
from mingyue.explain.panels import Steps, Table
from mingyue.language import tr

MANY_ROWS = 40


def table(panel: Table, sheet: Sheet) -> Part:
    cells = zip(*panel.rows[:MANY_ROWS], strict=True)
    rows = list(zip(*map(_column, cells), strict=True))
    of_numbers = [
        all(not isinstance(row[i], str) for row in panel.rows) and bool(panel.rows)
        for i in range(len(panel.columns))
    ]
    widths = [
        0.3 + max([inches(head, 9), *(inches(row[i], 9.5) for row in rows)])
        for i, head in enumerate(panel.columns)
    ]
    shrink = min(1.0, sheet.inner / sum(widths))
    ends = np.cumsum(widths) * shrink
    high = 0.25

    def draw_row(cells: Sequence[str], y: float, size: float, colour: str) -> None:
        for i, cell in enumerate(cells):
            x = ends[i] - 0.3 * shrink if of_numbers[i] else ends[i] - widths[i] * shrink
            align = "right" if of_numbers[i] else "left"
            sheet.text(cell, x, y, size * max(shrink, 0.6), colour, ha=align)

    def draw(y: float) -> None:
        draw_row(panel.columns, y, 9, sheet.theme.faint)
        sheet.box(0, y + 0.21, float(ends[-1]) - 0.3 * shrink, 0.01, sheet.theme.line)
        for i, row in enumerate(rows):
            draw_row(row, y + 0.29 + i * high, 9.5, sheet.theme.ink)

    return with_rest(0.3 + high * len(rows), draw, len(panel.rows) - MANY_ROWS, sheet)


def _column(cells: Sequence[str | float | int]) -> list[str]:
    """Numbers under each other have as many decimals, but those that would keep only one digit."""
    numbers = [float(cell) for cell in cells if not isinstance(cell, str)]
    numbers = [abs(n) for n in numbers if math.isfinite(n)]
    if all(n == int(n) for n in numbers):
        return [number(cell) for cell in cells]
    decimals = 4 - min(max(math.ceil(math.log10(max(numbers))), 0), 3)
    return [
        number(cell)
        if isinstance(cell, str) or not math.isfinite(cell) or abs(cell) < 10 ** (1 - decimals)
        else f"{cell:,.{decimals}f}"
        for cell in cells
    ]


def steps(panel: Steps, sheet: Sheet) -> Part:
    notes = [wrap(step.note, 9, sheet.inner - 0.4) if step.note else [] for step in panel.steps]
    heights = [0.66 + 0.19 * len(lines) for lines in notes]

    def draw(y: float) -> None:
        top = y
        for i, step in enumerate(panel.steps):
            sheet.text(str(i + 1), 0.1, top, 10, sheet.theme.lines[0], weight="bold", ha="center")
            sheet.text(step.name, 0.4, top, 10.5, sheet.theme.ink)
            shape = f"{step.letters} = {list(map(int, step.shape))}"
            sheet.text(shape, sheet.inner, top, 9, sheet.theme.faint, ha="right")
            sheet.box(0.4, top + 0.23, sheet.inner - 0.4, 0.26, sheet.theme.card)
            code = {
                "family": ["DejaVu Sans Mono", *matplotlib.rcParams["font.family"]],
                "va": "center_baseline",
            }
            sheet.text(step.code, 0.5, top + 0.36, 8.5, sheet.theme.ink, **code)
            for j, line in enumerate(notes[i]):
                sheet.text(line, 0.4, top + 0.55 + 0.19 * j, 9, sheet.theme.faint)
            top += heights[i]

    return Part(sum(heights), draw)


def with_rest(height: float, draw: Callable[[float], None], left_out: int, sheet: Sheet) -> Part:
    """How many rows are not drawn, below those that are."""
    if left_out <= 0:
        return Part(height, draw)

    def draw_all(y: float) -> None:
        draw(y)
        sheet.text(tr("and {n} more", n=left_out), 0, y + height + 0.06, 8.5, sheet.theme.faint)

    return Part(height + 0.28, draw_all)
