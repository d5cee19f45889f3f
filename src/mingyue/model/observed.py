"""The forward pass once more, with every number named on its way.

``GPT.forward`` is made to be fast; here each step is a line of its own, and each line hands its
tensor to ``see`` under the name that TransformerLens gave it. What ``see`` returns goes on: the
same tensor, or another, to find out what the number is good for. ``hooks`` says who listens.

Shapes of what is seen; ``blocks.0.`` and so on stand before the names of a layer:

======================== ================ =====================================================
``hook_embed``           [B, T, C]        rows of the token table
``hook_pos_embed``       [B, T, C]        rows of the position table (learned, sinusoidal)
``hook_resid_pre``       [B, T, C]        the residual stream as the layer finds it
``ln1.hook_scale``       [B, T, 1]        what the norm divides by
``ln1.hook_normalized``  [B, T, C]        divided, not yet multiplied with the norm's weights
``attn.hook_q``          [B, T, H, D]     queries; ``hook_k``, ``hook_v``: [B, T, Hkv, D]
``attn.hook_norm_q``     [B, T, H, D]     after QK-norm, and ``hook_norm_k`` (our name)
``attn.hook_rot_q``      [B, T, H, D]     after RoPE, and ``hook_rot_k``
``attn.hook_attn_scores``  [B, H, T, T]   q·k/√D, masked: -inf in the future
``attn.hook_pattern``    [B, H, T, T]     rows that sum to 1
``attn.hook_z``          [B, T, H, D]     the values, weighed by the pattern
``attn.hook_result``     [B, T, H, C]     what each head adds to the stream (bias left out)
``ln1_post.…``                            as ``ln1``, where there is a norm after attention
``hook_attn_out``        [B, T, C]        what all heads add
``hook_resid_mid``       [B, T, C]        the stream between attention and FFN
``ln2.…``, ``ln2_post.…``                 as ``ln1``, before and after the FFN
``mlp.hook_pre``         [B, T, F]        before the bend; SwiGLU: its gate
``mlp.hook_pre_linear``  [B, T, F]        SwiGLU only: what the gate multiplies
``mlp.hook_post``        [B, T, F]        the neurons
``hook_mlp_out``         [B, T, C]        what they add
``hook_resid_post``      [B, T, C]        the stream as the layer leaves it
``ln_final.…``                            as ``ln1``, after the last layer
======================== ================ =====================================================
"""

import math
from typing import TYPE_CHECKING, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.attention import View, causal_bias
from mingyue.model.block import Block
from mingyue.model.feedforward import FeedForward
from mingyue.model.norm import RMSNorm
from mingyue.model.position import LearnedPosition, SinusoidalPosition

if TYPE_CHECKING:
    from mingyue.model.gpt import GPT


class See(Protocol):
    """Who looks on."""

    def __call__(self, name: str, value: Tensor) -> Tensor:
        """``value`` was computed; the return value is what is computed on with."""
        ...

    def wants(self, name: str) -> bool:
        """Whether ``name`` is looked at: some numbers are made for the eye only."""
        ...


class _In:
    """``see`` within a part of the model: names get its name in front."""

    def __init__(self, see: See, part: str):
        self._see, self._part = see, part

    def __call__(self, name: str, value: Tensor) -> Tensor:
        return self._see(f"{self._part}.{name}", value)

    def wants(self, name: str) -> bool:
        return self._see.wants(f"{self._part}.{name}")


def observed(model: "GPT", ids: Tensor, see: See) -> Tensor:
    """``model(ids).logits``, step by step: ids [B, T] → logits [B, T, V]."""
    T = ids.shape[1]
    x = see("hook_embed", model.embedding(ids))  # [B, T, C]
    if isinstance(model.position, LearnedPosition | SinusoidalPosition):
        x = x + see("hook_pos_embed", model.position(0, T).expand_as(x))
    x = model.dropout(x)
    view = model.view(0, T)
    for layer, block in enumerate(model.blocks):
        assert isinstance(block, Block)
        x = _block(block, x, view, _In(see, f"blocks.{layer}"))
    x = _norm(model.norm, x, _In(see, "ln_final"))
    return F.linear(x, model.unembedding).float()  # [B, T, V]


def _block(block: Block, x: Tensor, view: View, see: See) -> Tensor:
    x = see("hook_resid_pre", x)  # [B, T, C]
    read = _norm(block.norm_1, x, _In(see, "ln1"))
    x = x + see("hook_attn_out", _attend(block, read, view, see))
    x = see("hook_resid_mid", x)
    read = _norm(block.norm_2, x, _In(see, "ln2"))
    found = _think(block.ffn, read, _In(see, "mlp"))
    x = x + see("hook_mlp_out", _norm(block.norm_2_post, found, _In(see, "ln2_post")))
    return see("hook_resid_post", x)


def _norm(norm: nn.Module, x: Tensor, see: See) -> Tensor:
    """RMSNorm or LayerNorm by its formula."""
    if isinstance(norm, nn.Identity):
        return x
    assert isinstance(norm, RMSNorm | nn.LayerNorm)
    if isinstance(norm, nn.LayerNorm):
        x = x - x.mean(dim=-1, keepdim=True)
    mean_square = x.square().mean(dim=-1, keepdim=True)
    scale = see("hook_scale", (mean_square + norm.eps).sqrt())  # [B, T, 1]
    x = see("hook_normalized", x / scale) * norm.weight
    return x if isinstance(norm, RMSNorm) or norm.bias is None else x + norm.bias


def _attend(block: Block, x: Tensor, view: View, whole: See) -> Tensor:
    """Who looks at whom, and what is brought home: x [B, T, C] → [B, T, C]."""
    attention, see = block.attention, _In(whole, "attn")
    B, T, _ = x.shape
    H, Hkv, D = attention.n_head, attention.n_kv_head, attention.head_width
    heads = attention.qkv(x).view(B, T, H + 2 * Hkv, D)
    q, k, v = heads.split((H, Hkv, Hkv), dim=2)  # [B, T, heads, D]
    q, k, v = see("hook_q", q), see("hook_k", k), see("hook_v", v)
    if attention.q_norm is not None and attention.k_norm is not None:
        q = see("hook_norm_q", attention.q_norm(q))
        k = see("hook_norm_k", attention.k_norm(k))
    if view.rotation is not None:
        q = see("hook_rot_q", view.rotation.turn(q.transpose(1, 2)).transpose(1, 2))
        k = see("hook_rot_k", view.rotation.turn(k.transpose(1, 2)).transpose(1, 2))
    q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)  # [B, heads, T, D]
    k, v = (shared.repeat_interleave(H // Hkv, dim=1) for shared in (k, v))  # [B, H, T, D]
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)  # [B, H, T, T]
    bias = causal_bias(T, T, x.device) if view.causal else view.bias
    scores = see("hook_attn_scores", scores if bias is None else scores + bias)
    pattern = see("hook_pattern", scores.softmax(dim=-1))
    pattern = F.dropout(pattern, attention.dropout, training=attention.training)
    z = see("hook_z", (pattern @ v).transpose(1, 2))  # [B, T, H, D]
    out = attention.residual_dropout(attention.out(z.flatten(2)))
    added = _norm(block.norm_1_post, out, _In(whole, "ln1_post"))
    if see.wants("hook_result"):
        by_head = attention.out.weight.view(-1, H, D)  # [C, H, D]
        result = _share(block.norm_1_post, torch.einsum("bthd,chd->bthc", z, by_head), out)
        added = added + (see("hook_result", result) - result).sum(dim=2)  # what was changed there
    return added


def _share(norm: nn.Module, parts: Tensor, whole: Tensor) -> Tensor:
    """What becomes of parts [B, T, n, C] of ``whole`` [B, T, C] in the norm of the whole, whose
    divisor is then a number like any other: they add up to the normed whole, less its bias."""
    if isinstance(norm, nn.Identity):
        return parts
    assert isinstance(norm, RMSNorm | nn.LayerNorm)
    if isinstance(norm, nn.LayerNorm):
        whole = whole - whole.mean(dim=-1, keepdim=True)
        parts = parts - parts.mean(dim=-1, keepdim=True)
    scale = (whole.square().mean(dim=-1, keepdim=True) + norm.eps).sqrt()  # [B, T, 1]
    return parts / scale[:, :, None] * norm.weight


def _think(ffn: FeedForward, x: Tensor, see: See) -> Tensor:
    """Which neurons react, and what they add: x [B, T, C] → [B, T, C]."""
    pre = ffn.up(x)
    if ffn.activation == "swiglu":
        gate, linear = pre.chunk(2, dim=-1)
        gate, linear = see("hook_pre", gate), see("hook_pre_linear", linear)
        pre = torch.cat((gate, linear), dim=-1)
    else:
        pre = see("hook_pre", pre)
    return ffn.residual_dropout(ffn.down(see("hook_post", ffn.bend(pre))))
