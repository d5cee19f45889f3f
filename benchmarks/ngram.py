"""Counting instead of learning: the losses that a model has to beat.

The unigram model knows how frequent a character is, the bigram model also which one came before.
Counts are smoothed with the shorter context (interpolated Kneser–Ney, Chen & Goodman 1999, §2.8).
Tokens are scored as ``evaluation.loss`` scores them: each once, the end token included, the
first of a document from an end token.
"""

import numpy as np

from mingyue.data import Tokens

DISCOUNT = 0.75


def unigram_nats(train: Tokens, val: Tokens, vocab_size: int) -> float:
    """Mean nats per held-out token under add-one frequencies."""
    counts = np.bincount(_all(train), minlength=vocab_size) + 1.0
    return float(-np.log(counts / counts.sum())[_all(val)].mean())


def bigram_nats(train: Tokens, val: Tokens, vocab_size: int) -> float:
    """Mean nats per held-out token under an interpolated Kneser–Ney bigram model."""
    pairs, counts = np.unique(_pairs(train, vocab_size), return_counts=True)
    before, after = pairs // vocab_size, pairs % vocab_size
    total = np.bincount(before, counts, minlength=vocab_size)  # how often a context occurs
    kinds = np.bincount(before, minlength=vocab_size)  # how many different tokens follow it
    # The shorter context: in how many different company a token is found.
    company = np.bincount(after, minlength=vocab_size) + 1.0
    base = company / company.sum()

    wanted = _pairs(val, vocab_size)
    place = np.searchsorted(pairs, wanted).clip(max=len(pairs) - 1)
    found = np.where(pairs[place] == wanted, counts[place], 0)
    context, token = wanted // vocab_size, wanted % vocab_size
    seen = np.maximum(total[context], 1)
    left = np.where(total[context] > 0, DISCOUNT * kinds[context] / seen, 1.0)
    p = np.maximum(found - DISCOUNT, 0) / seen + left * base[token]
    return float(-np.log(p).mean())


def _all(tokens: Tokens) -> np.ndarray:
    return tokens.slice(0, tokens.n_tokens).astype(np.int64)


def _pairs(tokens: Tokens, vocab_size: int) -> np.ndarray:
    """Each token with the one before it, as one number; the last end token comes before all."""
    ids = _all(tokens)
    return np.roll(ids, 1) * vocab_size + ids
