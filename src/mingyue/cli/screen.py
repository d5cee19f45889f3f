"""Where the words go: a terminal wide or narrow, with colours or without, or no terminal at all.

Into a file or a pipe go plain lines: no colours, no cursor movements, no boxes that were cut to a
width nobody has. ``NO_COLOR`` and ``TERM=dumb`` are respected (by rich).
"""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mingyue.language import tr

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from mingyue.training.observe import Choice

# What a terminal would obey instead of showing: replaced by pictures of itself (␛ for escape).
_PICTURES = {c: 0x2400 + c for c in range(32) if chr(c) not in "\n\t"} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys((*range(128, 160), *range(8234, 8239), *range(8294, 8298)), 65533)


def console(*, errors: bool = False, wrap: bool = False) -> "Console":
    """A rich console on the output (or error) stream that never guesses at markup.

    Without a terminal lines are left as long as they are, unless ``wrap``. A reader that has gone
    is a ``BrokenPipeError`` as anywhere else, where rich would end the program with code 1.
    """
    from rich.console import Console

    class Piped(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Piped(
        stderr=errors,
        markup=False,
        highlight=False,
        emoji=False,
        soft_wrap=not wrap and not is_terminal(errors=errors),
        legacy_windows=None,
    )


def is_terminal(*, errors: bool = False) -> bool:
    """Whether somebody looks at the stream now and its lines may still be changed."""
    stream = sys.stderr if errors else sys.stdout
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def is_live(console: "Console", *, errors: bool = False) -> bool:
    """Whether lines may be drawn again: a terminal that can move its cursor."""
    return is_terminal(errors=errors) and console.is_terminal and not console.is_dumb_terminal


def visible(text: str) -> str:
    """``text`` without characters that a terminal would obey."""
    return text.translate(_PICTURES)


def pairs(rows: Iterable[tuple[str, object]], title: str = "") -> "RenderableType":
    """A name and a value on each line, the values under each other; long values wrap there."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(name), Text(visible(str(value))))
    if not title:
        return Padding(table, (0, 0, 0, 2))
    whole = Table.grid()
    whole.add_row(Text(title, style="bold"))
    whole.add_row(Padding(table, (0, 0, 0, 2)))
    return whole


def print_pairs(console: "Console", rows: Sequence[tuple[str, object]], title: str = "") -> None:
    """``pairs`` on a terminal; ``name: value`` on lines of their own where there is none."""
    if is_terminal(errors=console.stderr):
        console.print(pairs(rows, title))
        return
    if title:
        console.print(title)
    for name, value in rows:
        console.print(f"  {name}: {visible(str(value))}")


def print_choices(console: "Console", choices: Sequence["Choice"]) -> None:
    """What was chosen and why, in three columns; lines of their own where there is no terminal."""
    if not is_terminal(errors=console.stderr):
        for choice in choices:
            console.print(f"  {choice.name}: {visible(choice.value)} ({visible(choice.why)})")
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim")
    for title in ("", tr("choice"), tr("why")):
        table.add_column(title, overflow="fold")
    for choice in choices:
        table.add_row(f"  {choice.name}", visible(choice.value), visible(choice.why), style="")
    console.print(table)


def number(value: float, digits: int = 0) -> str:
    """With commas between thousands: 12,345.6."""
    return f"{value:,.{digits}f}"


def short(value: float) -> str:
    """A large number in three digits: 4.12 M."""
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Minutes and seconds (4:05), with hours when there are some (1:04:05)."""
    whole = max(0, round(seconds))
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
