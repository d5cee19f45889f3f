"""The forward pass of one new token a stream, with nothing in it that only longer texts need.

``GPT.forward`` computes any number of tokens, in training or not, and says clearly what it does.
A step of writing computes a single one, thousands of times in a row; then what surrounds the
arithmetic (modules, views, masks, splitting and joining) takes longer than the arithmetic. Here
is the same computation written out flat, on vectors [B, C], with matrices made ready for it
(``packed``). Tests hold it to ``GPT.forward``.

The residual stream and its norms stay in fp32 whatever the precision: small additions add up
there.
"""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.block import Block
from mingyue.model.cache import Cache, KVCache, LayerCache
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.model.norm import RMSNorm
from mingyue.model.packed import Multiply, Precision, pack, vector_type
from mingyue.model.position import LearnedPosition, SinusoidalPosition

Normed = Callable[[Tensor], Tensor]
"""A norm over the last dimension."""


@dataclass(frozen=True)
class Here:
    """What all layers share: where the new token stands, and how far from the others."""

    cos: Tensor | None  # [R], RoPE only; [B, 1, R] where the streams are of unequal length
    sin: Tensor | None  # the same, the first half negative, see ``_turned``
    bias: Tensor | None  # [1 or B, Hkv, G, S], added to the scores: ALiBi, or slots not to be seen


class Step:
    """Scores after one more token: a copy of a model's weights, ready to write.

    Only for causal models on the CPU, in fp32. When the model is trained on, the copy stays
    behind; see ``fits``.
    """

    def __init__(self, model: GPT, precision: Precision = "fp32"):
        self.dtype = vector_type(precision)
        self._model, self._prints = model, prints(model)
        blocks = [block for block in model.blocks if isinstance(block, Block)]
        self._blocks = [_Block(block, model.config, precision) for block in blocks]
        self._norm, self._head = _normed(model.norm, model.unembedding, None, precision)

    @staticmethod
    def suits(model: LanguageModel) -> bool:
        """Whether it can be made for such a model."""
        if not isinstance(model, GPT):
            return False
        weight = model.embedding.weight
        return model.config.causal and weight.device.type == "cpu" and weight.dtype == torch.float32

    def fits(self, model: LanguageModel) -> bool:
        """Whether this is a copy of the model as it is now."""
        return model is self._model and self._prints == prints(model)

    def undisturbed(self) -> AbstractContextManager[None]:
        """What else is computed between two steps is to be computed in here."""
        return nullcontext()

    @torch.inference_mode()
    def __call__(self, ids: Tensor, cache: Cache) -> Tensor:
        """Read ``ids`` [B], the latest token of each stream; scores of the next, [B, V] fp32.

        Raises:
            ContextFull: with learned positions, past ``block_size``.
        """
        assert isinstance(cache, KVCache)
        model, start = self._model, cache.length
        x = F.embedding(ids, model.embedding.weight)  # [B, C]
        if isinstance(model.position, LearnedPosition | SinusoidalPosition):
            x = x + model.placed(start, 1, cache).squeeze(-2)  # [1, C] or [B, C]
        here = self._here(start, cache)
        for block, layer in zip(self._blocks, cache.layers, strict=True):
            x = block(x, here, layer)
        cache.length += 1
        return self._head(self._norm(x)).float()

    def _here(self, start: int, cache: KVCache) -> Here:
        model = self._model
        cos = sin = None
        if (turn := model.turns(start, 1, cache)) is not None:
            cos = turn.cos.squeeze(-2).to(self.dtype)  # [R] or [B, 1, R]
            left, right = turn.sin.squeeze(-2).to(self.dtype).chunk(2, dim=-1)
            sin = torch.cat((-left, right), dim=-1)
        bias = cache.veil(1)
        bias = None if bias is None else bias.to(self.dtype)
        if model.config.position == "alibi":
            distance = torch.arange(start, -1, -1)  # [S]
            fall = -(model.slopes[:, None] * distance).to(self.dtype)  # [H, S]
            fall = fall.view(1, model.config.kv_heads, -1, start + 1)
            bias = fall if bias is None else fall + bias
        return Here(cos, sin, bias)


class _Block:
    """``Block``, flat: x [B, C] → [B, C]."""

    def __init__(self, block: Block, config: ModelConfig, precision: Precision):
        attention, ffn = block.attention, block.ffn
        self.heads, self.kv_heads, self.D = config.n_head, config.kv_heads, config.head_width
        self.dtype = vector_type(precision)
        self.norm_1, self.qkv = _normed(
            block.norm_1, attention.qkv.weight, attention.qkv.bias, precision
        )
        self.norm_2, self.up = _normed(block.norm_2, ffn.up.weight, ffn.up.bias, precision)
        self.out = pack(attention.out.weight, attention.out.bias, precision)
        self.norm_1_post, self.norm_2_post = _after(block.norm_1_post), _after(block.norm_2_post)
        self.down, self.bend = pack(ffn.down.weight, ffn.down.bias, precision), ffn.bend
        self.qk_scale = None
        if attention.q_norm is not None and attention.k_norm is not None:
            scales = (attention.q_norm.weight, self.heads), (attention.k_norm.weight, self.kv_heads)
            rows = torch.cat([scale.detach().expand(n, -1) for scale, n in scales])
            self.qk_scale = rows * math.sqrt(self.D)  # [H + Hkv, D]: both norms at once
            self.least = _least(self.D, config.norm_eps)

    def __call__(self, x: Tensor, here: Here, kept: LayerCache) -> Tensor:
        x = x + self.norm_1_post(self._attend(self.norm_1(x), here, kept))
        return x + self.norm_2_post(self.down(self.bend(self.up(self.norm_2(x)))))

    def _attend(self, x: Tensor, here: Here, kept: LayerCache) -> Tensor:
        """``Attention.forward`` for a single query: x [B, C] → [B, C]."""
        B, H, Hkv = x.shape[0], self.heads, self.kv_heads
        heads = self.qkv(x).to(self.dtype).view(B, H + 2 * Hkv, self.D)
        qk = heads.narrow(1, 0, H + Hkv)  # changed in place: then k and v lie together
        if self.qk_scale is not None:
            qk.div_(_length(qk, self.least)).mul_(self.qk_scale)
        if here.cos is not None and here.sin is not None:
            _turn(qk, here.cos, here.sin)
        k, v = kept.append_one(heads.narrow(1, H, 2 * Hkv))  # [B, Hkv, S, D]
        # The G heads that share keys are G queries to them: nothing has to be written out.
        q = heads.narrow(1, 0, H).view(B, Hkv, H // Hkv, self.D)
        z = F.scaled_dot_product_attention(q, k, v, attn_mask=here.bias)  # [B, Hkv, G, D]
        return self.out(z.reshape(B, H * self.D))


def _turn(x: Tensor, cos: Tensor, sin: Tensor) -> None:
    """RoPE on [B, heads, D], in place: halves swapped, signs already in ``sin``."""
    R = cos.shape[-1]
    if x.shape[-1] != R:
        x = x.narrow(-1, 0, R)
    swapped = x.roll(R // 2, -1)
    x.mul_(cos).addcmul_(swapped, sin)


def _normed(
    norm: nn.Module, weight: Tensor, bias: Tensor | None, precision: Precision
) -> tuple[Normed, Multiply]:
    """A norm and the matrix after it. What RMSNorm multiplies with goes into the matrix: each of
    its columns is multiplied once, and not each vector again."""
    if not isinstance(norm, RMSNorm):
        return norm, pack(weight, bias, precision)
    scale = norm.weight.detach() * math.sqrt(norm.weight.shape[0])
    least = _least(norm.weight.shape[0], norm.eps)
    matrix = pack(weight.detach() * scale, bias, precision)
    return lambda x: x / _length(x, least), matrix


def _after(norm: nn.Module) -> Normed:
    """A norm with no matrix after it."""
    return norm if isinstance(norm, nn.Identity) else lambda x: norm(x.float())


def _length(x: Tensor, least: Tensor) -> Tensor:
    """√(|x|² + C·ε) over the last dimension. RMSNorm, x / √(mean(x²) + ε), is √C · x / this, and
    for the length of a vector and that of two sides there are fused kernels."""
    return torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True), least)


def _least(width: int, eps: float) -> Tensor:
    return torch.tensor(math.sqrt(width * eps))


def prints(model: LanguageModel) -> list[tuple[int, int]]:
    """Where each parameter lies and how often it was written to."""
    return [(p.data_ptr(), p._version) for p in model.parameters()]
