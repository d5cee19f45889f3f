"""Keys and values kept, so that writing does not recompute the past (KV cache).

When one token is added, the keys and values of all earlier ones stay as they were: the causal
mask forbids them to see the newcomer. So they are computed once and kept, and each new token
costs one row instead of a whole triangle.
"""

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

    def pick(self, rows: Sequence[int], capacity: int) -> "KVCache":
        """A copy with these rows of the batch, and another capacity."""
        old = self.both
        new = KVCache(self._config, len(rows), capacity, old.device, old.dtype)
        new.length = self.length
        for layer, before in zip(new.layers, self.layers, strict=True):
            n = before.length
            layer.append(before.keys[rows, :, :n], before.values[rows, :, :n])
        return new

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
