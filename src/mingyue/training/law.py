"""What loss to expect of a model before it is trained: what the dial reckons with.

A model with N weights in its matrix products that has read D tokens comes to about (Hoffmann et
al. 2022, eq. 2)

    loss = E + A·N^-α + K·D^-β

E does not matter for choosing. What a text is worth depends on three more things:

- A batch of b tokens is one step. Beyond a certain size, more of them in one step teach less
  than the same number in two (McCandlish et al. 2018, eq. 2.11): D counts as D / (1 + b / b*).
  b* grows with the length of the training.
- Read again, a text teaches less each time (Muennighoff et al. 2023, eq. 5): the R-th repetition
  of U tokens counts as U·e^(-R/R*).
- Read too often, it is learnt by heart, and the loss on other text rises. How often is too often
  depends on how large the model is beside the text.

All numbers but R* were fitted to the runs in ``docs/sweep.jsonl`` (``benchmarks/sweep_fit.py``
fits and draws them; ``docs/en/dial.md`` tells how well they hold). R* is Muennighoff's.
"""

import math

ALPHA, BETA = 0.427, 0.380
FEW_TYPES = (68, 23.9, 37.7)
MANY_TYPES = (9045, 217.6, 127.8)
"""Vocabulary, A and K of the two texts of the sweep: Shakespeare's letters, Tang characters."""
BATCH = 1.96
"""b* = BATCH · √D."""
REPEATS = 15.0
"""R*: so many repetitions teach much."""
BY_HEART = 15.0
"""A model may read BY_HEART · √(U / N) times, and thrice in any case."""
OFTEN = 4.0
"""Reading a text more often than this is worth telling."""


def expected(weights: float, tokens: float, batch: float, unique: float, vocab_size: int) -> float:
    """Nats per token above the least that is possible, after ``tokens`` of a text that has
    ``unique``, ``batch`` in each step."""
    A, K = (_between(vocab_size, k) for k in (1, 2))
    return A * weights**-ALPHA + K * worth(tokens, batch, unique) ** -BETA


def worth(tokens: float, batch: float, unique: float) -> float:
    """How many tokens read once and one by one would teach as much."""
    repeated = max(0.0, tokens / unique - 1)
    fresh = min(tokens, unique) + unique * REPEATS * (1 - math.exp(-repeated / REPEATS))
    return fresh / (1 + batch / (BATCH * math.sqrt(tokens)))


def most_epochs(weights: float, unique: float) -> float:
    """How often a model may read a text before it does better on this one only."""
    return max(3.0, BY_HEART * math.sqrt(unique / weights))


def block_size(length: float, tokens: float) -> int:
    """Tokens in a row: a power of two that holds most documents, of ``length`` or less, and
    shorter while few tokens can be read."""
    enough = 64 if tokens < 2e6 else 128 if tokens < 2e7 else 256 if tokens < 4e8 else 512
    return max(16, min(enough, 2 ** math.ceil(math.log2(max(2.0, length)))))


def rate(batch: int) -> float:
    """All step sizes, as a multiple of those for steps of 1,024 tokens."""
    return min(2.0, max(0.35, math.sqrt(batch / 1024)))


def _between(vocab_size: int, k: int) -> float:
    """A (k = 1) or K (k = 2), between the two texts by the logarithm of the vocabulary."""
    low, high = math.log(FEW_TYPES[0]), math.log(MANY_TYPES[0])
    share = min(1.0, max(0.0, (math.log(max(1, vocab_size)) - low) / (high - low)))
    return math.exp((1 - share) * math.log(FEW_TYPES[k]) + share * math.log(MANY_TYPES[k]))
