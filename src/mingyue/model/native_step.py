"""The step of ``step``, compiled as a whole.

For few streams a step multiplies matrices with single vectors. How fast the weights can be read
from memory then sets the speed, unless something stands between: in ``Step`` each of a hundred
small operations costs some microseconds before and after its work. Here all of them are one
function of machine code (``native_kernels``), and this file hands it the weights.

It needs the package numba. Tests hold it to ``GPT.forward``.
"""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.block import Block
from mingyue.model.cache import Cache, KVCache
from mingyue.model.gpt import GPT
from mingyue.model.native_kernels import BENDS, Array, Matrix, Room, Shape, Weights, share
from mingyue.model.packed import Precision, rounded
from mingyue.model.position import LearnedPosition, RotaryPosition, SinusoidalPosition
from mingyue.model.step import Step, prints

_THREADS = 8  # at most: so many read as fast as memory gives
_SMALL = 3_000_000  # bytes of weights that one thread reads before another has woken up


class NativeStep(Step):
    """``Step``, compiled, for fp32 and int8. In int8 all but the weights stays fp32."""

    def __init__(self, model: GPT, precision: Precision = "fp32"):
        config, self.dtype = model.config, torch.float32
        self._model, self._prints = model, prints(model)
        self._shape = Shape(
            config.post_norm,
            config.n_head,
            config.kv_heads,
            BENDS.index(config.activation),
            config.norm == "layernorm",
            config.qk_norm,
            config.norm_eps,
        )
        self._weights = _weights(model, precision)
        self._room: Room | None = None
        self._counter = np.zeros(2, np.int64)  # arrivals so far; those before this step
        large = config.products * (1 if precision == "int8" else 4) > _SMALL
        self._threads = min(torch.get_num_threads(), _processors(), _THREADS) if large else 1
        self._helpers = ThreadPoolExecutor(max(1, self._threads - 1), "mingyue-step")
        self._lock = Lock()  # for the room and the counter

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Torch's own threads sleep: for a while after some work they look for more in a loop, and
        would take the processors from the threads of the next step."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)

    @torch.inference_mode()
    def __call__(self, ids: Tensor, cache: Cache) -> Tensor:
        assert isinstance(cache, KVCache) and cache.first is None
        model, start = self._model, cache.length
        x = F.embedding(ids, model.embedding.weight)  # [B, C]
        cos = sin = x[0, :0]
        if isinstance(model.position, LearnedPosition | SinusoidalPosition):
            x = x + model.position(start, 1)
        if isinstance(model.position, RotaryPosition):
            turn = model.position(start, 1)
            cos, sin = turn.cos[0], turn.sin[0]  # [R]
        for layer in cache.layers:
            layer.extend(1)
        scores = torch.empty(len(x), model.config.vocab_size)
        views = [tensor.numpy() for tensor in (x, cos, sin, cache.both)]
        with self._lock:
            self._share_out(*views, start, scores.numpy())
        cache.length += 1
        return scores

    def _share_out(self, x: Array, cos: Array, sin: Array, kept: Array, *rest: object) -> None:
        """Run ``share`` in all threads; it ends when all have done their part."""
        room, counter, n = self._room_for(len(x), kept.shape[3]), self._counter, self._threads
        counter[1] = counter[0]
        task = n, counter, self._shape, self._weights, room, x, cos, sin, kept, *rest
        try:
            for t in range(1, n):
                self._helpers.submit(share, t, *task)
            share(0, *task)
        except BaseException:  # such as Ctrl-C: nobody may wait for a thread that never comes
            counter[0] = 2**62
            self._counter, self._room = np.zeros(2, np.int64), None
            raise

    def _room_for(self, B: int, capacity: int) -> Room:
        room, config = self._room, self._model.config
        if room is not None and len(room.z) == B and room.shares.shape[1] >= capacity:
            return room
        H, Hkv, D = config.n_head, config.kv_heads, config.head_width
        wide = (B, H + 2 * Hkv, D), (B, H * D), (B, config.ffn_width), (B, config.d_model)
        own = (self._threads, B, config.d_model), (self._threads, capacity)
        self._room = Room(*(np.empty(shape, np.float32) for shape in (*wide, *own)))
        return self._room


def _processors() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _weights(model: GPT, precision: Precision) -> Weights:
    config = model.config
    blocks = [block for block in model.blocks if isinstance(block, Block)]
    norms = [block.attention.q_norm for block in blocks], [b.attention.k_norm for b in blocks]
    ones = torch.ones(config.head_width)
    scales = [[ones if norm is None else norm.weight for norm in some] for some in norms]
    slopes = model.slopes if config.position == "alibi" else torch.zeros(config.n_head)

    def matrix(parts: Sequence[tuple[Tensor, Tensor | None, nn.Module | None]]) -> Matrix:
        return _matrix([_folded(*part) for part in parts], precision)

    with torch.no_grad():
        return Weights(
            matrix([(b.attention.qkv.weight, b.attention.qkv.bias, b.norm_1) for b in blocks]),
            matrix([(b.attention.out.weight, b.attention.out.bias, None) for b in blocks]),
            matrix([(b.ffn.up.weight, b.ffn.up.bias, b.norm_2) for b in blocks]),
            matrix([(b.ffn.down.weight, b.ffn.down.bias, None) for b in blocks]),
            matrix([(model.unembedding, None, model.norm)]),
            _stack([torch.stack(pair) for pair in zip(*scales, strict=True)], 2),
            slopes.numpy(),
            *_post(blocks if config.post_norm else []),
        )


def _post(blocks: Sequence[Block]) -> tuple[Array, Array]:
    """What the norms after attention and FFN multiply by and add, [L, 2, C] each."""
    pairs = [(block.norm_1_post, block.norm_2_post) for block in blocks]
    scales = [torch.stack([_learned(norm)[0] for norm in pair]) for pair in pairs]
    shifts = [torch.stack([_learned(norm)[1] for norm in pair]) for pair in pairs]
    return _stack(scales, 2), _stack(shifts, 2)


def _learned(norm: nn.Module) -> tuple[Tensor, Tensor]:
    """What a norm multiplies by and adds."""
    assert isinstance(norm.weight, Tensor)
    bias = norm.bias if isinstance(norm, nn.LayerNorm) else None
    return norm.weight, torch.zeros_like(norm.weight) if bias is None else bias


def _folded(weight: Tensor, bias: Tensor | None, norm: nn.Module | None) -> tuple[Tensor, Tensor]:
    """The matrix and its bias, with what the norm before it multiplies by and adds."""
    if bias is None:
        bias = weight.new_zeros(len(weight))
    if norm is None:
        return weight, bias
    scale, shift = _learned(norm)
    return weight * scale, bias + weight @ shift


def _matrix(layers: Sequence[tuple[Tensor, Tensor]], precision: Precision) -> Matrix:
    rows, biases = [weight for weight, _ in layers], [bias for _, bias in layers]
    scales = [torch.ones(len(weight)) for weight in rows]
    if precision == "int8":
        rows, scales = zip(*map(rounded, rows), strict=True) if rows else ([], [])
    return Matrix(_stack(rows, 2, precision == "int8"), _stack(scales, 1), _stack(biases, 1))


def _stack(layers: Sequence[Tensor], dims: int, whole: bool = False) -> Array:
    """[L, …], also where there are no layers."""
    if not layers:
        return np.zeros((0,) * (dims + 1), np.int8 if whole else np.float32)
    return np.stack([layer.numpy() for layer in layers])  # NumPy asks for large pages of memory
