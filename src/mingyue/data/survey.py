"""The first look at a corpus: which characters it has, how long it is, what to hold out."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from mingyue.data.blocks import Block, blocks
from mingyue.data.prints import Prints, finish, join, prints
from mingyue.data.split import MOST_WORDS, Candidate, Candidates
from mingyue.data.together import together
from mingyue.text.char import CODE_POINTS, REPLACEMENT

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus
    from mingyue.text.document import Document

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
    corpus: "Iterable[Document] | Corpus",
    val_fraction: float,
    seed: int,
    progress: Callable[[int], None],
) -> Survey:
    """Read the corpus once; ``progress`` is told the characters read so far."""
    counts = np.zeros(CODE_POINTS, np.int64)
    found: list[np.ndarray] = []  # lengths of documents, block after block
    candidates = Candidates(val_fraction)
    assembler = _Assembler(candidates, seed)
    read = words = 0
    goes_on = False
    for block, hashed in together(blocks(corpus), assembler.hashed):
        here = np.bincount(block.codes)
        counts[: len(here)] += here
        number = block.documents - block.documents[0]
        sizes = np.bincount(number, block.lengths).astype(np.int64)  # exact up to 2^53
        if goes_on:
            found[-1][-1] += sizes[0]
            sizes = sizes[1:]
        if len(sizes):
            found.append(sizes)
        goes_on = not block.ends[-1]
        words += assembler.add(block, hashed)
        read += len(block.codes)
        progress(read)
    lengths = np.concatenate(found) if found else np.zeros(0, np.int64)
    counts[ord(REPLACEMENT)] += counts[0xD800:0xE000].sum()
    counts[0xD800:0xE000] = 0

    held_out: list[Candidate] = []
    tails: dict[int, int] = {}
    if len(lengths) >= FEW_DOCUMENTS:
        held_out = candidates.choose(words)
    if not held_out and val_fraction > 0:
        for document, length in enumerate(lengths.tolist()):
            tail = math.floor(min(val_fraction, 2 * MOST_WORDS / max(read, 1)) * length)
            if tail >= SHORTEST_TAIL:
                tails[document] = length - tail
    return Survey(counts, lengths, held_out, tails, val_fraction > 0)


class _Assembler:
    """Puts the documents' hashes together from blocks and offers them as candidates."""

    def __init__(self, candidates: Candidates, seed: int) -> None:
        self._candidates, self._seed = candidates, seed
        self._begun = (0, 0)  # hash and length of the document that goes on in the next block
        self._sentences: list[np.ndarray] = []  # and its sentences

    def hashed(self, block: Block) -> Prints | None:
        """The work for ``add`` that can be done beforehand, in any order.

        A document that has grown too long to be held out is no longer hashed.
        """
        return None if self._too_long(block) else prints(block)

    def _too_long(self, block: Block) -> bool:
        return len(block.texts) == 1 and not block.ends[0] and self._begun[1] > MOST_WORDS

    def add(self, block: Block, hashed: Prints | None) -> int:
        """Take a block; returns how many word characters it has."""
        if self._too_long(block):
            return len(block.codes)
        found = prints(block) if hashed is None else hashed
        in_block = int(found.words.sum())
        hashes, words = found.hashes, found.words
        hashes[0], words[0] = join(self._begun, (int(hashes[0]), int(words[0])))
        bounds = np.searchsorted(found.part_of, np.arange(len(hashes) + 1))
        self._sentences.append(found.sentences[: bounds[1]])

        # After the last end there is one part more, empty if the block ends with a document.
        documents = block.documents[block.ends]
        finished = finish(hashes[:-1], words[:-1], self._seed)
        for part in np.flatnonzero(finished < self._candidates.below).tolist():
            inside = found.sentences[bounds[part] : bounds[part + 1]]
            sentences = inside if part else np.concatenate(self._sentences)
            self._candidates.offer(
                int(finished[part]), int(words[part]), int(documents[part]), sentences
            )

        self._begun = int(hashes[-1]), int(words[-1])
        if len(documents):
            self._sentences = [found.sentences[bounds[-2] :]]
        if self._begun[1] > MOST_WORDS:
            self._sentences = []
        return in_block
