"""How the lines of one poem rhyme: in one class of 平水韵, at the lines where the form asks for it.

Source: 王力《诗词格律》, chapter 2, 律诗的韵. A poem keeps to one class. The first line is free to
rhyme too, and it alone may do so in a neighbouring class (邻韵), which is noted here and counts
for nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mingyue.text.verse.rhyme import Classes, classes, names

# Classes that sound alike, of the level tone. 元 is split between two of the groups.
_NEIGHBOURS = ("東冬", "支微齊", "魚虞", "佳灰", "真文元", "元寒刪先", "蕭肴豪", "庚青蒸", "覃鹽咸")


@dataclass(frozen=True)
class Rhyme:
    """What the ends of a poem's lines have in common. Lines are counted from 0."""

    name: str | None
    """The class in which most of the rhyming lines end; None if all of them are unknown."""
    on: tuple[int, ...]
    """The lines that should rhyme and end in that class."""
    off: tuple[int, ...]
    """The lines that should rhyme and do not."""
    unknown: tuple[int, ...]
    """The lines that should rhyme and end in a character that is in no class."""
    first: Literal["", "rhymes", "neighbour"]
    """Whether the first line ends in the class too, or in one beside it."""
    repeated: tuple[str, ...]
    """Characters that end more than one rhyming line: no fault of sound, but of art (重韵)."""

    @property
    def holds(self) -> bool | None:
        """Whether all lines that should rhyme do; None if that depends on an unknown character."""
        if self.off:
            return False
        return None if self.unknown else True

    @property
    def level(self) -> bool:
        """Whether the class is of the level tone, as regulated verse wants it."""
        return self.name is not None and names()[self.name] == "平"


def rhyme_of(
    lines: Sequence[str], rhyming: Sequence[int], *, simplified: bool = False
) -> Rhyme | None:
    """How ``lines`` rhyme where they should; None if fewer than two of them should."""
    ends = {n: lines[n][-1] for n in rhyming if n < len(lines)}
    if len(ends) < 2:
        return None
    found = {n: classes(end, simplified=simplified) for n, end in ends.items()}
    head = Classes() if 0 in ends else classes(lines[0][-1], simplified=simplified)
    name = _common(list(found.values()), head)
    beside = {c for group in _NEIGHBOURS if name and name in group for c in group}
    endings = list(ends.values())
    return Rhyme(
        name=name,
        on=tuple(n for n in found if name in found[n]),
        off=tuple(n for n in found if found[n] and name not in found[n]),
        unknown=tuple(n for n in found if not found[n]),
        first="rhymes" if name in head else "neighbour" if head & beside else "",
        repeated=tuple(dict.fromkeys(end for end in endings if endings.count(end) > 1)),
    )


def _common(found: list[Classes], head: Classes) -> str | None:
    """The class of most; among equals one of the level tone, then one that the first line has."""
    tones = names()
    candidates = [name for name in tones if any(name in classes for classes in found)]
    return max(
        candidates,
        key=lambda name: (sum(name in c for c in found), tones[name] == "平", name in head),
        default=None,
    )
