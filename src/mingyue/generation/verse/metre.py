"""The rule of tones while a poem is being written: what each next character costs.

A form allows four patterns, and each line of a pattern several versions (``text.verse.licence``).
Which of them the poem will follow need not be decided beforehand: the rule keeps all of them, with
the number of places in which the poem has left each. What a 平 or a 仄 costs in the next place is
how much worse the best of them becomes by it. Characters that are certain already, as the heads of
an acrostic, count from the start.

Versions are those that keep the even places and the last (二四六分明): by the loose and by the
strict measure at once.
"""

from collections.abc import Mapping, Sequence

from torch import Tensor

from mingyue.generation.sampling import NEVER
from mingyue.generation.verse.alphabet import LEVEL_BIT, OBLIQUE_BIT, SOUNDS, Alphabet
from mingyue.generation.verse.plan import Place, Plan
from mingyue.text.verse import Form
from mingyue.text.verse.licence import versions
from mingyue.text.verse.patterns import loose
from mingyue.text.verse.tones import LEVEL, OBLIQUE

Line = tuple[str, ...]
"""The versions of a line: strings of 平, 仄, and 中 where either will do."""


def of_form(form: Form) -> list[list[Line]]:
    """The lines of each of the form's patterns."""
    return [[_loose_versions(line) for line in pattern.lines] for pattern in form.patterns]


def contrast(upper: Sequence[str], alphabet: Alphabet) -> list[list[Line]]:
    """The one pattern of a couplet (对联): after the lines ``upper``, which may be as they are, as
    many with the opposite tone in the even places and the last.

    Also in the other places of a character that stands in one of those, since the lower line
    will have one character there too (see ``counterpart``).
    """
    decisive = {char for line in upper for char in line[1::2] + line[-1]}
    asked = {char: _OPPOSITE[alphabet.sound(char)] for char in decisive}
    lower = ["".join(asked.get(char, "中") for char in line) for line in upper]
    return [[("中" * len(line),) for line in upper] + [(line,) for line in lower]]


_OPPOSITE = {0: "中", LEVEL_BIT: OBLIQUE, OBLIQUE_BIT: LEVEL, LEVEL_BIT | OBLIQUE_BIT: "中"}


def _loose_versions(line: str) -> Line:
    asked = loose(line)
    return tuple(
        version.tones
        for version in versions(line)
        if all(a in ("中", tone) for a, tone in zip(asked, version.tones, strict=True))
    )


class Metre:
    """How far a poem has come along all patterns at once."""

    def __init__(
        self,
        patterns: Sequence[Sequence[Line]],
        plan: Plan,
        alphabet: Alphabet,
        weight: float | None,
    ):
        """``weight`` is what a place off costs, in nats; None forbids it where it can be helped."""
        self._patterns, self._alphabet, self._weight = patterns, alphabet, weight
        fixed = {place: alphabet.sound(char) for place, char in plan.certain.items()}
        self._ahead = [_ahead(lines, fixed) for lines in patterns]
        self._before = [0] * len(patterns)  # places off in the lines that are done
        self._begin(0)

    def costs(self, line: int, place: int) -> list[int]:
        """For each sound: in how many places the best pattern will be left if it comes next."""
        return [
            min(
                before + ahead[line + 1] + off + _misfit(version[place], sound)
                for lines, before, ahead, now in zip(
                    self._patterns, self._before, self._ahead, self._now, strict=True
                )
                for version, off in zip(lines[line], now, strict=True)
            )
            for sound in SOUNDS
        ]

    def shift(self, line: int, place: int) -> Tensor:
        """What is added to the scores in this place, [V]."""
        costs = self.costs(line, place)
        over = Tensor([cost - min(costs) for cost in costs])  # [4]
        # −∞ · 0 is no number, so what is forbidden outright is filled in.
        shifts = over.masked_fill(over > 0, NEVER) if self._weight is None else -self._weight * over
        return shifts[self._alphabet.sounds]

    def took(self, line: int, place: int, char: str) -> None:
        """This character stands here."""
        sound = self._alphabet.sound(char)
        for lines, now in zip(self._patterns, self._now, strict=True):
            for i, version in enumerate(lines[line]):
                now[i] += _misfit(version[place], sound)
        if place == len(self._patterns[0][line][0]) - 1:
            self._before = [
                before + min(now) for before, now in zip(self._before, self._now, strict=True)
            ]
            self._begin(line + 1)

    def _begin(self, line: int) -> None:
        """No place of this line is off yet, by any version of any pattern."""
        self._now = [[0] * len(lines[line]) for lines in self._patterns if line < len(lines)]


def _ahead(lines: Sequence[Line], fixed: Mapping[Place, int]) -> list[int]:
    """For each line, and for the end: in how many places what is certain from there on is off."""
    costs = [0]
    for line in range(len(lines) - 1, -1, -1):
        certain = [(place, sound) for (at, place), sound in fixed.items() if at == line]
        best = min(sum(_misfit(v[place], sound) for place, sound in certain) for v in lines[line])
        costs.append(costs[-1] + best)
    return costs[::-1]


def _misfit(asked: str, sound: int) -> int:
    """1 where a sound is not what is asked for."""
    if asked == "中":
        return 0
    return int(not sound & (LEVEL_BIT if asked == LEVEL else OBLIQUE_BIT))
