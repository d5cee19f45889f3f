"""The rule of the couplet (对联): what the lower line repeats is what the upper line repeats.

The lower line has no character of the upper one. Where the upper line has a character twice, as
in 望江楼上望江流, the lower line has one of its own in the same two places, and nowhere else.
"""

from torch import Tensor

from mingyue.generation.verse.alphabet import Alphabet


class Counterpart:
    """The characters of the lower lines so far, beside those of the upper ones."""

    def __init__(self, alphabet: Alphabet, upper: str):
        self._alphabet, self._upper, self._lower = alphabet, upper, ""

    def allowed(self) -> Tensor:
        """What may come next, a mask [V]."""
        ids, at = self._alphabet.ids, len(self._lower)
        first = self._upper.index(self._upper[at])
        if first < at:
            return self._alphabet.mask([ids[self._lower[first]]])
        return ~self._alphabet.mask({ids[char] for char in self._upper + self._lower})

    def took(self, char: str) -> None:
        """This character stands next."""
        self._lower += char
