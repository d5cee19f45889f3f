"""Words in rows: a table, and the steps of a computation."""

from collections.abc import Callable, Sequence

import matplotlib
import numpy as np

from mingyue.explain.figure.sheet import Part, Sheet, inches, wrap
from mingyue.explain.numbers import column
from mingyue.explain.panels import Steps, Table
from mingyue.language import tr

MANY_ROWS = 40
GAP, HIGH = 0.3, 0.25
"""Inches between columns, and of a row's first line."""


def table(panel: Table, sheet: Sheet) -> Part:
    """Numbers to the right, words to the left, and broken where they are too long for the page."""
    columns = [_words(cells) for cells in zip(*panel.rows[:MANY_ROWS], strict=True)]
    columns = columns or [[] for _ in panel.columns]
    of_numbers = [
        all(not isinstance(row[i], str) for row in panel.rows) and bool(panel.rows)
        for i in range(len(panel.columns))
    ]
    widths = [
        GAP + max([inches(head, 9.5), *(inches(cell, 9.5) for cell in column)])
        for head, column in zip(panel.columns, columns, strict=True)
    ]
    widths = _fitting(widths, of_numbers, sheet.inner + GAP)
    shrink = min(1.0, (sheet.inner + GAP) / sum(widths))
    ends = np.cumsum(widths) * shrink
    rows = [
        [wrap(cell, 9.5, width - GAP + 0.01) for cell, width in zip(row, widths, strict=True)]
        for row in zip(*columns, strict=True)
    ]
    lines = [max(map(len, row)) for row in rows]

    def draw_row(cells: Sequence[Sequence[str]], y: float, size: float, colour: str) -> None:
        for i, broken in enumerate(cells):
            x = ends[i] - GAP * shrink if of_numbers[i] else ends[i] - widths[i] * shrink
            align = "right" if of_numbers[i] else "left"
            for k, line in enumerate(broken):
                sheet.text(line, x, y + 0.19 * k, size * max(shrink, 0.6), colour, ha=align)

    def draw(y: float) -> None:
        draw_row([[head] for head in panel.columns], y, 9, sheet.theme.faint)
        sheet.box(0, y + 0.21, float(ends[-1]) - GAP * shrink, 0.01, sheet.theme.line)
        y += 0.29
        for row, n in zip(rows, lines, strict=True):
            draw_row(row, y, 9.5, sheet.theme.ink)
            y += HIGH + 0.19 * (n - 1)

    height = 0.3 + sum(HIGH + 0.19 * (n - 1) for n in lines)
    return with_rest(height, draw, len(panel.rows) - MANY_ROWS, sheet)


def _words(cells: Sequence[str | float | int]) -> list[str]:
    """A column as words, its numbers written alike."""
    said = iter(column([cell for cell in cells if not isinstance(cell, str)]))
    return [cell if isinstance(cell, str) else next(said) for cell in cells]


def _fitting(widths: list[float], of_numbers: Sequence[bool], room: float) -> list[float]:
    """Columns of words made narrower, the widest first, until all fit or have but two inches."""
    widths = list(widths)
    while sum(widths) > room:
        words = [i for i, numbers in enumerate(of_numbers) if not numbers and widths[i] > 2]
        if not words:
            break
        widest = max(words, key=widths.__getitem__)
        widths[widest] = max(2.0, widths[widest] - 0.1)
    return widths


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
