"""What each token of a vocabulary is to verse: a 汉字 with its tones and rhymes, or a sign.

Rules speak of characters, the model scores tokens. Verse is counted in characters, so each has to
be one token: this takes a tokenizer that cuts text into characters.
"""

from collections.abc import Iterable
from functools import cached_property

import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.generation.sampling import NEVER
from mingyue.language import tr
from mingyue.text.cleaning import is_han
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse import classes, tones
from mingyue.text.verse.rhyme import looks_simplified
from mingyue.text.verse.tones import LEVEL, OBLIQUE

LEVEL_BIT, OBLIQUE_BIT = 1, 2
"""A sound is the sum of these: 0 unknown, 1 only 平, 2 only 仄, 3 read either way."""

SOUNDS = range(4)

_INNER = "，？！；"  # after the first line of a couplet
_OUTER = "。？！；"  # after the second
_LAST = "。？！"
_OTHERS = ("。，", ",.;?!", "\n", " ")
"""Signs for lines in a text that has none of the usual ones, in the order of preference."""


class Alphabet:
    """The tokens of one vocabulary, as verse sees them. All masks are bool [V]."""

    def __init__(self, tokenizer: Tokenizer, size: int, never: Iterable[int] = ()):
        """``size`` is V, that of the model's scores; ``never`` are ids that must not be written.

        Raises:
            UserError: the tokens are no characters, or none of them is a 汉字.
        """
        if tokenizer.kind != "char":
            raise UserError(
                tr(
                    "verse is counted in characters, and this model writes in pieces of another "
                    "kind ({kind}); train one with --tokenizer char",
                    kind=tokenizer.kind,
                )
            )
        out = {*never, tokenizer.end_id}
        text = {id: tokenizer.token_text(id) for id in range(tokenizer.vocab_size) if id not in out}
        self.size = size
        self.ids = {token: id for id, token in text.items() if len(token) == 1}
        self.chars = {id: char for char, id in self.ids.items() if is_han(char)}
        if not self.chars:
            raise UserError(tr("this model knows no 汉字, so it cannot write Chinese verse"))
        self.simplified = looks_simplified("".join(self.chars.values()))
        """Whether the model writes simplified characters."""
        self.han = self.mask(self.chars)

    def mask(self, ids: Iterable[int]) -> Tensor:
        """True for these ids."""
        mask = torch.zeros(self.size, dtype=torch.bool)
        mask[list(ids)] = True
        return mask

    def sound(self, char: str) -> int:
        """The tones that a character can have, as a sum of bits."""
        found = tones(char, simplified=self.simplified)
        return LEVEL_BIT * (LEVEL in found) + OBLIQUE_BIT * (OBLIQUE in found)

    @cached_property
    def sounds(self) -> Tensor:
        """The sound of every token, [V]; that of what is no 汉字 is unknown."""
        sounds = torch.zeros(self.size, dtype=torch.long)
        for id, char in self.chars.items():
            sounds[id] = self.sound(char)
        return sounds

    def classes(self, char: str) -> frozenset[str]:
        """The rhyme classes of a character, in the script of this model."""
        return classes(char, simplified=self.simplified)

    @cached_property
    def rhymes(self) -> dict[str, frozenset[int]]:
        """The ids of each rhyme class of which the model knows a character."""
        found: dict[str, set[int]] = {}
        for id, char in self.chars.items():
            for name in self.classes(char):
                found.setdefault(name, set()).add(id)
        return {name: frozenset(ids) for name, ids in found.items()}

    def signs(self, line: int, count: int) -> tuple[str, ...]:
        """What may stand after a line (counted from 0) of ``count``; the usual sign first.

        Nothing if the vocabulary has nothing to end a line with.
        """
        usual = _LAST if line == count - 1 else _OUTER if line % 2 else _INNER
        for signs in (usual, *_OTHERS):
            if known := tuple(sign for sign in signs if sign in self.ids):
                return known
        return ()

    @property
    def line_break(self) -> int | None:
        """The id of a line break, if texts of this vocabulary have some."""
        return self.ids.get("\n")


def only(allowed: Tensor) -> Tensor:
    """The shift [V] that leaves nothing but what is allowed (bool [V])."""
    return torch.zeros(len(allowed)).masked_fill(~allowed, NEVER)
