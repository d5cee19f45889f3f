"""An n-gram model learns by counting; see ``model.ngram`` for what is made of the counts.

The text is read once for each length n, in pieces, so that memory is taken by the different
n-grams only. An n-gram lies within a document, or begins with the end token before it; then its
plain count is kept, since nothing else ever comes before.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch

from mingyue.data.tokens import Tokens
from mingyue.model.config import ModelConfig
from mingyue.model.ngram import Ngram

PIECE = 2**22
"""Tokens looked at at once."""

Level = tuple[np.ndarray, np.ndarray]
"""Sorted keys of the n-grams of one length, and how often each came."""


def count_ngrams(
    tokens: Tokens,
    config: ModelConfig,
    *,
    end_id: int,
    progress: Callable[[float], None] = lambda part: None,
    piece: int = PIECE,
) -> Ngram:
    """The n-gram model of a text; ``progress`` hears the part done, 0 to 1."""
    V, order = config.vocab_size, config.order
    levels: list[Level] = []
    for n in range(1, order + 1):
        found = _none()
        for start in range(int(n == 1), tokens.n_tokens + 1, piece):
            text = _slice(tokens, start, start + piece + n - 1, end_id)
            keys = _keys(text, n, levels, V, end_id)
            found = _merged(found, np.unique(keys, return_counts=True))
            progress((n - 1 + min(1.0, (start + piece) / tokens.n_tokens)) / order)
        levels.append(found)
    model = Ngram(config.changed(entries=tuple(len(keys) for keys, _ in levels)))
    for n, ((keys, _), counts) in enumerate(
        zip(levels, _smooth(levels, V, end_id), strict=True), 1
    ):
        model.keys(n).copy_(torch.from_numpy(keys))
        model.counts(n).copy_(torch.from_numpy(counts))
    return model


def _none() -> Level:
    return np.empty(0, np.int64), np.empty(0, np.int64)


def _slice(tokens: Tokens, start: int, stop: int, end_id: int) -> np.ndarray:
    """Tokens of the text with one end token before it, as every document is read after one."""
    text = tokens.slice(max(0, start - 1), min(stop - 1, tokens.n_tokens)).astype(np.int64)
    return np.concatenate([[end_id], text]) if start == 0 else text


def _keys(text: np.ndarray, n: int, levels: list[Level], V: int, end_id: int) -> np.ndarray:
    """The key of the n-gram that begins at each token, where it is one."""
    if len(text) < n:
        return np.empty(0, np.int64)
    windows = len(text) - n + 1
    node, whole = np.zeros(windows, np.int64), np.ones(windows, bool)
    for k, (known, _) in enumerate(levels[: n - 1]):
        token = text[k : k + windows]
        if k > 0:
            whole &= token != end_id
        # An end inside makes a key that never came; where it leads does not matter.
        node = np.searchsorted(known, node * V + token).clip(max=len(known) - 1)
    return (node * V + text[n - 1 :])[whole]


def _merged(one: Level, other: Level) -> Level:
    keys, where = np.unique(np.concatenate([one[0], other[0]]), return_inverse=True)
    counts = np.bincount(where, np.concatenate([one[1], other[1]]), len(keys))
    return keys, counts.astype(np.int64)


def _smooth(levels: list[Level], V: int, end_id: int) -> Iterator[np.ndarray]:
    """Counts as Kneser and Ney want them: of all but the longest n-grams, after how many
    different tokens they came."""
    suffix = np.zeros(len(levels[0][0]), np.int64)  # of each n-gram: where it is without its first
    first = levels[0][0]  # the token it begins with
    for n, (keys, plain) in enumerate(levels, 1):
        if n == len(levels):
            yield plain
            return
        longer, known = levels[n][0], levels[n - 1][0]
        suffix = np.searchsorted(known, suffix[longer // V] * V + longer % V)
        after = np.bincount(suffix, minlength=len(keys))
        yield np.where((first == end_id) & (n > 1), plain, after)
        first = first[longer // V]
