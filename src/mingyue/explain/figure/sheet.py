"""A sheet of paper measured in inches from its top left corner, and parts that know their height.

matplotlib measures from below and in shares of a figure whose height must be known first; a page
grows downwards. The sheet stands between the two. How wide words are is estimated (a Chinese
character is as wide as the font's size, a Latin letter about half of that): near enough to break
lines, and it needs no drawing.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mingyue.explain.colours import Theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


_CLOSING = "，。、；：！？）」』》”’…"
_PIECES = re.compile(rf"[\u2e80-\U0003ffff][{_CLOSING}]*|[^\s\u2e80-\U0003ffff]+[{_CLOSING}]*|\s+")


@dataclass(frozen=True)
class Part:
    """Something on the page: how tall it is, and how to draw it from a given y downwards."""

    height: float
    draw: Callable[[float], None]


class Sheet:
    """Where parts draw; ``figure`` is there once its height is known."""

    width, margin = 9.0, 0.6
    inner = width - 2 * margin
    figure: "Figure"

    def __init__(self, theme: Theme, dark: bool, headings: list[str]) -> None:
        self.theme, self.dark, self.headings = theme, dark, headings

    def text(self, words: str, x: float, y: float, size: float, colour: str, **more: Any) -> None:
        """Words whose top is at y, unless ``va`` says otherwise; x counts from the margin.

        Where they stand does not depend on which letters they are: Chinese ones are taller.
        """
        if "va" not in more:
            y, more = y + 0.76 * size / 72, {"va": "baseline", **more}
        _, height = self.figure.get_size_inches()
        place = (self.margin + x) / self.width, 1 - y / height
        self.figure.text(*place, words, size=size, color=colour, **more)

    def axes(self, x: float, y: float, width: float, height: float) -> "Axes":
        """A place to plot in, its top at y, without a frame, in the theme's colours."""
        _, whole = self.figure.get_size_inches()
        left, bottom = (self.margin + x) / self.width, 1 - (y + height) / whole
        axes = self.figure.add_axes((left, bottom, width / self.width, height / whole))
        axes.set_facecolor("none")
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0, pad=4, colors=self.theme.faint, labelsize=8.5)
        return axes

    def box(self, x: float, y: float, width: float, height: float, colour: Any) -> None:
        """A filled box with soft corners."""
        from matplotlib.patches import FancyBboxPatch

        corner = self.margin + x, self.figure.get_size_inches()[1] - y - height
        style = f"round,pad=0,rounding_size={min(0.05, height / 4)}"
        look = {"facecolor": colour, "linewidth": 0, "transform": self.figure.dpi_scale_trans}
        self.figure.add_artist(FancyBboxPatch(corner, width, height, boxstyle=style, **look))

    def paragraph(
        self,
        words: str,
        *,
        size: float,
        colour: str = "",
        before: float = 0.0,
        after: float = 0.0,
        leading: float = 1.5,
        **more: Any,
    ) -> Part:
        """Words broken into lines."""
        lines, step = wrap(words, size, self.inner), size * leading / 72

        def draw(y: float) -> None:
            for i, line in enumerate(lines):
                top = y + before + i * step
                self.text(line, 0, top, size, colour or self.theme.ink, **more)

        return Part(before + len(lines) * step + after, draw)


def is_wide(character: str) -> bool:
    """Whether it fills a square, as Chinese does."""
    return unicodedata.east_asian_width(character) in "WF"


def inches(words: str, size: float) -> float:
    """About how wide the words are."""
    return sum(1.0 if is_wide(c) else 0.56 if c.isdigit() else 0.52 for c in words) * size / 72


def wrap(words: str, size: float, width: float) -> list[str]:
    """Lines not wider than ``width`` inches: between words, and anywhere in Chinese but before
    a closing mark."""
    lines, line = [], ""
    for piece in _PIECES.findall(words):
        if line and inches(line + piece.rstrip(), size) > width:
            lines.append(line.rstrip())
            line = ""
        line += piece if line or not piece.isspace() else ""
    return [*lines, line.rstrip()] if line.strip() or not lines else lines
