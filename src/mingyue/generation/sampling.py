"""From scores to one token.

A model gives every token of the vocabulary a score (logit). Taking the best one each time
(greedy) is dull and soon goes in circles; drawing from softmax(scores) is lively, but the many
unlikely tokens together are likely enough to spoil a line now and then. The functions here
change scores between the two. Each takes logits [B, V] and returns new ones, and each does what
the processor of the same name does in transformers, which tests hold it to.

``Sampling.apply`` uses them in this order, which is also that of transformers:
logit bias → repetition penalty → forbidden ids → temperature → top-k → top-p → min-p → typical.
The bias and the forbidden ids are added at once, since the penalty leaves −∞ as it is.
"""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.settings import Settings

NEVER = float("-inf")

Share = Annotated[float, Field(gt=0, le=1)]


class Sampling(Settings):
    """How to choose the next token; the defaults draw from the model's own distribution.

    Raises (from ``checked``):
        UserError: a value outside its range, naming it.
    """

    temperature: float = Field(default=1.0, ge=0, le=100)
    """Scores are divided by it; 0 (or below 0.00001, where division overflows) is greedy, and all
    that follows then has no effect."""
    top_k: int = Field(default=0, ge=0)
    """Only the k best; 0 is all."""
    top_p: Share = 1.0
    """Only the best that together have this probability."""
    min_p: float = Field(default=0.0, ge=0, le=1)
    """Only those with at least this share of the best one's probability."""
    typical_p: Share = 1.0
    """Only the most typical that together have this probability."""
    repetition_penalty: float = Field(default=1.0, gt=0, le=100)
    """Above 1, tokens that already occur become less likely."""
    logit_bias: dict[int, float] = Field(default_factory=dict)
    """Added to the scores of tokens, by id."""

    @property
    def greedy(self) -> bool:
        """Whether nothing is drawn."""
        return self.temperature < 1e-5

    def shift(self, never: Tensor, vocab_size: int) -> Tensor | None:
        """What is added to the scores each time, [1, V], made once: the logit bias, and −∞ for
        the ids in ``never``, which must not be chosen."""
        if not self.logit_bias and not len(never):
            return None
        zeros = torch.zeros(1, vocab_size, device=never.device)
        return forbid(add_bias(zeros, self.logit_bias), never)

    def apply(self, logits: Tensor, seen: Tensor | None, shift: Tensor | None) -> Tensor:
        """All steps in order: logits [B, V] → [B, V].

        ``seen`` [B, V] is true for tokens that occur already (needed for the repetition penalty).
        """
        if shift is not None:
            logits = logits + shift
        if self.repetition_penalty != 1 and seen is not None:
            logits = penalise_repetition(logits, seen, self.repetition_penalty)
        if self.greedy:
            return logits
        if self.temperature != 1:
            logits = heat(logits, self.temperature)
        if self.top_k:
            logits = keep_top_k(logits, self.top_k)
        if self.top_p < 1:
            logits = keep_top_p(logits, self.top_p)
        if self.min_p > 0:
            logits = keep_min_p(logits, self.min_p)
        if self.typical_p < 1:
            logits = keep_typical(logits, self.typical_p)
        return logits


def add_bias(logits: Tensor, bias: dict[int, float]) -> Tensor:
    """Add to the scores of single tokens, {id: bias}."""
    ids = torch.tensor(list(bias), dtype=torch.long, device=logits.device)
    amounts = torch.tensor(list(bias.values()), dtype=logits.dtype, device=logits.device)
    return logits.index_add(1, ids, amounts.expand(logits.shape[0], -1))


def penalise_repetition(logits: Tensor, seen: Tensor, penalty: float) -> Tensor:
    """Divide positive scores of tokens in ``seen`` (bool [B, V]) by the penalty and multiply
    negative ones, so that either way they fall (Keskar et al. 2019, CTRL, §4.1)."""
    penalised = torch.where(logits < 0, logits * penalty, logits / penalty)
    return torch.where(seen, penalised, logits)


def forbid(logits: Tensor, ids: Tensor | Sequence[int]) -> Tensor:
    """Probability 0 for ``ids``."""
    ids = torch.as_tensor(ids, dtype=torch.long, device=logits.device)
    return logits.index_fill(1, ids, NEVER)


def heat(logits: Tensor, temperature: float) -> Tensor:
    """Divide by the temperature: below 1 the likely become likelier, above 1 all more equal.

    Small temperatures would overflow; there the best score is moved to 0 first, which changes no
    probability.
    """
    if temperature > 0.01:
        return logits / temperature
    return (logits - logits.amax(dim=-1, keepdim=True)).div_(temperature)


def keep_top_k(logits: Tensor, k: int) -> Tensor:
    """Only the k best, and those that tie with the last of them (Fan et al. 2018)."""
    k = min(k, logits.shape[-1])
    if logits.device.type == "cpu":
        place = logits.shape[-1] - k
        least = torch.from_numpy(np.partition(logits.numpy(), place)[:, place])[:, None]  # [B, 1]
    else:
        least = logits.topk(k).values[:, -1:]
    return logits.masked_fill(logits < least, NEVER)


def keep_top_p(logits: Tensor, p: float) -> Tensor:
    """Nucleus: only the fewest best whose probabilities sum to at least p (Holtzman 2020).

    Summed from the unlikely end, where small numbers are not lost next to large ones.
    """
    kept = _top_p_by_value(logits, p) if logits.device.type == "cpu" else None
    if kept is not None:
        return kept
    ascending, order = logits.sort(dim=-1)
    out = _outside(ascending, p)
    return logits.masked_fill(torch.zeros_like(out).scatter(1, order, out), NEVER)


def _top_p_by_value(logits: Tensor, p: float) -> Tensor | None:
    """The same where it does not matter in which order equal scores come: then values alone need
    to be sorted, which NumPy does on a CPU in a fraction of the time."""
    ascending = torch.from_numpy(np.sort(logits.numpy()))
    n_out = _outside(ascending, p).sum(dim=-1, keepdim=True)  # [B, 1]
    least = ascending.gather(1, n_out)
    if (torch.searchsorted(ascending, least) != n_out).any():  # an equal one is outside
        return None
    return logits.masked_fill(logits < least, NEVER)


def _outside(ascending: Tensor, p: float) -> Tensor:
    """Which of the sorted scores [B, V] are not in the nucleus; the best one always is."""
    out = ascending.softmax(dim=-1).cumsum_(dim=-1) <= 1 - p
    out[:, -1] = False
    return out


def keep_min_p(logits: Tensor, share: float) -> Tensor:
    """Only those at least ``share`` times as likely as the best one (Nguyen et al. 2024)."""
    probabilities = logits.softmax(dim=-1)
    least = share * probabilities.amax(dim=-1, keepdim=True)  # [B, 1]
    return logits.masked_fill(probabilities < least, NEVER)


def keep_typical(logits: Tensor, p: float) -> Tensor:
    """Only the tokens whose surprise, −log probability, is closest to the expected surprise
    (the entropy), the fewest that sum to p (Meister et al. 2023)."""
    logs = logits.log_softmax(dim=-1)
    entropy = -(logs * logs.exp()).nansum(dim=-1, keepdim=True)  # [B, 1]
    oddness, order = (-logs - entropy).abs().sort(dim=-1)  # [B, V]
    mass = logits.gather(1, order).softmax(dim=-1).cumsum(dim=-1)
    last = (mass < p).sum(dim=-1, keepdim=True).clamp(max=logits.shape[-1] - 1)  # [B, 1]
    out = oddness > oddness.gather(1, last)
    out[:, 0] = False
    return logits.masked_fill(torch.zeros_like(out).scatter(1, order, out), NEVER)


def draw(logits: Tensor, chance: Tensor) -> Tensor:
    """One id a row: logits [B, V] and a number in [0, 1) for each row [B] → ids [B].

    The probabilities are laid end to end on a line, and ``chance`` points somewhere on it. So
    what a row draws depends on its own scores and its own number, not on its neighbours.
    """
    line = logits.softmax(dim=-1).cumsum_(dim=-1)  # [B, V]
    # A chance is below 1 by 2⁻²⁴ at least, so even rounded the point lies before the end.
    point = chance[:, None] * line[:, -1:]  # [B, 1]
    chosen = torch.searchsorted(line, point, right=True)  # [B, 1], the first entry above it
    if logits.device.type == "cpu":
        return chosen[:, 0]
    # Sums made in parallel can rise where the probability is 0; such a token is never taken.
    impossible = logits.gather(1, chosen) == NEVER
    if impossible.any():
        chosen = torch.where(impossible, logits.argmax(dim=-1, keepdim=True), chosen)
    return chosen[:, 0]
