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

    @classmethod
    def gather(cls, parts: Sequence[tuple[Self, Sequence[int]]]) -> Self:
        """A new cache of these rows of these caches, though they may have read unequal numbers of
        tokens."""
        ...

    def with_room(self) -> Self:
        """This cache, or a copy of it, with room for one token more in each row."""
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

    @classmethod
    def gather(cls, parts: "Sequence[tuple[KVCache, Sequence[int]]]") -> "KVCache":
        """A new cache of these rows of these caches, flush right."""
        return cls._gathered(parts, max(cache.capacity for cache, _ in parts))

    def with_room(self) -> "KVCache":
        """This cache, or a copy of it, with room for one token more in each row.

        The copy has no slots that no row uses any more, and room for half as many tokens again,
        so that copies become rare.
        """
        if self.length < self.capacity:
            return self
        rows = range(self.both.shape[1])
        longest = max(self.lengths(rows))
        capacity = longest + longest // 2 + 1
        if self.first is None:  # then the window moves once it is full
            capacity = min(capacity, max(self._config.block_size, longest + 1))
        return self._gathered([(self, rows)], capacity)

    @classmethod
    def _gathered(
        cls, parts: "Sequence[tuple[KVCache, Sequence[int]]]", capacity: int
    ) -> "KVCache":
        like = parts[0][0]
        lengths = [n for cache, rows in parts for n in cache.lengths(rows)]
        longest, device, dtype = max(lengths), like.both.device, like.both.dtype
        new = cls(like._config, len(lengths), capacity, device, dtype)
        sources = ((cache, row) for cache, rows in parts for row in rows)
        for to, ((cache, row), n) in enumerate(zip(sources, lengths, strict=True)):
            kept = cache.both[:, row, :, cache.length - n : cache.length]
            new.both[:, to, :, longest - n : longest] = kept
        new.truncate(longest)
        if min(lengths) < longest:
            new.first = longest - torch.tensor(lengths, device=device)
        return new

    def replace(self, rows: Sequence[int], other: "KVCache") -> None:
        """These rows forget what they have read; they have read what the rows of ``other`` have,
        all of which are equally long."""
        if self.first is None:
            self.first = torch.zeros(self.both.shape[1], dtype=torch.long, device=self.both.device)
        start = self.length - other.length
        self.both[:, rows, :, start : self.length] = other.both[:, :, :, : other.length]
        self.first[rows] = start

    def lengths(self, rows: Sequence[int]) -> list[int]:
        """How many tokens these rows have read."""
        if self.first is None:
            return [self.length] * len(rows)
        return (self.length - self.first[list(rows)]).tolist()

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
