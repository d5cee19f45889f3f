"""Skip-gram learned in seconds: the text is counted once, then all its pairs are learned at once.

Word2Vec (``model.word2vec``) walks through the text and learns a few pairs at a time. Its loss
is a sum over pairs, and it does not matter where a pair stands, only how often it comes:

    loss = − Σ over i, j of n_ij log σ(e_i · o_j) + K n_i p_j log σ(− e_i · o_j)

n_ij is how often j stands near i, near ones counting more; n_i is the sum of a row; p_j is how
often j is drawn as a stranger. So one pass over the text counts n, and then each step sees the
whole text. Only for the frequent tokens, or the square would be too large; rare ones have too
little company for a good vector anyway. As there, frequent tokens are dropped at random: here the
counts are what would be left on average.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.explain.progress import told
from mingyue.language import tr
from mingyue.model.word2vec import FREQUENT

MOST, LEAST, TIMES = 2000, 12, 10
"""So many tokens, the most frequent ones, but not fewer; each comes so many times or more."""
WINDOW, NEGATIVES, WIDTH = 5, 5, 64
"""As Word2Vec's own defaults, but narrower."""
READ, PIECES = 4_000_000, 64
"""Of a longer text so many tokens are counted, in so many pieces at even distances."""
RATE = 0.1


@dataclass(frozen=True, eq=False)
class Company:
    """Who stands near whom, among N tokens; equal only to itself, so that it can be a key."""

    known: np.ndarray  # [N] their ids, the most frequent first
    times: np.ndarray  # [N] how often each comes in what was read
    near: np.ndarray  # [N, N] pairs at most ``WINDOW`` apart, each worth 1 (next) to 1 / WINDOW
    read: int  # tokens read

    def lift(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """How many times as often two tokens stand near each other as they would by chance."""
        rows = self.near.sum(axis=1)  # [N]
        return self.near[i, j] * rows.sum() / (rows[i] * rows[j])


@lru_cache(maxsize=2)
def company(tokens: Tokens, without: frozenset[int]) -> Company:
    """Count the pairs of a text, documents apart; ``without`` are ids that count for nothing.

    Raises:
        UserError: too few tokens come often enough.
    """
    ids, document = _read(tokens)
    times = np.bincount(ids)
    times[[i for i in without if i < len(times)]] = 0
    known = np.argsort(-times, kind="stable")[:MOST]
    known = known[times[known] >= TIMES]
    if len(known) < LEAST:
        raise UserError(
            tr(
                "only {n} tokens come {times} times or more in this text: too little to learn "
                "who stands near whom; name a longer one by --on",
                n=len(known),
                times=TIMES,
            )
        )
    N = len(known)
    own = np.full(len(times), -1)
    own[known] = np.arange(N)
    place = own[ids]  # of each token in the square, -1: in none
    near = np.zeros(N * N)
    for distance in range(1, WINDOW + 1):
        left, right = place[:-distance], place[distance:]
        both = (left >= 0) & (right >= 0) & (document[:-distance] == document[distance:])
        pairs = np.bincount(left[both] * N + right[both], minlength=N * N)
        near += pairs * (1 - (distance - 1) / WINDOW)
    near = near.reshape(N, N)
    return Company(known, times[known], near + near.T, len(ids))


def _read(tokens: Tokens) -> tuple[np.ndarray, np.ndarray]:
    """Ids, and for each the document that it is of, [n] each."""
    whole = tokens.n_tokens <= READ
    begins = [0] if whole else np.linspace(0, tokens.n_tokens, PIECES, endpoint=False).astype(int)
    size = tokens.n_tokens if whole else READ // PIECES
    at = np.concatenate([np.arange(begin, begin + size) for begin in begins])
    return tokens.take(at), np.searchsorted(tokens.offsets, at, side="right")


@dataclass(frozen=True)
class Vectors:
    """What was learned: e [N, C], and the mean loss of a pair before and after."""

    e: Tensor
    before: float
    after: float


@lru_cache(maxsize=2)
def skip_gram(found: Company, steps: int, seed: int) -> Vectors:
    """Learn vectors from the counts; the same seed gives the same vectors."""
    share = found.times / found.read
    kept = np.minimum(1, np.sqrt(FREQUENT / share))  # of frequent tokens only a part counts
    n = torch.from_numpy(found.near * kept[:, None] * kept).float()  # [N, N]
    n /= n.sum()
    strangers = torch.from_numpy(share**0.75).float()
    strangers = NEGATIVES * n.sum(dim=1, keepdim=True) * (strangers / strangers.sum())  # [N, N]
    generator = torch.Generator().manual_seed(seed)
    e, o = ((torch.rand(len(n), WIDTH, generator=generator) - 0.5) / WIDTH**0.5 for _ in "eo")
    optimizer = torch.optim.Adam([e, o], betas=(0.9, 0.99), eps=1e-12)
    before = loss(e, o, n, strangers)
    for step in told(range(steps), tr("learning skip-gram's vectors")):
        e.grad, o.grad = slopes(e, o, n, strangers)
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, 2 * (steps - step) / steps)
        optimizer.step()
    return Vectors(e, before, loss(e, o, n, strangers))


def loss(e: Tensor, o: Tensor, n: Tensor, strangers: Tensor) -> float:
    """Of a pair, the mean over all: e, o [N, C]; n, strangers [N, N]."""
    scores = e @ o.T  # [N, N]
    return float((n * F.softplus(-scores) + strangers * F.softplus(scores)).sum())


def slopes(e: Tensor, o: Tensor, n: Tensor, strangers: Tensor) -> tuple[Tensor, Tensor]:
    """The gradient of ``loss`` by e and by o, [N, C] each.

    A score wants to rise where the pair is more frequent than the vectors say, else to fall.
    """
    wrong = torch.sigmoid(e @ o.T).mul_(n + strangers).sub_(n)  # [N, N]
    return wrong @ o, wrong.T @ e
