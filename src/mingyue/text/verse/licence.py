"""What a line may do instead of its pattern: free places, and departures that are made good (拗救).

Source of every rule: 王力《诗词格律》, chapter 2, 律诗的平仄, under the headings named below.

There are four lines of five characters. A line of seven is one of five with two more in front,
whose first is free. Each row of the table says what may stand for a line, 中 being either tone.
"""

from dataclasses import dataclass
from functools import cache
from itertools import product

from mingyue.text.verse.tones import LEVEL, OBLIQUE


@dataclass(frozen=True)
class Version:
    """One way to write a line."""

    tones: str
    """平 or 仄 for every place."""
    licence: str = ""
    """The licence it takes, if any beyond free places."""
    owes: bool = False
    """Whether the other line of the couplet has to make it good."""
    rescues: bool = False
    """Whether it makes good a first line that owes."""


# 所谓“一三五不论”: odd places but the last are free, except where a rule below speaks.
_CORES = {
    "仄仄平平仄": (
        # With a third 仄 this is 半拗 (拗救), which may be made good or not: a free place.
        Version("中仄中平仄"),
        # 拗救: a 仄 in the fourth place, where it should not be, has to be made good by the second
        # line with a 平 in its third. 野火烧不尽，春风吹又生。
        Version("中仄中仄仄", "对句相救", owes=True),
    ),
    "平平平仄仄": (
        Version("中平中仄仄"),
        # 特定的一种平仄格式 (popularly 锦鲤翻波): third and fourth place exchanged; then the first
        # is not free. 凉风起天末。
        Version("平平仄平仄", "特定格式"),
    ),
    "平平仄仄平": (
        # 孤平的避忌: with a 仄 in its first place the line would have one 平 beside the rhyme.
        Version("平平仄仄平"),
        Version("平平平仄平", rescues=True),
        # 拗救: unless the third is 平. 故园今若何。
        Version("仄平平仄平", "孤平自救", rescues=True),
    ),
    "仄仄仄平平": (
        # The third place is not free: three 平 at the end (三平调) are the mark of old verse
        # (古体诗).
        Version("中仄仄平平"),
    ),
}


@cache
def versions(line: str) -> tuple[Version, ...]:
    """All that may stand for a line of a pattern, the pattern's own line first."""
    front = f"中{line[1]}" if len(line) == 7 else ""
    found = [
        Version("".join(tones), core.licence, core.owes, core.rescues)
        for core in _CORES[line[-5:]]
        for tones in product(*(_either(tone) for tone in front + core.tones))
    ]
    return tuple(sorted(found, key=lambda version: version.tones != line))


def may_follow(first: Version, second: Version) -> bool:
    """Whether the lines of a couplet go together: what the first owes, the second pays."""
    return second.rescues or not first.owes


def _either(tone: str) -> str:
    return LEVEL + OBLIQUE if tone == "中" else tone
