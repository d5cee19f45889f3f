"""Which documents are held out for validation, so that the validation loss means something.

A model that has seen a poem predicts it well without understanding any. So no held-out document
may occur in training, not under other punctuation, and not mostly: a document is *nearly* in
training if at least half of its sentences are.

The choice is made by a seeded hash of each document's words: smallest hash first, until the
wanted share of the text is reached. Copies have the same hash and so land on the same side.
For near copies only the sentences of the chosen documents are remembered. While the training
side streams by, those that occur there are marked; a chosen document with half of its sentences
marked moves over to training, which marks its own sentences, and so on until nothing moves.
Memory is bounded by the validation side, and no document is lost.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np

MOST_WORDS = 10_000_000
"""No more than this many characters are held out, however large the text: enough for any
estimate of the loss, and few enough to remember their sentences."""

_RESERVE = 8  # candidates kept at any rate, so that small collections find one
_PROBES = 1 << 22


@dataclass(slots=True)
class Candidate:
    """Documents of the same words: hash, length in word characters, numbers, sentences.

    A sentence that a document has twice is here twice.
    """

    hash: int
    words: int
    documents: list[int]
    sentences: np.ndarray = field(repr=False)


class Candidates:
    """Keeps the documents of smallest hash while all documents pass by."""

    def __init__(self, fraction: float) -> None:
        # More than needed by half, because documents are of unequal length.
        self._fraction = fraction
        self._enough = int(min(1.5 * fraction, 1.0) * 2**64)
        self._below = 2**64 - 1 if fraction > 0 else 0
        self._by_hash: dict[int, Candidate] = {}
        self._largest: list[int] = []  # a heap of -hash
        self._words = 0

    @property
    def below(self) -> int:
        """Only documents whose hash is smaller than this are still of interest."""
        return self._below

    def offer(self, hash: int, words: int, document: int, sentences: np.ndarray) -> None:
        """A document that has gone by. Copies count once more each."""
        if hash >= self._below or not 0 < words <= MOST_WORDS:
            return
        if hash in self._by_hash:
            self._by_hash[hash].documents.append(document)
        else:
            self._by_hash[hash] = Candidate(hash, words, [document], sentences.copy())
            heapq.heappush(self._largest, -hash)
        self._words += words
        while len(self._largest) > _RESERVE and (
            -self._largest[0] >= self._enough or self._words > 2 * MOST_WORDS
        ):
            self._below = -heapq.heappop(self._largest)
            dropped = self._by_hash.pop(self._below)
            self._words -= dropped.words * len(dropped.documents)

    def choose(self, all_words: int) -> list[Candidate]:
        """The candidates to hold out, when the whole text has ``all_words`` word characters.

        In order of hash until the wanted share is reached; one that would overshoot it twice is
        passed over, and something must be left for training.
        """
        wanted = min(self._fraction * all_words, MOST_WORDS)
        chosen: list[Candidate] = []
        held_out = 0
        for candidate in sorted(self._by_hash.values(), key=lambda c: c.hash):
            size = candidate.words * len(candidate.documents)
            if held_out < wanted and held_out + size <= min(2 * wanted, all_words - 1):
                chosen.append(candidate)
                held_out += size
        return chosen


class NearCopies:
    """Finds the held-out candidates that are nearly in training."""

    def __init__(self, candidates: list[Candidate]) -> None:
        lengths = np.array([len(c.sentences) for c in candidates], np.int64)
        sentences = [c.sentences for c in candidates] or [np.empty(0, np.uint64)]
        self._sentences, places = np.unique(np.concatenate(sentences), return_inverse=True)
        # Each candidate's different sentences: by whom, and where in the list of all.
        owners = np.repeat(np.arange(len(candidates)), lengths)
        n = max(1, len(self._sentences))
        self._owners, self._places = np.divmod(np.unique(owners * n + places.ravel()), n)
        self._sizes = np.bincount(self._owners, minlength=len(candidates))
        self._seen = np.zeros(len(self._sentences), bool)
        # Most training sentences are told apart by their low bits, without a search.
        self._probe = np.zeros(_PROBES if len(self._sentences) else 1, bool)
        self._probe[self._low_bits(self._sentences)] = True

    def _low_bits(self, sentences: np.ndarray) -> np.ndarray:
        return sentences & np.uint64(len(self._probe) - 1)

    def see(self, sentences: np.ndarray) -> None:
        """Mark sentences (uint64 [n]) of the training side."""
        sentences = sentences[self._probe[self._low_bits(sentences)]]
        if len(self._sentences) and len(sentences):
            places = np.searchsorted(self._sentences, sentences)
            places[places == len(self._sentences)] = 0
            self._seen[places[self._sentences[places] == sentences]] = True

    def moved(self) -> np.ndarray:
        """Which candidates have to move to the training side; bool [n_candidates].

        Those with at least half of their sentences in training, where the ones that move count
        as training too.
        """
        owner = self._owners
        moved = np.zeros(len(self._sizes), bool)
        seen = self._seen.copy()
        while True:
            shared = np.bincount(owner, seen[self._places], len(moved))
            now = (self._sizes > 0) & (2 * shared >= self._sizes)
            if (now == moved).all():
                return moved
            moved = now
            seen[self._places[moved[owner]]] = True
