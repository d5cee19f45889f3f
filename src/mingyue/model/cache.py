"""Keys and values kept, so that writing does not recompute the past (KV cache).

When one token is added, the keys and values of all earlier ones stay as they were: the causal
mask forbids them to see the newcomer. So they are computed once and kept, and each new token
costs one row instead of a whole triangle.
"""

import math
from collections.abc import Sequence
from typing import Protocol, Self

import torch
from torch import Tensor

from mingyue.model.config import ModelConfig


class Cache(Protocol):
    """What any model keeps of the tokens it has read, for a batch of sequences."""

    length: int  # tokens read so far

    def pick(self, rows: Sequence[int], capacity: int) -> Self:
        """A copy with these rows of the batch, and another capacity."""
        ...

    def joined(self, other: Self, capacity: int) -> Self:
        """The rows of both in one batch, though they may have read unequal numbers of tokens."""
        ...

    def to(self, dtype: torch.dtype) -> Self:
        """This cache itself, its numbers in another type from now on."""
        ...


class LayerCache:
    """Keys and values of one layer: its share of the memory that ``KVCache`` holds."""

    def __init__(self, both: Tensor):
        self.length = 0
        self.hold(both)

    def hold(self, both: Tensor) -> None:
        """Keep them in this memory from now on: [B, 2·Hkv, capacity, D], keys first."""
        self._both = both
        self.keys, self.values = both.chunk(2, dim=1)  # [B, Hkv, capacity, D] each, the same memory

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keep k and v [B, Hkv, T, D]; return all kept so far, [B, Hkv, S, D]."""
        start = self.extend(k.shape[2])
        self.keys[:, :, start : self.length] = k
        self.values[:, :, start : self.length] = v
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]

    def append_one(self, kv: Tensor) -> tuple[Tensor, Tensor]:
        """The same for one token, key and value of which lie together: kv [B, 2·Hkv, D].

        One copy instead of two, and ``narrow``, which is quicker than an index with colons: this
        runs for every token of every layer.
        """
        self._both.select(2, self.extend(1)).copy_(kv)
        return self.keys.narrow(2, 0, self.length), self.values.narrow(2, 0, self.length)

    def extend(self, n: int) -> int:
        """Count n tokens more; where the first of them goes."""
        start, self.length = self.length, self.length + n
        if self.length > self._both.shape[2]:
            raise IndexError(f"cache of {self._both.shape[2]} tokens is full")
        return start


class KVCache:
    """One ``LayerCache`` a layer. ``length`` is the number of tokens seen.

    All layers share one piece of memory, ``both`` [layers, B, 2·Hkv, capacity, D], so that a
    compiled step finds them in one place.

    Rows that have read unequal numbers of tokens lie flush right: the newest tokens of all are
    in one slot, and ``first`` [B] is the slot where each row begins. What lies before it must
    not be seen (``veil``). None: all begin in slot 0.
    """

    def __init__(
        self,
        config: ModelConfig,
        batch: int,
        capacity: int,
        device: torch.device,
        dtype: torch.dtype,
    ):
        shape = (config.n_layer, batch, 2 * config.kv_heads, capacity, config.head_width)
        self.capacity, self._config = capacity, config
        self.both = torch.zeros(shape, device=device, dtype=dtype)
        self.layers = [LayerCache(both) for both in self.both]
        self.length = 0
        self.first: Tensor | None = None

    def pick(self, rows: Sequence[int], capacity: int) -> "KVCache":
        """A copy with these rows of the batch, and another capacity."""
        return self._gather([(self, list(rows))], capacity)

    def joined(self, other: "KVCache", capacity: int) -> "KVCache":
        """The rows of both in one batch, flush right."""
        parts = [(cache, list(range(cache.both.shape[1]))) for cache in (self, other)]
        return self._gather(parts, capacity)

    def _gather(self, parts: "list[tuple[KVCache, list[int]]]", capacity: int) -> "KVCache":
        """These rows of these caches; slots that no row uses any more are dropped."""
        own = [cache.lengths(rows) for cache, rows in parts]  # tokens that each row has read
        lengths = torch.cat(own)
        longest = int(lengths.max())
        new = KVCache(self._config, len(lengths), capacity, self.both.device, self.both.dtype)
        row = 0
        for (cache, rows), tokens in zip(parts, own, strict=True):
            n = int(tokens.max())
            kept = cache.both[:, rows, :, cache.length - n : cache.length]
            new.both[:, row : row + len(rows), :, longest - n : longest] = kept
            row += len(rows)
        new.truncate(longest)
        if int(lengths.min()) < longest:
            new.first = longest - lengths
        return new

    def lengths(self, rows: list[int]) -> Tensor:
        """How many tokens these rows have read, int64 [rows]."""
        if self.first is None:
            return torch.full((len(rows),), self.length, device=self.both.device)
        return self.length - self.first[rows]

    def places(self, T: int) -> Tensor | None:
        """The positions [B, T] of the next T tokens of each row; None: all rows are equal."""
        if self.first is None:
            return None
        slots = torch.arange(self.length, self.length + T, device=self.first.device)
        return slots - self.first[:, None]

    def veil(self, T: int) -> Tensor | None:
        """What is added to the scores of S slots, T new ones among them: −∞ before a row begins,
        [B, 1, 1, S]; None: there is nothing to hide."""
        if self.first is None:
            return None
        slots = torch.arange(self.length + T, device=self.first.device)
        before = slots < self.first[:, None]  # [B, S]
        return torch.zeros_like(before, dtype=torch.float).masked_fill_(before, -math.inf)[
            :, None, None
        ]

    def to(self, dtype: torch.dtype) -> "KVCache":
        """This cache itself, its keys and values in another type from now on."""
        if dtype != self.both.dtype:
            self.both = self.both.to(dtype)
            for layer, both in zip(self.layers, self.both, strict=True):
                layer.hold(both)
        return self

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = length
        for layer in self.layers:
            layer.length = length
