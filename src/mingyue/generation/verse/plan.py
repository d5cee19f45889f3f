"""The plan of a poem: one slot for each token to come, in order.

A slot takes a 汉字, or the sign at the end of a line. A poem written slot by slot cannot have a
line too many or too short, and it is complete when no slot is left. What somebody gave, the
beginning of the poem or the heads of an acrostic, is in the slots before the model writes.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from mingyue.errors import UserError
from mingyue.generation.verse.alphabet import Alphabet
from mingyue.language import tr
from mingyue.text.cleaning import is_han

Place = tuple[int, int]
"""A line, and a place in it; both counted from 0."""


@dataclass(frozen=True)
class Slot:
    """One token of the poem."""

    line: int
    place: int
    signs: tuple[str, ...] = ()
    """The signs of which one stands here; none for a 汉字."""
    char: str | None = None
    """The 汉字 that has to stand here."""


@dataclass(frozen=True)
class Plan:
    """All slots of a poem, and how many of the first are filled already, with what."""

    lengths: tuple[int, ...]
    slots: tuple[Slot, ...]
    begun: str = ""

    @property
    def given(self) -> dict[Place, str]:
        """The 汉字 of the beginning."""
        filled = zip(self.slots, self.begun, strict=False)
        return {(slot.line, slot.place): char for slot, char in filled if not slot.signs}

    @property
    def lines(self) -> list[str]:
        """The beginning line by line; empty where it says nothing."""
        lines = [""] * len(self.lengths)
        for (line, _), char in self.given.items():
            lines[line] += char
        return lines

    @property
    def certain(self) -> dict[Place, str]:
        """The 汉字 of the beginning, and the heads."""
        return self.given | {(slot.line, slot.place): slot.char for slot in self.slots if slot.char}

    @staticmethod
    def of(lengths: Sequence[int], alphabet: Alphabet, heads: str = "") -> "Plan":
        """The plan of lines with these lengths, the first of them beginning with ``heads``."""
        slots: list[Slot] = []
        for line, length in enumerate(lengths):
            chars = [heads[line] if line < len(heads) else None, *[None] * (length - 1)]
            slots += [Slot(line, place, char=char) for place, char in enumerate(chars)]
            if signs := alphabet.signs(line, len(lengths)):
                slots.append(Slot(line, length, signs))
        return Plan(tuple(lengths), tuple(slots))

    def beginning(self, text: str) -> "Plan":
        """The plan with its first slots filled by ``text``.

        Any sign and any line break ends a line; one that this model has not learned to write
        there becomes the usual one. Spaces, quotation marks and brackets are passed over.

        Raises:
            UserError: the lines of ``text`` are not those of the plan, or no line is left.
        """
        begun = ""
        for char in text:
            if _passed_over(char):
                continue
            if len(begun) == len(self.slots):
                raise UserError(tr("the beginning is longer than the form asked for"))
            begun += self._fitting(self.slots[len(begun)], char)
        if len(begun) == len(self.slots):
            raise UserError(tr("the beginning fills the form; nothing is left to write"))
        return Plan(self.lengths, self.slots, begun)

    def _fitting(self, slot: Slot, char: str) -> str:
        """What a character of the beginning puts into a slot."""
        line, length = slot.line + 1, self.lengths[slot.line]
        if is_han(char):
            if slot.signs:
                raise UserError(
                    tr(
                        "line {line} of the beginning has more than {length} characters: {char}",
                        line=line,
                        length=length,
                        char=char,
                    )
                )
            if slot.char not in (None, char):
                raise UserError(
                    tr(
                        "line {line} has to begin with {head}, but in the beginning it has {char}",
                        line=line,
                        head=slot.char,
                        char=char,
                    )
                )
            return char
        if unicodedata.category(char)[0] in "LN":
            raise UserError(
                tr("the beginning has {char}; verse takes only 汉字 and signs", char=char)
            )
        if slot.signs:
            return char if char in slot.signs else slot.signs[0]
        if slot.place == 0:  # a second sign after a line, as in ？！
            return ""
        raise UserError(
            tr(
                "line {line} of the beginning has {n} characters; the form asks for {length}",
                line=line,
                n=slot.place,
                length=length,
            )
        )


def _passed_over(char: str) -> bool:
    """Spaces, and the signs that stand around words: quotation marks and brackets."""
    return char in " \t\u3000\r" or unicodedata.category(char) in ("Ps", "Pe", "Pi", "Pf")
