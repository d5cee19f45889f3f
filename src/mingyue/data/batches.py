"""What the model sees at each step, as a function of the step alone.

Training text is a stream: the documents in random order, an end token after each. X is a window
of that stream and Y the same window one token later, so at every place the model predicts what
comes next. The stream is a ring: before the first document stands the end token of the last, so
every document is begun from an end token, and a window may lie across the seam.

Each epoch (once through all the text) shuffles the documents anew, cuts the ring into windows
from a random place, and shuffles the windows. A cut that falls into a document short enough for
a window is moved to its beginning: the model then reads it from its first token, as it will when
it writes, instead of guessing at a torso. On the Tang poems that is worth 0.04 nats. The price
is that in one epoch some tokens are predicted twice and some ends of documents not at all, other
ones each time.

A heading before a document (``headings``) is there to be gone on from, not to be predicted: its
places in Y hold ``IGNORED``.

All of this follows from the seed and the number of the epoch: any batch can be computed at once
from its step, a resumed run needs no state, and n batches of one row are the rows of one batch
of n.
"""

from dataclasses import dataclass

import numpy as np

from mingyue.data.tokens import Tokens
from mingyue.model.config import IGNORED


def largest_block(tokens: Tokens) -> int:
    """The largest ``block_size`` that ``Batches`` takes for these tokens (0: none)."""
    return tokens.n_tokens


class Batches:
    """Rows of ``block_size`` tokens, ``batch_size`` of them at each step, for ever.

    Each epoch has ``rows_per_epoch`` rows, as many as fit into the text without overlap. A row
    begins with the beginning of a document, or inside one that is longer than ``block_size``.
    """

    def __init__(
        self, tokens: Tokens, *, batch_size: int, block_size: int, seed: int, end_id: int
    ) -> None:
        """
        Raises:
            ValueError: fewer tokens than ``block_size`` (see ``largest_block``), a size below 1,
                or a last document that does not end with ``end_id``.
        """
        if batch_size < 1 or block_size < 1:
            raise ValueError("batch_size and block_size must be at least 1")
        if tokens.n_tokens < block_size:
            raise ValueError(
                f"{tokens.n_tokens} tokens are too few for rows of {block_size}; "
                "take a block_size of at most largest_block(tokens)"
            )
        if tokens.slice(tokens.n_tokens - 1, tokens.n_tokens)[0] != end_id:
            raise ValueError(f"the documents do not end with the end token {end_id}")
        self.tokens = tokens
        self.batch_size = batch_size
        self.block_size = block_size
        self.rows_per_epoch = tokens.n_tokens // block_size
        self._seed = seed % 2**64
        self._lengths = np.diff(tokens.offsets)
        self._recent: dict[int, _Epoch] = {}  # only to save work; batch() does not depend on it

    def batch(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """X and Y of a step (from 0), int64 [B, T] each; Y is X one token later."""
        rows = step * self.batch_size + np.arange(self.batch_size)
        epochs, rows = np.divmod(rows, self.rows_per_epoch)
        windows = [  # each [rows of this epoch, T + 1]
            self._windows(int(epoch), rows[epochs == epoch]) for epoch in np.unique(epochs)
        ]
        both = np.concatenate(windows)
        x, y = np.ascontiguousarray(both[:, :-1]), np.ascontiguousarray(both[:, 1:])
        if self.tokens.brackets is not None:
            y[_in_brackets(both, *self.tokens.brackets)[:, 1:]] = IGNORED
        return x, y

    def epoch_of(self, step: int) -> float:
        """How often the text has been seen before ``step``: 1.5 is half through the second."""
        return step * self.batch_size / self.rows_per_epoch

    def _windows(self, epoch: int, rows: np.ndarray) -> np.ndarray:
        """The windows with the given numbers in an epoch, int64 [len(rows), T + 1]."""
        plan = self._plan(epoch)
        width, ring = self.block_size + 1, self.tokens.n_tokens
        predicted = (plan.offset + plan.rows[rows] * self.block_size) % ring  # the first of Y
        document = np.searchsorted(plan.begins, predicted, side="right") - 1
        fits = self._lengths[plan.order[document]] <= self.block_size
        start = (np.where(fits, plan.begins[document], predicted) - 1) % ring
        positions = self._positions(plan, start, width, ring)
        return self.tokens.take(positions).reshape(len(rows), width)

    def _positions(self, plan: "_Epoch", start: np.ndarray, width: int, ring: int) -> np.ndarray:
        """Where the windows' tokens lie in the stored order, int64 [len(start) * width].

        A window covers the end of one document, perhaps some whole ones, and the beginning of
        another. Each such run is contiguous in the stored order, so it is enough to find the
        runs; only they, not the tokens, cost a search.
        """
        n = len(plan.order)
        last = start + width - 1
        wraps = last >= ring
        first_run = np.searchsorted(plan.begins, start, side="right") - 1
        last_run = np.searchsorted(plan.begins, last - wraps * ring, side="right") - 1 + wraps * n
        runs = last_run - first_run + 1
        row = np.repeat(np.arange(len(start)), runs)
        nth = np.arange(len(row)) + np.repeat(first_run - (np.cumsum(runs) - runs), runs)
        lap, nth = nth // n, nth % n  # runs past the seam are those of the ring's beginning

        document = plan.order[nth]
        begin = plan.begins[nth] + lap * ring
        end = begin + self._lengths[document]
        inside = np.maximum(begin, start[row])
        length = np.minimum(end, last[row] + 1) - inside
        stored = self.tokens.offsets[document] + inside - begin
        return np.repeat(stored - (np.cumsum(length) - length), length) + np.arange(length.sum())

    def _plan(self, epoch: int) -> "_Epoch":
        if epoch not in self._recent:
            random = np.random.default_rng([self._seed, epoch])
            order = random.permutation(self.tokens.n_documents)
            ends = np.cumsum(self._lengths[order])
            plan = _Epoch(
                order,
                begins=ends - self._lengths[order],
                offset=int(random.integers(self.tokens.n_tokens)),
                rows=random.permutation(self.rows_per_epoch),
            )
            if len(self._recent) > 1:  # a batch touches at most two, except in tiny corpora
                self._recent.pop(min(self._recent))
            self._recent[epoch] = plan
        return self._recent[epoch]


def _in_brackets(ids: np.ndarray, opening: int, closing: int) -> np.ndarray:
    """Where a heading stands, its brackets included; ids [B, T] → bool [B, T]. A row may begin
    or end inside one."""
    closes = ids == closing
    depth = np.cumsum((ids == opening).astype(np.int64) - closes, axis=1)
    depth -= np.minimum(depth.min(axis=1, keepdims=True), 0)  # -1 after a heading cut in two
    return (depth > 0) | closes


@dataclass(frozen=True, slots=True)
class _Epoch:
    """How one epoch shuffles: documents, where each begins in the ring, first cut, windows."""

    order: np.ndarray
    begins: np.ndarray
    offset: int
    rows: np.ndarray
