"""The fonts of a figure, found among those that are installed: Latin, Chinese, and all signs.

A sign is taken from the first font that has it. Latin stands before Chinese, where ``·`` and ``√``
are as wide as a character, which tears ``q·k/√d`` apart.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.figure.sheet import is_wide
from mingyue.language import tr

LATIN_SANS = (
    *("Noto Sans", "Source Sans 3", "Source Sans Pro", "Open Sans", "Helvetica Neue", "Segoe UI"),
    *("Arial", "Liberation Sans", "DejaVu Sans"),
)
LATIN_SERIF = (
    *("Noto Serif", "Source Serif 4", "Source Serif Pro", "Georgia", "Times New Roman"),
    *("Liberation Serif", "DejaVu Serif"),
)
SANS = (
    *("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "Source Han Sans CN"),
    *("PingFang SC", "Hiragino Sans GB", "Microsoft YaHei", "Heiti SC", "Heiti TC", "STHeiti"),
    *("Noto Sans CJK", "Source Han Sans", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei"),
    *("SimHei", "Droid Sans Fallback", "Arial Unicode MS"),
)
SERIF = (
    *("Noto Serif CJK SC", "Noto Serif SC", "Source Han Serif SC", "Source Han Serif CN"),
    *("Songti SC", "STSong", "Noto Serif CJK", "Source Han Serif", "SimSun", "AR PL UMing CN"),
)


BUNDLED = "DejaVu Sans"
"""It comes with matplotlib, and has the signs which the others lack."""


def find(exhibit: Exhibit, latin: tuple[str, ...], *wishes: tuple[str, ...]) -> list[str]:
    """An installed font for Latin, one that has Chinese, and one that has the other signs."""
    from matplotlib.font_manager import fontManager

    wanted = [name for wish in wishes for name in wish]
    found = installed(wanted) or installed(wanted, look_again=True)
    if not found and any(is_wide(c) for c in _all_text(exhibit)):
        raise UserError(
            tr("no font here has Chinese: apt install fonts-noto-cjk, or draw into .html instead")
        )
    there = {font.name for font in fontManager.ttflist}
    first = [name for name in latin if name in there][:1]
    return list(dict.fromkeys([*first, *([found] if found else []), BUNDLED]))


def anywhere(svg: bytes, fonts: list[str], wishes: Sequence[str], generic: str) -> bytes:
    """An SVG with the fonts of other machines named behind those that were found here."""
    here = ", ".join(f"'{name}'" for name in fonts)
    names = dict.fromkeys([*fonts[:-1], *wishes, fonts[-1]])
    everywhere = ", ".join(f"'{name}'" for name in names) + f", {generic}"
    return svg.replace(f"{here};".encode(), f"{everywhere};".encode())


def installed(wanted: list[str], look_again: bool = False) -> str | None:
    """The first font that matplotlib knows; it remembers a list, which may be older than a font."""
    from matplotlib.font_manager import findSystemFonts, fontManager

    if look_again:
        for file in set(findSystemFonts()) - {font.fname for font in fontManager.ttflist}:
            with suppress(Exception):  # a file that is no font after all
                fontManager.addfont(file)
    there = sorted({font.name for font in fontManager.ttflist})
    for wish in wanted:  # a family may go by its name and a region's, as "Noto Sans CJK JP"
        for name in there:
            if name == wish or (wish.endswith(("CJK", "Sans", "Serif")) and name.startswith(wish)):
                return name
    return None


def _all_text(exhibit: Exhibit) -> str:
    found: list[str] = []

    def visit(value: Any) -> None:
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, dict):
            for key, item in value.items():
                visit(key)
                visit(item)
        elif isinstance(value, list | tuple):
            for item in value:
                visit(item)
        elif hasattr(value, "__dataclass_fields__"):
            visit(vars(value))

    visit(exhibit)
    return "".join(found)
