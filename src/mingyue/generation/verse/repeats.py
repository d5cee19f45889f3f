"""The rule against repetition: no two characters that stood together do so again.

A repeated line would be made of such pairs, so none can come, however low the temperature. Within
one word a character may be doubled (蕭蕭), once.
"""

from collections import defaultdict

from torch import Tensor

from mingyue.generation.verse.alphabet import Alphabet


class Pairs:
    """Which characters have followed which."""

    def __init__(self, alphabet: Alphabet):
        self._alphabet = alphabet
        self._after: defaultdict[str, set[int]] = defaultdict(set)
        self._last = ""

    def allowed(self, place: int) -> Tensor | None:
        """What may come in this place of a line, a mask [V]; None if anything may."""
        if place == 0 or not self._after[self._last]:
            return None
        return ~self._alphabet.mask(self._after[self._last])

    def took(self, place: int, char: str) -> None:
        """This character stands here."""
        if place > 0:
            self._after[self._last].add(self._alphabet.ids[char])
        self._last = char
