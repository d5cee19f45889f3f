"""The rule of rhyme while a poem is being written: which characters may end a line.

All rhyming lines end in one class of 平水韵, each in another character. Which class, the first of
them leaves open, and a character with several readings leaves several open; each further one
narrows them. A class is open only while the model still knows enough of its characters for all
lines that are to come, so that the last line never finds none.

In regulated verse the class is of the level tone, and a first line that ends in a level tone
rhymes with the others.
"""

from collections.abc import Iterable

from torch import Tensor

from mingyue.generation.verse.alphabet import LEVEL_BIT, OBLIQUE_BIT, Alphabet, only


class Rhyme:
    """The classes that are still open, and the characters that have ended a line."""

    def __init__(
        self,
        alphabet: Alphabet,
        lines: Iterable[int],
        names: Iterable[str],
        *,
        first: bool,
        weight: float | None = None,
    ):
        """``lines`` rhyme, in one of the classes ``names``; with ``first`` also the first line, if
        it ends in a level tone. ``weight`` is what a line without rhyme costs, in nats; None
        forbids it."""
        self._alphabet, self._names, self._first = alphabet, frozenset(names), first
        self._weight = weight
        self._to_come = set(lines)
        self._used: set[int] = set()

    def allowed(self, line: int) -> Tensor | None:
        """What may end this line, a mask [V]; None if anything may."""
        if not (self._to_come and self._asked(line)):
            return None
        known = self._alphabet.rhymes
        ids = {id for name in self._open(line) for id in known[name]} - self._used
        mask = self._alphabet.mask(ids)
        if line not in self._to_come:  # the first line, which may also end in an oblique tone
            mask |= (self._alphabet.sounds & OBLIQUE_BIT) > 0
        return mask

    def shift(self, line: int) -> Tensor | None:
        """What is added to the scores at the end of this line, [V]; None where anything may be."""
        allowed = self.allowed(line)
        if allowed is None or self._weight is None:
            return None if allowed is None else only(allowed)
        return (~allowed).float() * -self._weight

    def took(self, line: int, char: str) -> None:
        """This character ends the line. One that rhymes with nothing narrows nothing."""
        if not self._asked(line):
            return
        certain = line in self._to_come or self._alphabet.sound(char) == LEVEL_BIT
        narrowed = self._open(line) & self._alphabet.classes(char)
        self._to_come.discard(line)
        if certain and narrowed:
            self._names = narrowed
            self._used.add(self._alphabet.ids[char])

    def _asked(self, line: int) -> bool:
        return line in self._to_come or (self._first and line == 0)

    def _open(self, line: int) -> frozenset[str]:
        """The classes with enough characters for this line and those to come."""
        needed = len(self._to_come | {line})
        known = self._alphabet.rhymes
        return frozenset(
            name for name in self._names if len(known.get(name, frozenset()) - self._used) >= needed
        )
