"""What holds one stream to a form: the plan's slots, and in each the rules that speak there.

The plan is absolute. The other rules follow in the order of their rank, each only as far as it
leaves a character to choose: rhyme, tone, no repetition. What had to give way is found when the
poem is judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from mingyue.generation.sampling import NEVER
from mingyue.generation.verse.alphabet import Alphabet, only
from mingyue.generation.verse.counterpart import Counterpart
from mingyue.generation.verse.metre import Metre
from mingyue.generation.verse.plan import Plan
from mingyue.generation.verse.repeats import Pairs
from mingyue.generation.verse.rhyme import Rhyme


@dataclass
class Rules:
    """The rules beside the plan; each may be missing."""

    rhyme: Rhyme | None = None
    metre: Metre | None = None
    counterpart: Counterpart | None = None


class VerseGuide:
    """A ``Guide`` (see ``generation.decode``) that lets one stream write one poem."""

    def __init__(self, plan: Plan, alphabet: Alphabet, rules: Rules):
        """The first slots are those that the prompt has filled."""
        self._plan, self._alphabet, self._rules = plan, alphabet, rules
        self._pairs = Pairs(alphabet)
        self._at = 0
        self._broken = True  # no line break may come: one has just come, or nothing has
        for char in plan.begun:
            self._place(char)

    @property
    def done(self) -> bool:
        """Whether all slots are filled."""
        return self._at == len(self._plan.slots)

    def shift(self) -> Tensor:
        """What is added to the scores of the next token, [V]."""
        slot, ids = self._plan.slots[self._at], self._alphabet.ids
        if slot.signs:
            return only(self._alphabet.mask(ids[sign] for sign in slot.signs))
        if slot.char is not None:
            shift = only(self._alphabet.mask([ids[slot.char]]))
        else:
            shift = self._han(slot.line, slot.place)
        if slot.place == 0 and not self._broken and self._alphabet.line_break is not None:
            shift[self._alphabet.line_break] = 0.0
        return shift

    def took(self, id: int) -> None:
        """This token was chosen."""
        char = self._alphabet.chars.get(id)
        slot = self._plan.slots[self._at]
        if char is None and not slot.signs:  # a line break between two lines
            self._broken = True
            return
        self._place(char or "")
        self._broken = id == self._alphabet.line_break

    def _place(self, char: str) -> None:
        """Fill the next slot."""
        slot = self._plan.slots[self._at]
        self._at += 1
        self._broken = False
        if slot.signs:
            return
        self._pairs.took(slot.place, char)
        rules = self._rules
        if rules.rhyme and self._ends(slot.line, slot.place):
            rules.rhyme.took(slot.line, char)
        if rules.metre:
            rules.metre.took(slot.line, slot.place, char)
        if rules.counterpart and self._answers(slot.line):
            rules.counterpart.took(char)

    def _han(self, line: int, place: int) -> Tensor:
        """The shift where a 汉字 stands that is not given."""
        allowed, soft = self._alphabet.han, torch.zeros(self._alphabet.size)
        for ruling in self._rulings(line, place):
            forbidden = ruling == NEVER
            allowed = _narrowed(allowed, ~forbidden)
            soft = soft + ruling.masked_fill(forbidden, 0.0)
        return only(allowed) + soft

    def _rulings(self, line: int, place: int) -> Iterator[Tensor]:
        """What each rule that speaks here adds to the scores, in the order of their rank."""
        rules = self._rules
        if rules.rhyme and self._ends(line, place):
            rhyming = rules.rhyme.shift(line)
            if rhyming is not None:
                yield rhyming
        if rules.counterpart and self._answers(line):
            yield only(rules.counterpart.allowed())
        if rules.metre:
            yield rules.metre.shift(line, place)
        unpaired = self._pairs.allowed(place)
        if unpaired is not None and not rules.counterpart:
            yield only(unpaired)

    def _ends(self, line: int, place: int) -> bool:
        return place == self._plan.lengths[line] - 1

    def _answers(self, line: int) -> bool:
        """Whether this line is of the lower half of a couplet."""
        return line >= len(self._plan.lengths) // 2


def _narrowed(allowed: Tensor, rule: Tensor) -> Tensor:
    """What both allow, or what was allowed before if that is nothing."""
    both = allowed & rule
    return both if both.any() else allowed
