"""What all threads do in a step of writing, compiled by Numba to machine code.

``share`` is a whole step, from the embedding to the scores, and every thread runs it. Each takes
its part of the rows of a matrix, or of the heads, and where it needs what the others have
computed it waits for them (``_meet``). Such a wait is a loop that looks at a counter: that takes
less than a microsecond, and to sleep and be woken takes fifty.

A row of the batch never depends on the other rows, to the last bit: a text is the same whoever
else is written.
"""

import math
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np
import platformdirs
from numba.core import config, types
from numba.extending import intrinsic

Array = np.ndarray
numba_config: Any = config


def _folder() -> str:
    """Where machine code is kept for the next time; "" if nowhere."""
    root = os.environ.get("MINGYUE_CACHE") or platformdirs.user_cache_dir("mingyue")
    folder = Path(root) / "compiled"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return str(folder) if os.access(folder, os.W_OK) else ""


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile at the first call. Sums may be taken in any order, so several terms at once, and
    unlike in full "fastmath" numbers that are none stay so."""
    inexact, folder = {"reassoc", "contract", "nsz"}, _folder()
    before = numba_config.CACHE_DIR
    numba_config.CACHE_DIR = folder  # looked at now, not when it compiles
    try:
        settings = {"nogil": True, "error_model": "numpy", "fastmath": inexact}
        return numba.njit(cache=bool(folder), **settings)(function)
    finally:
        numba_config.CACHE_DIR = before


class Matrix(NamedTuple):
    """The same matrix of all layers: y = rows · x · scale + bias."""

    rows: Array  # [L, out, in] fp32 or int8
    scale: Array  # [L, out]
    bias: Array  # [L, out]


class Weights(NamedTuple):
    """All that the model has learned, norms multiplied into the matrices that follow them; those
    that no matrix follows stand by themselves."""

    qkv: Matrix
    out: Matrix
    up: Matrix
    down: Matrix
    head: Matrix  # L = 1
    qk_scale: Array  # [L, 2, D], of queries and of keys
    slopes: Array  # [H], ALiBi; else 0
    post_scale: Array  # [L, 2, C], of the norms after attention and FFN; L = 0 where there are none
    post_shift: Array


class Shape(NamedTuple):
    """What the numbers in ``Weights`` do not tell."""

    post_norm: bool

    n_head: int
    kv_heads: int
    bend: int  # of BENDS
    centred: bool  # LayerNorm
    qk_norm: bool
    eps: float


class Room(NamedTuple):
    """What threads hand to each other; all of it [B, width], fp32."""

    heads: Array  # queries, keys and values, [B, H + 2·Hkv, D]
    z: Array  # what attention gathered
    hidden: Array  # after the bend
    found: Array  # [B, C], what is to be normed before the stream takes it
    normed: Array  # [threads, B, C], each thread its own
    shares: Array  # [threads, S], attention's, each thread its own


BENDS = ["swiglu", "relu2", "gelu_tanh", "gelu"]
"""The bends of the feed-forward layer, by their number in ``Shape``."""


@intrinsic
def _arrive(typing: Any, counter: Any) -> Any:
    """Add 1 to counter[0], however many threads do so at once."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        one = context.get_constant(types.int64, 1)
        return builder.atomic_rmw("add", place, one, "seq_cst")

    return types.int64(counter), code


@intrinsic
def _arrived(typing: Any, counter: Any) -> Any:
    """What counter[0] is now, not what it was when last looked at."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return builder.load_atomic(place, "seq_cst", 8)

    return types.int64(counter), code


if os.name == "posix":
    _give_way = types.ExternalFunction("sched_yield", types.int32())
else:

    @_compiled
    def _give_way():
        return 0


@_compiled
def _meet(counter, goal):
    """Wait until all threads are here: the counter is then at ``goal``. Where there are more
    threads than processors, the others have to be let through."""
    _arrive(counter)  # pyright: ignore[reportCallIssue]: Numba passes the first argument
    looks = 0
    while _arrived(counter) < goal:
        looks += 1
        if looks > 2000:
            _give_way()


@_compiled
def share(t, n, counter, shape, weights, room, x, cos, sin, cache, start, scores):
    """What thread t of n does in a step. x [B, C] becomes the residual stream, and ``scores``
    [B, V] the result; ``cache`` is [L, B, 2·Hkv, capacity, D], of which ``start`` are filled."""
    B, L = x.shape[0], weights.qkv.rows.shape[0]
    flat = room.heads.reshape(B, -1)
    normed, goal = room.normed[t], counter[1]
    onto = room.found if shape.post_norm else x
    for layer in range(L):
        _norm(x, shape, normed)
        _multiply(weights.qkv, layer, normed, flat, False, t, n)
        goal += n
        _meet(counter, goal)
        items = B * shape.kv_heads
        for item in range(items * t // n, items * (t + 1) // n):
            b, kv_head = item // shape.kv_heads, item % shape.kv_heads
            _attend(shape, weights, layer, b, kv_head, room, t, cos, sin, cache[layer, b], start)
        goal += n
        _meet(counter, goal)
        _multiply(weights.out, layer, room.z, onto, not shape.post_norm, t, n)
        goal += n
        _meet(counter, goal)
        if shape.post_norm:
            _take(x, room.found, weights, layer, 0, shape, normed, t, n)
            goal += n
            _meet(counter, goal)
        _norm(x, shape, normed)
        _think(weights.up, layer, normed, shape.bend, room.hidden, t, n)
        goal += n
        _meet(counter, goal)
        _multiply(weights.down, layer, room.hidden, onto, not shape.post_norm, t, n)
        goal += n
        _meet(counter, goal)
        if shape.post_norm:
            _take(x, room.found, weights, layer, 1, shape, normed, t, n)
            goal += n
            _meet(counter, goal)
    _norm(x, shape, normed)
    _multiply(weights.head, 0, normed, scores, False, t, n)
    _meet(counter, goal + n)


@_compiled
def _dot(rows, layer, row, x, b):
    total = np.float32(0)
    for i in range(x.shape[1]):
        total += np.float32(rows[layer, row, i]) * x[b, i]
    return total


@_compiled
def _multiply(matrix, layer, x, y, add, t, n):
    """Thread t's rows of y = W · x [B, in] → [B, out]; added to what is there if asked."""
    rows = matrix.rows.shape[1]
    for row in range(rows * t // n, rows * (t + 1) // n):
        scale, bias = matrix.scale[layer, row], matrix.bias[layer, row]
        for b in range(x.shape[0]):
            one = _dot(matrix.rows, layer, row, x, b) * scale + bias
            y[b, row] = y[b, row] + one if add else one


@_compiled
def _think(up, layer, x, bend, hidden, t, n):
    """The first half of the feed-forward layer, bent: [B, C] → [B, F]."""
    F = hidden.shape[1]
    for row in range(F * t // n, F * (t + 1) // n):
        for b in range(x.shape[0]):
            pre = _dot(up.rows, layer, row, x, b) * up.scale[layer, row] + up.bias[layer, row]
            if bend == 0:  # SwiGLU: this row is the gate of row F further on
                other = _dot(up.rows, layer, F + row, x, b)
                other = other * up.scale[layer, F + row] + up.bias[layer, F + row]
                hidden[b, row] = pre / (np.float32(1) + math.exp(-pre)) * other
            elif bend == 1:
                hidden[b, row] = max(pre, np.float32(0)) ** 2
            elif bend == 2:
                inner = np.float32(math.sqrt(2 / math.pi)) * (pre + np.float32(0.044715) * pre**3)
                hidden[b, row] = np.float32(0.5) * pre * (np.float32(1) + math.tanh(inner))
            else:
                inner = pre * np.float32(math.sqrt(0.5))
                hidden[b, row] = np.float32(0.5) * pre * (np.float32(1) + math.erf(inner))


@_compiled
def _norm(x, shape, out):
    """RMSNorm, or LayerNorm if ``centred``, without the weights: x [B, C] → [B, C]."""
    C = x.shape[1]
    for b in range(x.shape[0]):
        mean = np.float32(0)
        if shape.centred:
            for i in range(C):
                mean += x[b, i]
            mean /= np.float32(C)
        square = np.float32(0)
        for i in range(C):
            square += (x[b, i] - mean) ** 2
        shrink = np.float32(1) / math.sqrt(square / np.float32(C) + np.float32(shape.eps))
        for i in range(C):
            out[b, i] = (x[b, i] - mean) * shrink


@_compiled
def _take(x, found, weights, layer, which, shape, normed, t, n):
    """Thread t's columns of what was found, normed, go into the stream x [B, C]."""
    _norm(found, shape, normed)
    C = x.shape[1]
    scale, shift = weights.post_scale[layer, which], weights.post_shift[layer, which]
    for b in range(x.shape[0]):
        for i in range(C * t // n, C * (t + 1) // n):
            x[b, i] += normed[b, i] * scale[i] + shift[i]


@_compiled
def _turn(x, shape, scale, cos, sin):
    """QK-norm and RoPE on one query or key, in place: x [D]."""
    if shape.qk_norm:
        square = np.float32(0)
        for i in range(x.shape[0]):
            square += x[i] * x[i]
        shrink = np.float32(1) / math.sqrt(square / np.float32(x.shape[0]) + np.float32(shape.eps))
        for i in range(x.shape[0]):
            x[i] *= shrink * scale[i]
    half = cos.shape[0] // 2
    for i in range(half):
        a, b = x[i], x[i + half]
        x[i] = a * cos[i] - b * sin[i]
        x[i + half] = b * cos[i] + a * sin[i]


@_compiled
def _attend(shape, weights, layer, b, kv_head, room, t, cos, sin, cache, start):
    """One head of keys and values of one stream, and the queries that share it."""
    H, Hkv = shape.n_head, shape.kv_heads
    D, G = room.heads.shape[2], H // Hkv
    keys, values, shares = cache[kv_head], cache[Hkv + kv_head], room.shares[t]
    _turn(room.heads[b, H + kv_head], shape, weights.qk_scale[layer, 1], cos, sin)
    for i in range(D):
        keys[start, i] = room.heads[b, H + kv_head, i]
        values[start, i] = room.heads[b, H + Hkv + kv_head, i]
    for head in range(kv_head * G, (kv_head + 1) * G):
        q = room.heads[b, head]
        _turn(q, shape, weights.qk_scale[layer, 0], cos, sin)
        for i in range(D):
            q[i] /= math.sqrt(np.float32(D))
        highest = np.float32(-np.inf)
        for s in range(start + 1):
            score = np.float32(0)
            for i in range(D):
                score += q[i] * keys[s, i]
            score += weights.slopes[head] * np.float32(s - start)
            shares[s] = score
            highest = max(highest, score)
        total = np.float32(0)
        z = room.z[b, head * D : (head + 1) * D]
        z[:] = np.float32(0)
        for s in range(start + 1):
            share = math.exp(shares[s] - highest)
            total += share
            for i in range(D):
                z[i] += share * values[s, i]
        for i in range(D):
            z[i] /= total
