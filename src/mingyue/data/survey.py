"""The first look at a corpus: which characters it has, how long it is, what to hold out."""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mingyue.data.blocks import Piece, blocks
from mingyue.data.prints import finish, join, prints
from mingyue.data.split import MOST_WORDS, Candidate, Candidates
from mingyue.text.char import CODE_POINTS, REPLACEMENT, code_points

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus

FEW_DOCUMENTS = 20
"""With fewer documents than this, one of them is too much or too special to hold out."""

SHORTEST_TAIL = 64
"""A held-out last part of fewer characters says nothing."""


@dataclass(frozen=True, slots=True)
class Survey:
    """What the first pass over the text found.

    ``counts``: int64 [CODE_POINTS], how often each character occurs. ``lengths``: int64
    [n_documents], in characters. ``held_out``: the documents chosen for validation, before a
    check for near copies. ``tails``: by document, from which character on its last part is held
    out instead.
    """

    counts: np.ndarray
    lengths: np.ndarray
    held_out: list[Candidate]
    tails: dict[int, int]
    wanted: bool
    """Whether anything was to be held out."""

    @property
    def n_characters(self) -> int:
        return int(self.lengths.sum())

    def characters(self) -> dict[str, int]:
        """The counts by character, of those that occur."""
        return {chr(c): int(self.counts[c]) for c in np.flatnonzero(self.counts)}


def survey(
    corpus: "Corpus", val_fraction: float, seed: int, progress: Callable[[int], None]
) -> Survey:
    """Read the corpus once; ``progress`` is told the characters read so far."""
    counts = np.zeros(CODE_POINTS, np.int64)
    lengths = array("q")
    candidates = Candidates(val_fraction)
    assembler = _Assembler(candidates, seed)
    read = words = 0
    for block in blocks(corpus):
        text = "".join([piece.text for piece in block])
        here = np.bincount(code_points(text))
        counts[: len(here)] += here
        for piece in block:
            if piece.document == len(lengths):
                lengths.append(0)
            lengths[piece.document] += len(piece.text)
        words += assembler.add(block)
        read += len(text)
        progress(read)
    counts[ord(REPLACEMENT)] += counts[0xD800:0xE000].sum()
    counts[0xD800:0xE000] = 0

    held_out: list[Candidate] = []
    tails: dict[int, int] = {}
    if len(lengths) >= FEW_DOCUMENTS:
        held_out = candidates.choose(words)
    if not held_out and val_fraction > 0:
        for document, length in enumerate(lengths):
            tail = math.floor(min(val_fraction, 2 * MOST_WORDS / max(read, 1)) * length)
            if tail >= SHORTEST_TAIL:
                tails[document] = length - tail
    return Survey(counts, np.asarray(lengths, np.int64), held_out, tails, val_fraction > 0)


class _Assembler:
    """Puts the documents' hashes together from blocks and offers them as candidates."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        self._candidates, self._seed = candidates, seed
        self._begun = (0, 0)  # hash and length of the document that goes on in the next block
        self._sentences: list[np.ndarray] = []  # and its sentences

    def add(self, block: list[Piece]) -> int:
        """Take a block; returns how many word characters it has.

        A document that has grown too long to be held out is no longer hashed.
        """
        if len(block) == 1 and not block[0].ends and self._begun[1] > MOST_WORDS:
            return len(block[0].text)
        found = prints(block)
        parts = list(zip(found.hashes.tolist(), found.words.tolist(), strict=True))
        parts[0] = join(self._begun, parts[0])
        bounds = np.searchsorted(found.part_of, np.arange(len(parts) + 1))
        self._sentences.append(found.sentences[: bounds[1]])

        # After the last end there is one part more, empty if the block ends with a document.
        documents = [piece.document for piece in block if piece.ends]
        hashes = finish(parts[:-1], self._seed)
        for part in np.flatnonzero(hashes < self._candidates.below).tolist():
            inside = found.sentences[bounds[part] : bounds[part + 1]]
            sentences = inside if part else np.concatenate(self._sentences)
            words = parts[part][1]
            self._candidates.offer(int(hashes[part]), words, documents[part], sentences)

        self._begun = parts[-1]
        if documents:
            self._sentences = [found.sentences[bounds[-2] :]]
        if self._begun[1] > MOST_WORDS:
            self._sentences = []
        return int(found.words.sum())
