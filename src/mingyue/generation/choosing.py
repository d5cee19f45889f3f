"""From the scores of a whole batch to one token for each stream.

Streams that sample in the same way are handled together; each has a guide, a chance and seen
tokens of its own.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from mingyue.generation.sampling import NEVER, draw
from mingyue.generation.stream import Stream, Way


class Likelihood(NamedTuple):
    """How likely the model itself held a token, and what it held likely instead."""

    logprob: float  # ln p, without temperature, filters or guides
    others: tuple[tuple[int, float], ...]  # the likeliest ids with their ln p, best first


def choose(logits: Tensor, streams: Sequence[Stream]) -> Tensor:
    """A token for each stream: scores [B, V] → ids [B].

    Raises:
        ValueError: a guide forbids every token.
    """
    guided = _guided(logits, streams)
    chance = torch.tensor([next(stream.chances) for stream in streams], device=logits.device)
    chosen = torch.zeros(len(streams), dtype=torch.long, device=logits.device)
    for (sampling, shift), rows in _alike(streams):
        among = streams[rows] if isinstance(rows, slice) else [streams[i] for i in rows]
        seen = [stream.seen for stream in among if stream.seen is not None]
        scores = sampling.apply(guided[rows], torch.stack(seen) if seen else None, shift)
        if guided is not logits and (scores.amax(dim=-1) == NEVER).any():
            raise ValueError("a guide forbids every token")
        chosen[rows] = scores.argmax(dim=-1) if sampling.greedy else draw(scores, chance[rows])
    return chosen


def _guided(logits: Tensor, streams: Sequence[Stream]) -> Tensor:
    """With what the guides add to the scores and what they forbid."""
    shifts = [stream.guide.shift() if stream.guide else None for stream in streams]
    if all(shift is None for shift in shifts):
        return logits
    nothing = torch.zeros_like(logits[0])
    return logits + torch.stack([nothing if s is None else s.to(nothing) for s in shifts])


def _alike(streams: Sequence[Stream]) -> Iterable[tuple[Way, list[int] | slice]]:
    """The rows of streams that sample in the same way, together."""
    if all(stream.way is streams[0].way for stream in streams):
        return [(streams[0].way, slice(None))]  # no copy for the usual case
    groups: dict[int, tuple[Way, list[int]]] = {}
    for i, stream in enumerate(streams):
        groups.setdefault(id(stream.way), (stream.way, []))[1].append(i)
    return groups.values()


def likelihoods(logits: Tensor, chosen: Tensor, n: int) -> list[Likelihood]:
    """Of the token chosen in each row, with the ``n`` likeliest beside it; fewer where fewer are
    possible."""
    logs = logits.float().log_softmax(dim=-1)  # [B, V]
    own = logs.gather(1, chosen[:, None])[:, 0].tolist()
    best = logs.topk(min(n, logs.shape[1]), dim=-1)
    others = zip(best.indices.tolist(), best.values.tolist(), strict=True)
    return [
        Likelihood(logprob, tuple((i, p) for i, p in zip(ids, values, strict=True) if p > NEVER))
        for logprob, (ids, values) in zip(own, others, strict=True)
    ]
