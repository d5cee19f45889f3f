"""An exhibit in a terminal: what to see, what was measured, and each panel drawn with characters.

    render(exhibit, console)

Works in a pipe and without colour too (``NO_COLOR``): what colours say is then said by shades.
Long things are cut to the window, and a line says what was left out.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from mingyue.explain.exhibit import Exhibit, Verdict
from mingyue.explain.numbers import column
from mingyue.explain.pages import listed, option
from mingyue.explain.panels import (
    Bars,
    Curves,
    Matrix,
    Paged,
    Panel,
    Scatter,
    Steps,
    Strip,
    Table,
    page_of,
)
from mingyue.explain.terminal_cells import (
    GROUPS,
    Ink,
    Paper,
    aside,
    fit,
    sentences,
    visible,
    widest,
    wrap,
)
from mingyue.explain.terminal_plots import curves, matrix, scatter
from mingyue.language import tr

NARROWEST, LINE = 24, 100
"""Columns: nothing is cut to less, and sentences are not longer."""
MOST_TOKENS, MOST_BARS = 256, 40
EIGHTHS = " ▏▎▍▌▋▊▉"


def render(exhibit: Exhibit, console: Console) -> None:
    """Print all of it."""
    coloured = console.color_system is not None and not console.no_color
    for line in lines(exhibit, Paper(max(console.width, NARROWEST), coloured)):
        console.print(line, no_wrap=True, overflow="ignore", crop=False, soft_wrap=True)


def lines(exhibit: Exhibit, paper: Paper) -> Iterator[Text]:
    """The exhibit, line by line; nothing is printed."""
    width = min(paper.width, LINE)
    yield Text(visible(exhibit.title), style="bold")
    yield from sentences(exhibit.see, width)
    yield Text()
    for verdict in exhibit.verdicts:
        yield from _verdict(verdict, width)
    for note in exhibit.notes:
        yield from sentences(note, width, "· ", "dim")
    for panel in exhibit.panels:
        yield Text()
        yield Text(visible(panel.title), style="bold")
        if isinstance(panel, Paged) and panel.pages:
            yield from _page(panel, width)
        draw: Callable[[Any, Paper], Iterator[Text]] = _DRAWN[type(panel)]
        for line in draw(panel, paper):
            line.rstrip() if not paper.coloured else None
            yield line


def _verdict(verdict: Verdict, width: int) -> Iterator[Text]:
    mark, style = {True: ("✓", "green"), False: ("✗", "red"), None: ("?", "yellow")}[verdict.holds]
    whole = f"{verdict.claim} — {verdict.measured}" if verdict.measured else verdict.claim
    for i, line in enumerate(wrap(whole, width - 2)):
        yield Text(f"{mark if i == 0 else ' '} ", style=f"bold {style}").append(line, "default")


def _page(panel: Paged, width: int) -> Iterator[Text]:
    """Which page is open, and the options that open others."""
    _, names = page_of(panel)
    turn = " ".join(
        f"{option(name)} {listed(labels)}"
        for name, labels in panel.pages.items()
        if len(labels) > 1
    )
    line = Text("  " + visible(" · ".join(names)), style="cyan")
    hint = f"({tr('turn with {options}', options=turn)})" if turn else ""
    if line.cell_len + 2 + cell_len(hint) <= width:
        yield line.append(f"  {hint}".rstrip(), "dim")
    else:
        yield line
        yield from sentences(hint, width, "  ", "dim")


def _strip(panel: Strip, paper: Paper) -> Iterator[Text]:
    """Tokens as they stand, their colours behind them, words below; as many lines as it takes."""
    values, _ = page_of(panel)  # [n]
    ink = Ink.of(panel.values, panel.scale, paper.coloured)
    n = min(len(panel.tokens), MOST_TOKENS)
    below = list(panel.below[:n]) or [""] * n
    gap = 1 if panel.below else 0
    widths = [
        max(widest([token], 24), widest([word], 24), 1) + gap
        for token, word in zip(panel.tokens[:n], below, strict=True)
    ]
    begin = 0
    while begin < n:
        end, taken = begin, 2
        while end < n and (end == begin or taken + widths[end] <= paper.width):
            taken, end = taken + widths[end], end + 1
        tokens, shades, words = Text("  "), Text("  "), Text("  ", style="dim")
        for t in range(begin, end):
            wide, value = widths[t] - gap, float(values[t])
            styled = ink.style(value) if paper.coloured and np.isfinite(value) else ""
            tokens.append(fit(panel.tokens[t], wide), styled).append(" " * gap)
            shades.append_text(ink.cell(value, wide)).append(" " * gap)
            words.append(fit(below[t], wide + gap))
        yield tokens
        if not paper.coloured:
            yield shades
        if panel.below:
            yield words
        begin = end
    yield ink.legend(panel.unit)
    if n < len(panel.tokens):
        yield from _left_out(n, len(panel.tokens), paper)


def _bars(panel: Bars, paper: Paper) -> Iterator[Text]:
    """A bar for each name; where there are numbers below zero, to both sides of a middle."""
    values, _ = page_of(panel)  # [n]
    series = {"": values} | {name: _same_page(panel, v) for name, v in panel.beside.items()}
    every = np.concatenate([np.asarray(v, dtype=float) for v in series.values()])
    finite = every[np.isfinite(every)]
    most = float(np.abs(finite).max()) if finite.size else 0.0
    n = min(len(panel.names), MOST_BARS)
    said = iter(column(every.tolist()))
    words = {name: [next(said) for _ in numbers] for name, numbers in series.items()}
    left = widest(panel.names[:n], 24)
    right = max((len(word) for said in words.values() for word in said), default=1)
    legend = widest(series, 20)
    width = max(6, min(paper.width - left - right - legend - 8, 48))
    both = bool((finite < 0).any())
    for i in range(n):
        for k, (name, numbers) in enumerate(series.items()):
            line = Text(f"  {fit(panel.names[i] if k == 0 else '', left)} ")
            line.append(_bar(float(numbers[i]), most, width, both), GROUPS[k % len(GROUPS)])
            line.append(f" {words[name][i]:>{right}}")
            yield line.append(f" {visible(name or panel.unit)}".rstrip(), "dim")
    if n < len(panel.names):
        yield from _left_out(n, len(panel.names), paper)


def _same_page(panel: Bars, values: np.ndarray) -> np.ndarray:
    """Of the further bars, the page that is open; they may have none."""
    if values.ndim < 1 + len(panel.pages):
        return values
    page = [*panel.page] + [0] * (len(panel.pages) - len(panel.page))
    return values[tuple(page)]


def _bar(value: float, most: float, width: int, both: bool) -> str:
    if not np.isfinite(value) or most == 0:
        return " " * width
    if both:
        half = width // 2
        n = round(abs(value) / most * half)
        left, right = ("█" * n, "") if value < 0 else ("", "█" * n)
        return f"{left:>{half}}│{right:<{half}}"
    whole, rest = divmod(round(value / most * width * 8), 8)
    return ("█" * whole + (EIGHTHS[rest] if rest else "")).ljust(width)


def _table(panel: Table, paper: Paper) -> Iterator[Text]:
    """Numbers to the right, words to the left and broken where the window is narrow."""
    rows = _cells(panel.rows[: paper.most_rows])
    numeric = [
        bool(panel.rows) and all(isinstance(row[k], float | int | np.number) for row in panel.rows)
        for k in range(len(panel.columns))
    ]
    widths = [
        max(1, widest([heading, *(row[k] for row in rows)], paper.width))
        for k, heading in enumerate(panel.columns)
    ]
    while sum(widths) + 2 * len(widths) > paper.width and max(widths) > 4:
        widths[widths.index(max(widths))] -= 1
    for style, row in [("dim", list(panel.columns)), *(("", row) for row in rows)]:
        broken = [wrap(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*broken, fillvalue=""):
            cells = [
                fit(part, width, "right" if right else "left")
                for part, width, right in zip(parts, widths, numeric, strict=True)
            ]
            yield Text("  " + "  ".join(cells).rstrip(), style=style)
    if len(rows) < len(panel.rows):
        yield from _left_out(len(rows), len(panel.rows), paper)


def _cells(rows: Sequence[Sequence[str | float | int]]) -> list[list[str]]:
    """All as words, the numbers of each column written alike."""
    columns = []
    for cells in zip(*rows, strict=True):
        said = iter(column([cell for cell in cells if not isinstance(cell, str)]))
        columns.append([cell if isinstance(cell, str) else next(said) for cell in cells])
    return [list(row) for row in zip(*columns, strict=True)]


def _steps(panel: Steps, paper: Paper) -> Iterator[Text]:
    """Number, name and shape on a line, the code below, then what there is to say."""
    width = min(paper.width, LINE)
    left = widest((step.name for step in panel.steps), 32)
    for i, step in enumerate(panel.steps, start=1):
        shape = f"[{', '.join(map(str, step.shape))}]"
        line = Text(f"  {i:>2}  {fit(step.name, left)}  ")
        line.append(f"{visible(step.letters)} ".lstrip(), "dim")
        yield line.append(shape, "bold")
        for code in step.code.splitlines():
            yield Text(f"      {visible(code)}", style="cyan")
        if step.note:
            yield from sentences(step.note, width, "      ", "dim")


def _left_out(n: int, all: int, paper: Paper) -> Iterator[Text]:
    words = tr("shown: the first {n} of {all}; a figure shows all (--figure)", n=n, all=all)
    return aside(words, paper.width)


_DRAWN: dict[type[Panel], Callable[..., Iterator[Text]]] = {
    Matrix: matrix,
    Curves: curves,
    Bars: _bars,
    Scatter: scatter,
    Strip: _strip,
    Table: _table,
    Steps: _steps,
}
