"""A table whose columns are things compared: figures below each other, as many columns side by
side as the terminal has room for, the rest in a further table below."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_GAP = "  "

Row = tuple[str, Sequence[str]]
"""A name, and a value for each column."""


def print_columns(out: "Console", titles: Sequence[str], rows: Sequence[Row]) -> None:
    """Names left, values right-aligned under their titles. Into a file all in one table.

    A row that has only empty values in a table is left out there.
    """
    from rich.cells import cell_len

    from mingyue.cli.screen import is_terminal, visible

    shown = [visible(title) for title in titles]
    widths = [
        max(cell_len(text) for text in (shown[i], *(values[i] for _, values in rows)))
        for i in range(len(shown))
    ]
    names = max(cell_len(name) for name, _ in rows)
    room = out.width - names if is_terminal() else None
    for number, part in enumerate(_parts(widths, room)):
        if number:
            out.print()
        head = [" " * names, *(_right(shown[i], widths[i]) for i in part)]
        out.print(_GAP.join(head), style="dim", soft_wrap=True)
        for name, values in rows:
            if not any(values[i] for i in part):
                continue
            cells = [_left(name, names), *(_right(values[i], widths[i]) for i in part)]
            out.print(_GAP.join(cells).rstrip(), soft_wrap=True)


def _parts(widths: Sequence[int], room: int | None) -> list[list[int]]:
    """The columns of each table: at least one."""
    parts: list[list[int]] = [[]]
    used = 0
    for i, width in enumerate(widths):
        used += width + len(_GAP)
        if parts[-1] and room is not None and used > room:
            parts.append([])
            used = width + len(_GAP)
        parts[-1].append(i)
    return parts


def _left(text: str, width: int) -> str:
    from rich.cells import cell_len

    return text + " " * (width - cell_len(text))


def _right(text: str, width: int) -> str:
    from rich.cells import cell_len

    return " " * (width - cell_len(text)) + text
