"""One text on its way: a stream.

Many are written side by side, but each goes its own way. It has its own way of sampling, draws
from random numbers of its own, may have a guide that holds it to a form, and ends at its own time.
So it is the same text whoever else is in the batch.
"""

import hashlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from mingyue.generation.sampling import Sampling

_CHANCES_AT_ONCE = 256


class Guide(Protocol):
    """What holds one stream to something: asked before each token, told of it afterwards."""

    @property
    def done(self) -> bool:
        """Whether the text is complete."""
        ...

    def shift(self) -> Tensor | None:
        """What is added to the scores of the next token, [V]; −∞ forbids. It must leave some token
        that may be written."""
        ...

    def took(self, id: int) -> None:
        """This token was chosen."""
        ...


class Way(NamedTuple):
    """How a stream samples, and what that adds to the scores each time (bias and forbidden ids)."""

    sampling: Sampling
    shift: Tensor | None  # [1, V]


@dataclass(eq=False)  # a stream is itself alone, however alike another is
class Stream:
    """One text while it is in the batch."""

    number: int
    way: Way
    chances: Iterator[float]
    guide: Guide | None
    seen: Tensor | None  # [V] bool, for the repetition penalty
    length: int  # tokens that it sees, the latest included
    latest: deque[int]  # of them those that it goes on with once the context is full
    over: bool = False  # it has ended


def stream_seed(seed: int, stream: int) -> int:
    """The seed of one of several streams; that of the first is ``seed`` itself."""
    if stream == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {stream}".encode()).digest()[:4], "big")


def chances(seed: int) -> Iterator[float]:
    """Numbers in [0, 1), the same ones for the same seed, without end."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.rand(_CHANCES_AT_ONCE, generator=generator).tolist()
