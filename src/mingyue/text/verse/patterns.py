"""The tone patterns of regulated verse, made from their rules.

Source: 王力《诗词格律》, chapter 2, 律诗的平仄. A pattern is fixed by two choices: the tone with
which the first line begins (仄起 or 平起: the tone of its second place) and whether that line
rhymes (入韵). All else follows:

- Within a line the tones go in pairs, 平平 and 仄仄 in turn.
- The last place has the tone that rhyme asks for: 平 where the line rhymes, else 仄. The last
  but two has the other one, so that three like tones never end a line.
- 对: the second line of a couplet has the opposite of the first in its second place.
- 粘: the next couplet begins with the tone in its second place that the last line had there.

An octave is the quatrain's rules carried on for four more lines. Which places may depart from the
pattern is in ``licence.py``.
"""

from dataclasses import dataclass
from functools import cache

from mingyue.text.verse.tones import LEVEL, OBLIQUE, opposite


@dataclass(frozen=True)
class Pattern:
    """One of the four patterns of a form: its name and, for each line, a string of 平 and 仄."""

    name: str
    lines: tuple[str, ...]

    @property
    def first_rhymes(self) -> bool:
        """Whether the first line rhymes too."""
        return self.lines[0].endswith(LEVEL)


@cache
def patterns(width: int, count: int) -> tuple[Pattern, ...]:
    """The four patterns for ``count`` lines of ``width`` (5 or 7) characters."""
    return tuple(
        Pattern(f"{start}起首句{'入' if rhymes else '不入'}韵", _poem(start, rhymes, width, count))
        for start in (OBLIQUE, LEVEL)
        for rhymes in (False, True)
    )


def _poem(start: str, first_rhymes: bool, width: int, count: int) -> tuple[str, ...]:
    lines = []
    for number in range(count):
        if number % 2:  # 对; at the head of the next couplet the tone stays: 粘
            start = opposite(start)
        rhymes = number % 2 == 1 or (number == 0 and first_rhymes)
        lines.append(line(start, LEVEL if rhymes else OBLIQUE, width))
    return tuple(lines)


def line(start: str, end: str, width: int) -> str:
    """The line with tone ``start`` in its second place and ``end`` in its last."""
    pairs = start * 2 + opposite(start) * 2 + start * 2
    body = pairs[: width - 3]
    return body + opposite(end) + opposite(body[-1]) + end


def loose(line: str) -> str:
    """The places that the loose metre asks for, the others as 中: the even ones and the last.

    This is 二四六分明 of the old rhyme, without the exceptions that it passes over.
    """
    return "".join(
        tone if place % 2 == 0 or place == len(line) else "中" for place, tone in enumerate(line, 1)
    )
