"""Numbers as coloured tiles: a matrix, all pages of a matrix as stamps, a strip of text."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from mingyue.explain.colours import limits, ramp
from mingyue.explain.figure.sheet import Part, Sheet, inches
from mingyue.explain.panels import Matrix, Scale, Strip, page_of
from mingyue.language import tr, translated

Ends = tuple[float, float]  # of a ramp


def matrix(panel: Matrix, sheet: Sheet) -> Part:
    values, _ = page_of(panel)
    rows, columns = values.shape
    left = 0.12 + max((inches(label, 8.5) for label in panel.rows), default=0)
    left += 0.25 if panel.row_label else 0
    longest = max((inches(label, 8.5) for label in panel.columns), default=0)
    wide = min(0.5, (sheet.inner - left) / columns)
    tall = min(7.4 / rows, max(wide, min(0.16, 2.5 / rows)))  # flat ones tall enough to read
    upright = longest > wide and max(map(len, panel.columns)) > 1
    head = (longest if upright else 0.14) + 0.1 + (0.22 if panel.column_label else 0)
    height = rows * tall

    def draw(y: float) -> None:
        axes = sheet.axes(left, y + head, columns * wide, height)
        ends = limits(panel.values, panel.scale)
        _cells(axes, values, panel.scale, ends, sheet, min(wide, tall))
        axes.xaxis.tick_top()
        apart = 0.14 if upright or max(map(len, panel.columns)) == 1 else longest + 0.06
        shown = _ticks(panel.columns, wide, apart)
        axes.set_xticks([i + 0.5 for i in shown], [panel.columns[i] for i in shown])
        _turn(axes, upright)
        shown = _ticks(panel.rows, tall)
        axes.set_yticks([i + 0.5 for i in shown], [panel.rows[i] for i in shown])
        if panel.column_label:
            sheet.text(panel.column_label, left, y, 8.5, sheet.theme.faint, style="italic")
        if panel.row_label:
            middle = y + head + height / 2
            sheet.text(
                *(panel.row_label, 0, middle, 8.5, sheet.theme.faint),
                rotation=90,
                va="center",
                style="italic",
            )
        if wide >= 0.42 and tall >= 0.3:
            _numbers(axes, values, panel.scale, ends, sheet)

    return Part(head + height + 0.1, draw)


def stamps(panel: Matrix, sheet: Sheet) -> Part:
    """All pages side by side: the last dimension across, the others down; what rows and columns
    are is written at the left ones and below the lowest, where there is room."""
    sizes = [len(labels) for labels in panel.pages.values()]
    across = sizes[-1] if len(sizes) > 1 else min(sizes[-1], 8)
    rows, columns = panel.values.shape[-2:]
    pages = panel.values.reshape(-1, rows, columns)
    named = [(translated(name), labels) for name, labels in panel.pages.items()]
    *outer, (inner_name, inner_labels) = named
    name_room = max((inches(f"{n} {label}", 8) + 0.2 for n, ls in outer for label in ls), default=0)
    gap, longest = 0.1, max(inches(label, 1) for label in panel.rows)  # at a size of 1

    def fitted(beside: float) -> tuple[float, float]:
        """Width and height of a stamp, with so much room for names at the left."""
        wide = min(1.9, (sheet.inner - name_room - beside + gap) / across - gap)
        tall = min(max(wide * rows / columns, 0.25), 2.4)
        return min(wide, tall * columns / rows) if rows > columns else wide, tall

    size = _letters(panel.rows, fitted(min(8 * longest, 1.0))[1] / rows)
    beside = longest * size + 0.08 if size else 0.0
    wide, tall = fitted(beside)
    below = _letters(panel.columns, wide / columns)
    upright = max(inches(label, below) for label in panel.columns) > wide / columns
    under = max(inches(label, below) for label in panel.columns) if upright else below / 72
    left, foot = name_room + beside, under + 0.08 if below else 0.0
    axes_named = _axes_in_words(panel)
    first = 0.24 if axes_named else 0.0
    caption = 0.2 if len(sizes) == 1 else 0
    down, head = math.ceil(len(pages) / across), 0.22 if len(sizes) > 1 else 0
    all_fit = all(inches(f"{inner_name} {label}", 8) < wide + gap for label in inner_labels)

    def name(i: int) -> str:
        """Of the i-th line of stamps: its place in the outer dimensions."""
        place = np.unravel_index(i, sizes[:-1])
        return "\n".join(f"{n} {ls[int(p)]}" for (n, ls), p in zip(outer, place, strict=True))

    def draw(y: float) -> None:
        ends, grey = limits(panel.values, panel.scale), sheet.theme.faint
        if axes_named:
            sheet.text(axes_named, 0, y, 8.5, grey, style="italic")
            y += first
        for i, values in enumerate(pages):
            x = left + (i % across) * (wide + gap)
            top = y + head + (i // across) * (tall + gap + caption)
            if len(sizes) == 1 or i < across:
                words = f"{inner_name} {inner_labels[i]}" if all_fit else inner_labels[i]
                above = y if len(sizes) > 1 else top
                sheet.text(words, x + wide / 2, above, 8, grey, ha="center")
            if outer and i % across == 0:
                sheet.text(name(i // across), 0, top + tall / 2, 8, grey, va="center")
            axes = sheet.axes(x, top + caption, wide, tall)
            _cells(axes, values, panel.scale, ends, sheet, min(wide / columns, tall / rows))
            axes.tick_params(pad=2)
            axes.set_xticks([])
            axes.set_yticks([])
            if size and i % across == 0:
                axes.set_yticks(np.arange(rows) + 0.5, panel.rows, fontsize=size)
            if below and i + across >= len(pages):
                axes.set_xticks(np.arange(columns) + 0.5, panel.columns, fontsize=below)
                _turn(axes, upright)
            axes.spines[:].set(visible=True, color=sheet.theme.line, linewidth=0.6)

    return Part(first + head + down * (tall + gap + caption) + foot, draw)


def _turn(axes: Any, upright: bool) -> None:
    """Names of columns from below to above; a lone sign stays as it is."""
    for label in axes.get_xticklabels():
        label.set_rotation(90 if upright and len(label.get_text()) > 1 else 0)


def _letters(labels: Sequence[str], cell: float) -> float:
    """The size of letters with which each label fits beside a cell of so many inches; 0: none."""
    size = min(8.0, cell * 72 * 0.95)
    return size if size >= 4.5 and max(map(len, labels), default=0) <= 12 else 0.0


def _axes_in_words(panel: Matrix) -> str:
    axes = {tr("rows"): panel.row_label, tr("columns"): panel.column_label}
    return " · ".join(f"{axis}: {name}" for axis, name in axes.items() if name)


def strip(panel: Strip, sheet: Sheet) -> Part:
    values, _ = page_of(panel)
    below = list(panel.below) or [""] * len(panel.tokens)
    wide = max([0.38, *(inches(t, 14) + 0.12 for t in panel.tokens)])
    wide = min(max([wide, *(inches(b, 7.5) + 0.08 for b in below)]), 2.0)
    across = max(1, int(sheet.inner / wide))
    tall = 0.42 + (0.24 if panel.below else 0.06)
    ends, colours = limits(panel.values, panel.scale), ramp(panel.scale, sheet.dark)

    def draw(y: float) -> None:
        for i, (token, words) in enumerate(zip(panel.tokens, below, strict=True)):
            x, top = (i % across) * wide, y + (i // across) * tall
            value = float(values[i])
            colour = colours[_index(value, ends)] if math.isfinite(value) else None
            ink = sheet.theme.ink if colour is None else _ink_on(colour)
            fill = sheet.theme.paper if colour is None else colour
            sheet.box(x + 0.015, top, wide - 0.03, 0.38, fill)
            middle = x + wide / 2
            sheet.text(token, middle, top + 0.19, 14, ink, ha="center", va="center_baseline")
            sheet.text(words, middle, top + 0.42, 7.5, sheet.theme.faint, ha="center")

    return Part(math.ceil(len(panel.tokens) / across) * tall, draw)


def _cells(
    axes: Any,
    values: np.ndarray,
    scale: Scale,
    ends: Ends,
    sheet: Sheet,
    size: float,
) -> None:
    """Numbers as tiles of ``size`` inches; small ones as one picture."""
    colours = ListedColormap(ramp(scale, sheet.dark).tolist())
    shown = np.ma.masked_invalid(values)
    rows, columns = values.shape
    if size >= 0.12:
        edges = {"edgecolors": sheet.theme.paper, "linewidth": 0.8}
        axes.pcolormesh(shown, cmap=colours, vmin=ends[0], vmax=ends[1], **edges)
        axes.invert_yaxis()
    else:
        extent = (0, columns, rows, 0)
        look = {"cmap": colours, "vmin": ends[0], "vmax": ends[1], "interpolation": "none"}
        axes.imshow(shown, extent=extent, aspect="auto", **look)


def _ticks(labels: Sequence[str], cell: float, apart: float = 0.14) -> list[int]:
    """Which labels have room, each cell being so many inches long and each label ``apart``."""
    every = max(1, math.ceil(apart / cell))
    return list(range(0, len(labels), every))


def _numbers(axes: Any, values: np.ndarray, scale: Scale, ends: Ends, sheet: Sheet) -> None:
    """The number in each tile, dark on a light one and light on a dark one."""
    colours = ramp(scale, sheet.dark)
    for (row, column), value in np.ndenumerate(values):
        if np.isfinite(value):
            words = f"{value:.2f}" if abs(value) < 100 and value else f"{value:.0f}"
            ink = _ink_on(colours[_index(float(value), ends)])
            place = {"ha": "center", "va": "center", "fontsize": 7.5}
            axes.text(column + 0.5, row + 0.5, words, color=ink, **place)


def _index(value: float, ends: Ends) -> int:
    """Where on a ramp of 256 colours."""
    return int(np.clip((value - ends[0]) / (ends[1] - ends[0]) * 255, 0, 255))


def _ink_on(colour: np.ndarray) -> str:
    return "#1b1d22" if colour @ [0.299, 0.587, 0.114] > 0.55 else "#fbfaf6"
