"""How well lines keep to a tone pattern, by two measures.

The *loose* metre asks for the even places and the last (二四六分明); with a pattern's lines this
also tests 对 and 粘. The *strict* metre asks for the whole line, with the free places and licences
of ``licence.py``. A licence moves the fourth or sixth place, so a line may be right by the strict
measure and not by the loose one.

A character that is read in both tones fits either; so does an unknown one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from mingyue.text.verse.licence import Version, versions
from mingyue.text.verse.patterns import Pattern, loose
from mingyue.text.verse.tones import LEVEL, Tones

Line = Sequence[Tones]
"""The tones that each character of a line can have; an empty set: unknown."""


@dataclass(frozen=True)
class Fit:
    """Lines beside a pattern."""

    pattern: Pattern
    off: tuple[tuple[int, ...], ...]
    """For each line the places that do not fit, counted from 0."""
    licences: tuple[str, ...]
    """For each line that fits, the licence it takes, or nothing."""

    @property
    def holds(self) -> bool:
        """Whether every place fits."""
        return not any(self.off)


def fit_loose(lines: Sequence[Line], patterns: Sequence[Pattern]) -> Fit:
    """The pattern to which the lines come nearest in the places of the loose metre."""
    return _nearest(lines, patterns, lambda line: (Version(loose(line)),))


def fit_strict(lines: Sequence[Line], patterns: Sequence[Pattern]) -> Fit:
    """The pattern to which the lines come nearest by whole lines, licences allowed."""
    return _nearest(lines, patterns, versions)


_Choice = tuple[tuple[int, ...], Version]
"""The places off, and the version of the line that has so few."""


def _nearest(
    lines: Sequence[Line],
    patterns: Sequence[Pattern],
    allowed: Callable[[str], tuple[Version, ...]],
) -> Fit:
    bits = [_bits(line) for line in lines]

    @cache  # the four patterns share their lines
    def couplet(place: int, first: str, second: str) -> tuple[_Choice, _Choice]:
        """The best versions of two lines: either the first owes nothing, or the second pays."""
        before, after = bits[place], bits[place + 1]
        choices = []
        for owes in (False, True):
            firsts = [v for v in allowed(first) if v.owes == owes]
            seconds = [v for v in allowed(second) if v.rescues or not owes]
            if firsts and seconds:
                choices.append((_best(before, firsts), _best(after, seconds)))
        return min(choices, key=lambda pair: len(pair[0][0]) + len(pair[1][0]))

    def fit(pattern: Pattern) -> Fit:
        pairs = zip(range(0, len(lines), 2), pattern.lines[::2], pattern.lines[1::2], strict=True)
        choices = [choice for pair in pairs for choice in couplet(*pair)]
        licences = tuple("" if off else version.licence for off, version in choices)
        return Fit(pattern, tuple(off for off, _ in choices), licences)

    return min(map(fit, patterns), key=lambda fit: sum(map(len, fit.off)))


def _bits(line: Line) -> tuple[int, int]:
    """The places of a line that cannot be 平, and those that cannot be 仄, as bits."""
    never_level = sum(1 << i for i, tones in enumerate(line) if tones and LEVEL not in tones)
    never_oblique = sum(1 << i for i, tones in enumerate(line) if tones == {LEVEL})
    return never_level, never_oblique


@cache
def _asked(tones: str) -> tuple[int, int]:
    """The places that a version wants 平, and those it wants 仄; 中 is neither."""
    level = sum(1 << i for i, tone in enumerate(tones) if tone == LEVEL)
    free = sum(1 << i for i, tone in enumerate(tones) if tone == "中")
    return level, ~(level | free)


def _best(line: tuple[int, int], candidates: Sequence[Version]) -> _Choice:
    def wrong(version: Version) -> int:
        level, oblique = _asked(version.tones)
        return level & line[0] | oblique & line[1]

    version = min(candidates, key=lambda version: wrong(version).bit_count())
    bits = wrong(version)
    return tuple(i for i in range(len(version.tones)) if bits >> i & 1), version
