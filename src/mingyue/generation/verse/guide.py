"""What holds one stream to a form: the plan's slots, and in each the rules that speak there.

The plan is absolute. The other rules follow in the order of their rank, each only as far as it
leaves a character to choose: rhyme, tone, no repetition. What had to give way is found when the
poem is judged.
"""

from dataclasses import dataclass

from torch import Tensor

from mingyue.generation.verse.alphabet import Alphabet
from mingyue.generation.verse.counterpart import Counterpart
from mingyue.generation.verse.metre import Metre
from mingyue.generation.verse.plan import Plan
from mingyue.generation.verse.repeats import Pairs
from mingyue.generation.verse.rhyme import Rhyme

_NEVER = float("-inf")


@dataclass
class Rules:
    """The rules beside the plan; each may be missing."""

    rhyme: Rhyme | None = None
    rhyme_weight: float | None = None
    """What a line without rhyme costs, in nats; None: it must not be."""
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
            return self._only(self._alphabet.mask(ids[sign] for sign in slot.signs))
        if slot.char is not None:
            shift = self._only(self._alphabet.mask([ids[slot.char]]))
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
        if rules.rhyme and slot.place == self._plan.lengths[slot.line] - 1:
            rules.rhyme.took(slot.line, char)
        if rules.metre:
            rules.metre.took(slot.line, slot.place, char)
        if rules.counterpart and slot.line >= len(self._plan.lengths) // 2:
            rules.counterpart.took(char)

    def _han(self, line: int, place: int) -> Tensor:
        """The shift where a 汉字 stands that is not given."""
        rules, allowed = self._rules, self._alphabet.han
        soft: Tensor | float = 0.0
        if rules.rhyme and place == self._plan.lengths[line] - 1:
            rhyming = rules.rhyme.allowed(line)
            if rhyming is not None and rules.rhyme_weight is None:
                allowed = _narrowed(allowed, rhyming)
            elif rhyming is not None and rules.rhyme_weight is not None:
                soft = (~rhyming).float() * -rules.rhyme_weight
        if rules.counterpart and line >= len(self._plan.lengths) // 2:
            allowed = _narrowed(allowed, rules.counterpart.allowed())
        if rules.metre:
            metre = rules.metre.shift(line, place)
            allowed = _narrowed(allowed, metre > _NEVER)
            soft = soft + metre.clamp(min=-1e4)  # −∞ has had its say
        unpaired = self._pairs.allowed(place)
        if unpaired is not None and not rules.counterpart:
            allowed = _narrowed(allowed, unpaired)
        return self._only(allowed) + soft

    def _only(self, allowed: Tensor) -> Tensor:
        return (~allowed).float().masked_fill(~allowed, _NEVER)


def _narrowed(allowed: Tensor, rule: Tensor) -> Tensor:
    """What both allow, or what was allowed before if that is nothing."""
    both = allowed & rule
    return both if both.any() else allowed
