"""Keys and values kept, so that writing does not recompute the past (KV cache).

When one token is added, the keys and values of all earlier ones stay as they were: the causal
mask forbids them to see the newcomer. So they are computed once and kept, and each new token
costs one row instead of a whole triangle.
"""

import torch
from torch import Tensor

from mingyue.model.config import ModelConfig


class LayerCache:
    """Keys and values of one layer, room for ``capacity`` tokens taken at once."""

    def __init__(self, shape: tuple[int, int, int, int], device: torch.device, dtype: torch.dtype):
        self.keys = torch.zeros(shape, device=device, dtype=dtype)  # [B, Hkv, capacity, D]
        self.values = torch.zeros(shape, device=device, dtype=dtype)
        self.length = 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Keep k and v [B, Hkv, T, D]; return all kept so far, [B, Hkv, S, D]."""
        start, self.length = self.length, self.length + k.shape[2]
        if self.length > self.keys.shape[2]:
            raise IndexError(f"cache of {self.keys.shape[2]} tokens is full")
        self.keys[:, :, start : self.length] = k
        self.values[:, :, start : self.length] = v
        return self.keys[:, :, : self.length], self.values[:, :, : self.length]


class KVCache:
    """One ``LayerCache`` a layer. ``length`` is the number of tokens seen."""

    def __init__(
        self,
        config: ModelConfig,
        batch: int,
        capacity: int,
        device: torch.device,
        dtype: torch.dtype,
    ):
        shape = (batch, config.kv_heads, capacity, config.head_width)
        self.capacity = capacity
        self.layers = [LayerCache(shape, device, dtype) for _ in range(config.n_layer)]
        self.length = 0

    def truncate(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        self.length = length
        for layer in self.layers:
            layer.length = length
