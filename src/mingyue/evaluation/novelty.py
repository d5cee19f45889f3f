"""What of a text was copied from the texts that a model learned from.

Two measures, both exact: which of its lines stand there as whole lines, and the longest run of
汉字 (across lines, signs left out) that stands in one of them. Poets quote too, so a number says
something only beside the same number for real poems that the model has not seen.

The texts to measure are few and those learned are many; so only the few are kept, and the many
stream by in blocks.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from mingyue.text.char import code_points
from mingyue.text.verse import lines_of

SHORTEST_LINE = 5
"""A shorter line is a phrase that anybody may use."""

_BLOCK = 5_000
"""Training texts looked at together."""
_WORD = 1 << 21
"""More than there are code points."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Of one text."""

    lines: int
    """Its lines of at least five characters."""
    copied: int
    """How many of these stand in training as whole lines."""
    longest: int
    """Characters of the longest run that stands in a training text."""


def copied(texts: Iterable[str], training: Iterable[str]) -> list[Copied]:
    """What each of ``texts`` shares with the ``training`` texts, which are read once."""
    poems = [lines_of(text) for text in texts]
    long = [[line for line in lines if len(line) >= SHORTEST_LINE] for lines in poems]
    wanted = {line for lines in long for line in lines}
    found: set[str] = set()
    runs = _Runs(["".join(lines) for lines in poems])
    for block in _blocks(training):
        learned = [lines_of(text) for text in block]
        for lines in learned:
            found.update(wanted.intersection(lines))
        runs.look(["".join(lines) for lines in learned])
    return [
        Copied(len(lines), sum(line in found for line in lines), longest)
        for lines, longest in zip(long, runs.longest.tolist(), strict=True)
    ]


def _blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    texts = iter(texts)
    while block := list(islice(texts, _BLOCK)):
        yield block


class _Runs:
    """The longest run that each of some texts shares with any of those looked at."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._codes = _joined(texts, separator=0)  # int64 [n], one separator after each text
        self._text_of = np.repeat(np.arange(len(texts)), [len(text) + 1 for text in texts])
        self.longest = np.zeros(len(texts), np.int64)

    def look(self, learned: Sequence[str]) -> None:
        """Compare with some more texts.

        A run that both have is grown by a character at a time. ``here`` and ``there`` are the
        places where such runs begin; equal runs have equal ``ids``. Places from which no run goes
        on drop out, and soon few are left.
        """
        codes = _joined(learned, separator=1)
        here, there = np.arange(len(self._codes)), np.arange(len(codes))
        ids, their_ids = np.zeros_like(here), np.zeros_like(there)
        length = 0
        while len(here):
            keys = ids * _WORD + self._codes[here + length]
            their_keys = their_ids * _WORD + codes[there + length]
            both = np.intersect1d(keys, their_keys)  # the runs, one character longer
            length += 1
            (mine, ids), (theirs, their_ids) = _places(keys, both), _places(their_keys, both)
            here, there = here[mine], there[theirs]
            texts = self._text_of[here]
            self.longest[texts] = np.maximum(self.longest[texts], length)


def _places(keys: np.ndarray, known: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which ``keys`` are among the ``known`` (sorted) ones, and which of these each is."""
    if not len(known):
        return np.zeros(len(keys), bool), known
    at = np.searchsorted(known, keys).clip(max=len(known) - 1)
    there = known[at] == keys
    return there, at[there]


def _joined(texts: Sequence[str], separator: int) -> np.ndarray:
    """The code points of all texts, int64; a ``separator`` that no text has after each.

    Both sides have their own, so that no run goes over the end of a text.
    """
    end = chr(separator)
    return code_points("".join(text + end for text in texts)).astype(np.int64)
