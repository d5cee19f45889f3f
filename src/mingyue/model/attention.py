"""Every position gathers from the positions it may see (article: 注意力机制).

Each token holds three cards: a query Q, what it looks for; a key K, what it has to offer; a
value V, what it hands over when asked. The score of a pair is q·k / √D. A mask takes away the
future, softmax turns each row of scores into shares that sum to 1, and the shares weigh the
values. Several heads do so side by side, each on its own slice of D dimensions.

There are two ways to the same numbers. ``attend_readably`` names every step and is what the
exhibits show. ``attend_fast`` hands the whole of it to a fused kernel, or to three large calls
where those are quicker. A test holds outputs and gradients of the two equal.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.cache import LayerCache
from mingyue.model.config import ModelConfig
from mingyue.model.norm import RMSNorm, rms_norm
from mingyue.model.position import Rotation


@dataclass(frozen=True)
class View:
    """What all layers of one forward pass share: who may see whom, and who stands where."""

    bias: Tensor | None  # [1 or H, T, S] added to the scores, -inf where unseen; None: nothing
    causal: bool  # True: ``bias`` is None and stands for the square lower-triangular mask
    rotation: Rotation | None  # RoPE, else None


class Attended(NamedTuple):
    """Each step of attention by name (those of TransformerLens)."""

    scores: Tensor  # [B, H, T, S] q·k/√D, bias added
    pattern: Tensor  # [B, H, T, S] rows that sum to 1
    z: Tensor  # [B, H, T, D] the pattern's weighted sum of values


class Attention(nn.Module):
    """Causal multi-head self-attention; with ``n_kv_head < n_head`` heads share keys and values
    (grouped-query attention, Ainslie et al. 2023; one for all is multi-query, Shazeer 2019)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.n_head, self.n_kv_head = config.n_head, config.kv_heads
        self.head_width, self.dropout = config.head_width, config.dropout
        heads = self.n_head + 2 * self.n_kv_head
        # One large matrix makes Q, K and V of all heads at once; no loop over heads.
        self.qkv = nn.Linear(config.d_model, heads * self.head_width, bias=config.qkv_bias)
        self.out = nn.Linear(self.n_head * self.head_width, config.d_model, bias=config.out_bias)
        # QK-norm (Henry et al. 2020): queries and keys of equal length keep scores in bounds.
        self.q_norm = RMSNorm(self.head_width, config.norm_eps) if config.qk_norm else None
        self.k_norm = RMSNorm(self.head_width, config.norm_eps) if config.qk_norm else None
        self.residual_dropout = nn.Dropout(config.dropout)
        self.readable = False

    def forward(self, x: Tensor, view: View, cache: LayerCache | None = None) -> Tensor:
        """Gather: x [B, T, C] → [B, T, C]."""
        q, k, v = self.project(x, view.rotation)
        if cache is not None:
            k, v = cache.append(k, v)  # now S ≥ T keys and values
        if self.readable:
            z = attend_readably(q, k, v, view, self.dropout if self.training else 0.0).z
        else:
            z = attend_fast(q, k, v, view, self.dropout if self.training else 0.0)
        merged = z.transpose(1, 2).flatten(2)  # [B, H, T, D] → [B, T, H, D] → [B, T, H·D]
        return self.residual_dropout(self.out(merged))

    def project(self, x: Tensor, rotation: Rotation | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """The three cards of every token and head, turned if a rotation is given: q [B, H, T, D],
        k and v [B, Hkv, T, D]."""
        B, T, _ = x.shape
        H, Hkv = self.n_head, self.n_kv_head
        qkv = self.qkv(x).view(B, T, H + 2 * Hkv, self.head_width)
        qk, v = qkv.split((H + Hkv, Hkv), dim=2)  # queries and keys go the same way, together
        if self.q_norm is not None and self.k_norm is not None:
            scales = self.q_norm.weight.expand(H, -1), self.k_norm.weight.expand(Hkv, -1)
            qk = rms_norm(qk, torch.cat(scales), self.q_norm.eps)
        qk = qk.transpose(1, 2)  # [B, H + Hkv, T, D]
        if rotation is not None:
            qk = rotation.turn(qk)
        q, k = qk.split((H, Hkv), dim=1)
        return q, k, v.transpose(1, 2)


def attend_readably(q: Tensor, k: Tensor, v: Tensor, view: View, dropout: float = 0.0) -> Attended:
    """Attention step by step, every tensor named: q [B, H, T, D]; k, v [B, Hkv, S, D]."""
    H, D = q.shape[1], q.shape[-1]
    k = k.repeat_interleave(H // k.shape[1], dim=1)  # [B, H, S, D]: shared heads written out
    v = v.repeat_interleave(H // v.shape[1], dim=1)
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # [B, H, T, S]
    bias = causal_bias(q.shape[2], k.shape[2], q.device) if view.causal else view.bias
    if bias is not None:
        scores = scores + bias  # the future becomes -inf
    pattern = scores.softmax(dim=-1)  # rows sum to 1; exp(-inf) is exactly 0
    pattern = F.dropout(pattern, dropout, training=dropout > 0)
    return Attended(scores, pattern, pattern @ v)  # z [B, H, T, D]


SHORT = 512
"""Up to so many keys, matrices written out beat the fused kernel on a CPU (measured): in bf16
always, in fp32 only where whole blocks of the future can be left out, from ``ROWS`` keys on."""


def attend_fast(q: Tensor, k: Tensor, v: Tensor, view: View, dropout: float = 0.0) -> Tensor:
    """The same z [B, H, T, D] with as little work as the device allows."""
    if q.device.type == "cpu" and k.shape[2] <= SHORT:
        long = k.shape[2] > ROWS or q.dtype == torch.bfloat16
        if view.causal and dropout == 0 and long:
            return _attend_by_rows(q, k, v)
        if q.dtype == torch.bfloat16:
            return _attend_short(q, k, v, view, dropout)
    bias = None if view.bias is None else view.bias.to(q.dtype)
    shared = k.shape[1] != q.shape[1]
    return F.scaled_dot_product_attention(
        q, k, v, attn_mask=bias, dropout_p=dropout, is_causal=view.causal, enable_gqa=shared
    )


def _attend_short(q: Tensor, k: Tensor, v: Tensor, view: View, dropout: float) -> Tensor:
    """``attend_readably`` in three calls: scaling and mask ride along with the first product."""
    B, H, T, D = q.shape
    S = k.shape[2]
    k = k.repeat_interleave(H // k.shape[1], dim=1).reshape(B * H, S, D)
    v = v.repeat_interleave(H // v.shape[1], dim=1).reshape(B * H, S, D)
    q = q.reshape(B * H, T, D)
    bias = causal_bias(T, S, q.device) if view.causal else view.bias
    if bias is None:
        bias = q.new_zeros(1, 1, 1)
    with torch.autocast(q.device.type, enabled=False):  # all is in one type already
        bias = bias.to(q.dtype).expand(B, H, T, S).reshape(B * H, T, S)
        scores = torch.baddbmm(bias, q, k.mT, alpha=1 / math.sqrt(D))  # [B·H, T, S]
        pattern = F.dropout(scores.softmax(dim=-1), dropout, training=dropout > 0)
        return torch.bmm(pattern, v).view(B, H, T, D)


ROWS = 64
"""Queries that are answered together."""


def _attend_by_rows(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention without most of the future: some queries at a time, and of the keys only
    those up to the last of them. q [B, H, T, D]; k, v [B, Hkv, T, D]."""
    B, H, T, D = q.shape
    k = k.repeat_interleave(H // k.shape[1], dim=1).reshape(B * H, T, D)
    v = v.repeat_interleave(H // v.shape[1], dim=1).reshape(B * H, T, D)
    with torch.autocast(q.device.type, enabled=False):  # all is in one type already
        return _ByRows.apply(q.reshape(B * H, T, D), k, v).view(B, H, T, D)


class _ByRows(torch.autograd.Function):
    """q, k, v [N, T, D] → z [N, T, D]; the formulas of ``attend_readably`` and their slopes."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        T, D = q.shape[1:]
        bias = causal_bias(T, T, q.device).to(q.dtype)
        patterns, z = [], []
        for start in range(0, T, ROWS):
            now, seen = slice(start, start + ROWS), slice(0, start + ROWS)
            scores = torch.baddbmm(bias[:, now, seen], q[:, now], k[:, seen].mT, alpha=D**-0.5)
            patterns.append(scores.softmax(dim=-1))  # [N, rows, keys]
            z.append(torch.bmm(patterns[-1], v[:, seen]))
        ctx.save_for_backward(q, k, v, *patterns)
        return torch.cat(z, dim=1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z_slope = gradients[0]
        q, k, v, *patterns = ctx.saved_tensors
        q_slope, k_slope, v_slope = [], torch.zeros_like(k), torch.zeros_like(v)
        for step, pattern in enumerate(patterns):
            start = step * ROWS
            now, seen = slice(start, start + ROWS), slice(0, start + ROWS)
            v_slope[:, seen].baddbmm_(pattern.mT, z_slope[:, now])
            slope = torch.bmm(z_slope[:, now], v[:, seen].mT)  # of the pattern
            slope = torch.ops.aten._softmax_backward_data(
                slope, pattern, -1, q.dtype
            )  # of the scores
            slope.mul_(q.shape[2] ** -0.5)
            q_slope.append(torch.bmm(slope, k[:, seen]))
            k_slope[:, seen].baddbmm_(slope.mT, q[:, now])
        return torch.cat(q_slope, dim=1), k_slope, v_slope


def causal_bias(T: int, S: int, device: torch.device) -> Tensor:
    """The lower-triangular mask (article: 下三角掩码), [1, T, S]: 0 where query t may see key s,
    -inf where s lies in its future. The T queries are the last of the S positions."""
    bias = torch.full((T, S), float("-inf"), device=device)
    return bias.triu(S - T + 1)[None]


def alibi_bias(slopes: Tensor, T: int, S: int, causal: bool) -> Tensor:
    """Distance times slope taken off the scores, [H, T, S]; with the causal mask if asked."""
    query = torch.arange(S - T, S, device=slopes.device)[:, None]  # [T, 1]
    key = torch.arange(S, device=slopes.device)[None, :]  # [1, S]
    bias = -slopes[:, None, None] * (query - key).abs()  # [H, T, S]
    return bias + causal_bias(T, S, slopes.device) if causal else bias
