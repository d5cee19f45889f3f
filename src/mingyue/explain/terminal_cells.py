"""What every drawing in a terminal is made of: columns counted, lines broken, numbers, colours.

A Chinese character is two columns wide and a Latin one is one, so lengths are counted in columns
(``cell_len``) throughout. Without colour a number is shown by how dark its cell is: ░▒▓█.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from rich.cells import cell_len, chop_cells
from rich.color import Color
from rich.style import Style
from rich.text import Text

from mingyue.explain.colours import limits, ramp
from mingyue.explain.numbers import number, short_power
from mingyue.explain.panels import Scale

SHADES = " ░▒▓█"
EMPTY = "·"
"""Of a cell that holds no number."""

GROUPS = ("bright_cyan", "yellow", "magenta", "green", "red", "blue", "bright_white", "cyan")
"""Colours of lines, groups and bars, told apart by order."""


@dataclass(frozen=True)
class Ink:
    """How a range of numbers becomes cells."""

    scale: Scale
    least: float
    most: float
    coloured: bool

    @classmethod
    def of(cls, values: np.ndarray, scale: Scale, coloured: bool) -> "Ink":
        """For all pages of ``values``, so that they compare; nan and -inf do not count."""
        return cls(scale, *limits(values, scale), coloured)

    def part(self, value: float) -> float:
        """Where ``value`` lies between least and most, 0 to 1."""
        return min(1.0, max(0.0, (value - self.least) / (self.most - self.least)))

    def shade(self, value: float) -> str:
        """One column that says how much; with both signs, how far from zero."""
        part = self.part(value)
        if self.scale == "signed":
            part = abs(2 * part - 1)
        return SHADES[0 if part < 0.05 else 1 + min(int(part * 4), 3)]

    def style(self, value: float) -> Style:
        """Its colour behind, and black or white before it, whichever is read better."""
        return _style(self.scale, round(self.part(value) * 255))

    def cell(self, value: float, width: int, words: str = "") -> Text:
        """``width`` columns for a number, with ``words`` in them; without colour a shade too."""
        if not np.isfinite(value):
            return Text(fit(EMPTY, width, "center"), style="dim")
        if self.coloured:
            return Text(fit(words, width, "right"), style=self.style(value))
        if words:
            return Text(fit(words, width - 1, "right") + self.shade(value))
        shade = self.shade(value)
        sign = "-" if self.scale == "signed" and value < 0 and shade != " " else ""
        return Text(sign + shade * (width - len(sign)))

    def legend(self, unit: str) -> Text:
        """The colours from least to most, and what they stand for."""
        line = Text(f"  {number(self.least)} ", style="dim")
        for part in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
            line.append_text(self.cell(self.least + part * (self.most - self.least), 2))
        return line.append(f" {number(self.most)} {visible(unit)}".rstrip(), style="dim")


@dataclass(frozen=True)
class Paper:
    """What is drawn on."""

    width: int
    coloured: bool
    most_rows: int = 64


@cache
def _style(scale: Scale, place: int) -> Style:
    x, y, z = (round(255 * part) for part in ramp(scale, dark=True)[place].tolist())
    light = 0.3 * x + 0.59 * y + 0.11 * z > 110
    return Style(color="#000000" if light else "#ffffff", bgcolor=Color.from_rgb(x, y, z))


def visible(text: str) -> str:
    """``text`` with nothing in it that a terminal would obey, on one line."""
    return "".join(_picture(c) for c in text)


def _picture(character: str) -> str:
    if ord(character) < 32:
        return chr(0x2400 + ord(character))
    return character if character.isprintable() else "�"


def fit(text: str, width: int, align: str = "left") -> str:
    """Exactly ``width`` columns: padded, or cut with … at its end."""
    text = visible(text)
    if cell_len(text) > width:
        text = _cut(text, width - 1) + "…"
    space = width - cell_len(text)
    before = {"left": 0, "right": space, "center": space // 2}[align]
    return " " * before + text + " " * (space - before)


def _cut(text: str, width: int) -> str:
    """As many characters as fit."""
    taken = 0
    for place, character in enumerate(text):
        taken += cell_len(character)
        if taken > width:
            return text[:place]
    return text


def widest(texts: Iterable[str], most: int) -> int:
    """Columns of the widest, at most ``most``."""
    return min(max((cell_len(visible(text)) for text in texts), default=0), most)


# A word; or one wide character, with the signs that must not begin the next line.
_PIECE = re.compile(
    r" +|[^ \u2e80-\uffef]+[，。；：、！？）》”’]*|[\u2e80-\uffef][，。；：、！？）》”’]*"
)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most ``width`` columns, broken at blanks or between Chinese characters."""
    lines = [""]
    for piece in _PIECE.findall(visible(text)):
        if cell_len(lines[-1] + piece) > width and lines[-1]:
            lines.append("")
        if piece.isspace() and not lines[-1]:
            continue
        *whole, rest = chop_cells(lines[-1] + piece, width) or [""]
        lines[-1:] = [*whole, rest]
    return [line.rstrip() for line in lines]


def sentences(text: str, width: int, mark: str = "", style: str = "") -> Iterator[Text]:
    """Wrapped, with ``mark`` before the first line and the others below it."""
    for i, line in enumerate(wrap(text, width - cell_len(mark))):
        yield Text((mark if i == 0 else " " * cell_len(mark)) + line, style=style)


def aside(words: str, width: int) -> Iterator[Text]:
    """What was left out of a drawing, below it."""
    yield from sentences(f"({words})", width, "  ", "dim italic")


def compact(values: np.ndarray, scale: Scale) -> list[list[str]]:
    """A matrix for its cells, all with as many decimals, but a plain 0; nan and -inf as ""."""
    finite = np.abs(values[np.isfinite(values)])
    most = float(finite.max()) if finite.size else 0.0
    decimals = 2 if scale == "share" or 0.1 <= most < 10 else 3 if most < 0.1 else 1
    if most >= 100 or (finite.size and (finite == finite.round()).all()):
        decimals = 0
    sign = "+" if scale == "signed" else ""
    tiny = 0 < most < 0.01
    form = f"{sign}.0e" if tiny else f"{sign}.{decimals}f"

    def word(v: float) -> str:
        if v == 0 or not np.isfinite(v):
            return "0" if v == 0 else ""
        return short_power(format(v, form)) if tiny else format(v, form)

    return [[word(v) for v in row] for row in values.tolist()]
