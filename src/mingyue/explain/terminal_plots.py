"""Panels with two axes, in a terminal: a matrix as coloured cells, lines as dots, named points."""

from collections.abc import Iterator, Sequence

import numpy as np
from rich.cells import cell_len
from rich.text import Text

from mingyue.explain.numbers import column as alike
from mingyue.explain.numbers import number
from mingyue.explain.panels import Curves, Matrix, Scatter, page_of
from mingyue.explain.terminal_cells import (
    GROUPS,
    Ink,
    Paper,
    aside,
    compact,
    fit,
    visible,
    widest,
)
from mingyue.language import tr

WITH_NUMBERS = 12
"""Columns up to which a matrix has its numbers in its cells."""
PLOT_WIDTH, PLOT_HEIGHT = 72, 12
LETTERS = "*o+x#@%&"
"""What lines are drawn with where there is no colour."""
DOTS = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bits of a braille character's dots, 4 rows of 2."""


def matrix(panel: Matrix, paper: Paper) -> Iterator[Text]:
    """Cells two columns wide, as wide as a Chinese label; wider ones where numbers find room."""
    values, _ = page_of(panel)  # [rows, columns]
    rows, columns = panel.rows, panel.columns
    ink = Ink.of(panel.values, panel.scale, paper.coloured)
    left = widest(rows, 12) + 1
    room = max(paper.width - left - 2, 4)
    words = compact(values, panel.scale) if len(columns) <= WITH_NUMBERS else []
    label_width = widest(columns, 8)
    counted = list(columns) == [str(n) for n in _from(columns)]
    in_cell = max((len(w) for row in words for w in row), default=0) + (not paper.coloured)
    width = max(in_cell, label_width) + 1
    if not words or width * len(columns) > room:
        words = []
        width = 2 if label_width <= 2 or counted else label_width + 1
    upright = width * len(columns) > room and label_width > 2
    if upright:
        width = 2
    n = min(len(columns), room // width)
    m = min(len(rows), paper.most_rows)
    if n < len(columns) and list(rows) == list(columns):
        m = min(m, n)
    if panel.row_label or panel.column_label:
        axes = {tr("rows"): panel.row_label, tr("columns"): panel.column_label}
        said = " · ".join(f"{axis}: {visible(name)}" for axis, name in axes.items() if name)
        yield Text(f"  {said}", style="dim")
    if counted and width == 2:
        heads = ["".join(f"{c:<10}" for c in columns[:n:5])]
    else:
        heads = _upright(columns[:n]) if upright else [_across(columns[:n], width)]
    for line in heads:
        yield Text(" " * (left + 2) + line)
    for i in range(m):
        line = Text("  " + fit(rows[i], left - 1, "right") + " ")
        for j in range(n):
            line.append_text(ink.cell(values[i, j], width, words[i][j] if words else ""))
        yield line
    yield ink.legend(panel.unit)
    if n < len(columns) or m < len(rows):
        yield from aside(
            tr(
                "shown: {rows} of {all_rows} rows, {columns} of {all_columns} columns; a wider "
                "terminal shows more, a figure all (--figure)",
                rows=m,
                all_rows=len(rows),
                columns=n,
                all_columns=len(columns),
            ),
            paper.width,
        )


def _from(labels: Sequence[str]) -> range:
    """The numbers that ``labels`` would be if they counted up from the first one."""
    first = int(labels[0]) if labels and labels[0].isdecimal() else 0
    return range(first, first + len(labels))


def _across(labels: Sequence[str], width: int) -> str:
    align = "left" if width == 2 else "right"
    return "".join(fit(label, width, align) for label in labels)


def _upright(labels: Sequence[str]) -> Iterator[str]:
    """Long labels, read from top to bottom, each in two columns."""
    seen = [visible(label).strip() or label for label in labels]
    seen = [label if len(label) <= 8 else label[:7] + "…" for label in seen]
    for i in range(max(map(len, seen))):
        yield "".join(fit(label[i : i + 1], 2) for label in seen)


def curves(panel: Curves, paper: Paper) -> Iterator[Text]:
    """Lines of braille dots, four to a row; of letters where no colour tells them apart."""
    x, xs = _axis([panel.x, np.array(list(panel.marks.values()))], panel.log_x)
    y, ys = _axis(list(panel.lines.values()), panel.log_y)
    if x is None or y is None:
        yield from aside(tr("no finite number to draw"), paper.width)
        return
    ticks = {0: y[1], PLOT_HEIGHT // 2: (y[0] + y[1]) / 2, PLOT_HEIGHT - 1: y[0]}
    heights = [_tick(value, y, panel.log_y) for value in ticks.values()]
    said = dict(zip(ticks, map(number, heights) if panel.log_y else alike(heights), strict=True))
    left = max(map(len, said.values()))
    width = max(8, min(paper.width - left - 6, PLOT_WIDTH))
    letters = not paper.coloured and len(panel.lines) > 1
    fine = (1, 1) if letters else (2, 4)  # dots across and down in a character
    grid = [[(" ", "")] * width for _ in range(PLOT_HEIGHT)]
    for at in xs[1]:
        column = round((at - x[0]) / (x[1] - x[0]) * (width - 1))
        for row in grid:
            row[column] = ("┊", "dim")
    for k, line in enumerate(ys):
        style = GROUPS[k % len(GROUPS)]
        across = (xs[0] - x[0]) / (x[1] - x[0]) * (width * fine[0] - 1)
        down = (y[1] - line) / (y[1] - y[0]) * (PLOT_HEIGHT * fine[1] - 1)
        for (i, j), bits in _dots(across, down, fine).items():
            drawn = LETTERS[k % len(LETTERS)] if letters else _braille(grid[i][j][0], bits)
            grid[i][j] = (drawn, style)
    yield Text(f"  {_named(panel.y_label, panel.log_y)}", style="dim")
    for i, row in enumerate(grid):
        line = Text(f"  {said.get(i, ''):>{left}} ┤" if i in said else " " * (left + 3) + "│")
        for character, style in row:
            line.append(character, style=style)
        yield line
    yield Text(" " * (left + 3) + "└" + "─" * width)
    ends = [number(_tick(value, x, panel.log_x)) for value in x]
    middle = _named(panel.x_label, panel.log_x)
    space = max(width - len(ends[0]) - len(ends[1]), cell_len(middle) + 2)
    yield Text(" " * (left + 4) + ends[0] + fit(middle, space, "center") + ends[1])
    for k, name in enumerate(panel.lines):
        mark = LETTERS[k % len(LETTERS)] if letters else "━━"
        yield Text(f"  {mark} ", style=GROUPS[k % len(GROUPS)]).append(visible(name), "default")
    for name, at in panel.marks.items():
        yield Text(f"  ┊ {visible(name)}: {number(at)}", style="dim")


def _axis(
    parts: Sequence[np.ndarray], log: bool
) -> tuple[tuple[float, float] | None, list[np.ndarray]]:
    """Least and most of all that is finite (None: nothing is), and the numbers on that axis."""
    parts = [np.asarray(part, dtype=float) for part in parts]
    if log:
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [np.log10(part) for part in parts]
    parts = [np.where(np.isfinite(part), part, np.nan) for part in parts]
    every = np.concatenate(parts) if parts else np.array([])
    every = every[np.isfinite(every)]
    if not every.size:
        return None, parts
    least, most = float(every.min()), float(every.max())
    if least == most:
        least, most = least - 0.5, most + 0.5
    return (least, most), parts


def _named(label: str, log: bool) -> str:
    return tr("{label}, logarithmic", label=visible(label)) if log else visible(label)


def _tick(value: float, ends: tuple[float, float], log: bool) -> float:
    """The number at a place of the axis; what is zero but for rounding is zero."""
    if log:
        return 10**value
    return 0.0 if abs(value) < (ends[1] - ends[0]) * 1e-3 else value


def _dots(x: np.ndarray, y: np.ndarray, fine: tuple[int, int]) -> dict[tuple[int, int], int]:
    """Characters (row, column) that a line goes through, each with the bits of its dots."""
    found: dict[tuple[int, int], int] = {}
    there = np.isfinite(x) & np.isfinite(y)
    for t in np.flatnonzero(there):
        goes_on = t + 1 < len(x) and there[t + 1]
        last = t + 1 if goes_on else t
        n = int(max(abs(x[last] - x[t]), abs(y[last] - y[t]))) + 2 if goes_on else 1
        for px, py in zip(
            np.linspace(x[t], x[last], n), np.linspace(y[t], y[last], n), strict=True
        ):
            column, row = round(float(px)), round(float(py))
            place = row // fine[1], column // fine[0]
            bit = int(DOTS[row % fine[1], column % fine[0]])
            found[place] = found.get(place, 0) | bit
    return found


def _braille(before: str, bits: int) -> str:
    """Dots added to those that a character has already."""
    have = ord(before) - 0x2800
    return chr(0x2800 + (bits | have if 0 < have < 256 else bits))


def scatter(panel: Scatter, paper: Paper) -> Iterator[Text]:
    """Each point's name where it stands; one that finds its place taken moves aside a little."""
    groups = list(dict.fromkeys(panel.groups))
    marked = not paper.coloured and len(groups) > 1
    points = np.asarray(panel.points, dtype=float)
    x, xs = _axis([points[:, 0]], False)
    y, ys = _axis([points[:, 1]], False)
    if x is None or y is None:
        yield from aside(tr("no finite number to draw"), paper.width)
        return
    width = max(16, min(paper.width - 4, PLOT_WIDTH))
    height = max(10, width // 3)
    rows: list[dict[int, tuple[str, str]]] = [{} for _ in range(height)]
    hidden = 0
    for px, py, name, group in zip(xs[0], ys[0], panel.names, panel.groups, strict=True):
        if not np.isfinite(px + py):
            hidden += 1
            continue
        k = groups.index(group)
        word = fit(name, widest([name], 10)) or "•"
        word += chr(ord("₁") + k % 9) if marked else ""
        at = (px - x[0]) / (x[1] - x[0]) * width - cell_len(word) / 2
        row = (y[1] - py) / (y[1] - y[0]) * (height - 1)
        if not _placed(rows, round(row), round(at), width, word, GROUPS[k % len(GROUPS)]):
            hidden += 1
    yield Text(f"  {visible(panel.y_label)}", style="dim")
    for taken in rows:
        line = Text("  │")
        for column in sorted(taken):
            word, style = taken[column]
            line.append(" " * (column - (line.cell_len - 3))).append(word, style)
        yield line
    yield Text("  └" + "─" * width)
    if panel.x_label:
        yield Text("   " + fit(panel.x_label, width, "center").rstrip(), style="dim")
    if len(groups) > 1:
        line = Text(" ")
        for k, group in enumerate(groups):
            mark = chr(ord("₁") + k % 9) if marked else "■"
            line.append(f" {mark} ", GROUPS[k % len(GROUPS)]).append(visible(group))
        yield line
    if hidden:
        yield from aside(tr("points without room for their names: {n}", n=hidden), paper.width)


def _placed(
    rows: list[dict[int, tuple[str, str]]], row: int, at: int, width: int, word: str, style: str
) -> bool:
    """Write ``word`` where it belongs or as near as may be; False if there is no room."""
    wide = cell_len(word)
    for down, right in ((0, 0), (0, 2), (0, -2), (1, 0), (-1, 0), (1, 2), (-1, 2), (1, -2)):
        i, j = row + down, min(max(at + right, 0), width - wide)
        if 0 <= i < len(rows) and all(
            j + wide <= other or other + cell_len(taken) <= j
            for other, (taken, _) in rows[i].items()
        ):
            rows[i][j] = (word, style)
            return True
    return False
