"""One head of attention once more, from its weights and by the formulas of the article.

``model.attention`` makes the cards of all heads with one large matrix. Here one head is taken
out, and each step is a line, so that an exhibit can show it and hold it against the model.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.attention import Attention
from mingyue.model.block import Block
from mingyue.model.norm import RMSNorm
from mingyue.model.position import Rotation, alibi_slopes


@dataclass(frozen=True)
class Head:
    """What one head computed, step by step; the keys of a dict are the steps' names."""

    queries: dict[str, Tensor]  # [T, D] each: from the matrix, after QK-norm, after RoPE
    keys: dict[str, Tensor]  # [T, D] each
    values: Tensor  # [T, D]
    scores: dict[str, Tensor]  # [T, T] each: q·k, /√D, distance (ALiBi), mask, softmax
    z: Tensor  # [T, D]
    kv_head: int  # the head of keys and values that this one uses
    difference: dict[str, float]  # of each step, to the model's own number, at most

    @property
    def shares(self) -> Tensor:
        """The last step of ``scores``."""
        return list(self.scores.values())[-1]


@torch.no_grad()
def head_by_hand(subject: Subject, layer: int, head: int) -> Head:
    """Recompute one head on the subject's text, and compare with what the model computed."""
    model, config = subject.model, subject.model.config
    block = model.blocks[layer]
    assert isinstance(block, Block)
    seen = {
        name.removeprefix(f"blocks.{layer}."): value[0].float()
        for name, value in subject.see(lambda name: name.startswith(f"blocks.{layer}.")).items()
    }
    x = block.norm_1(seen["hook_resid_pre"])  # [T, C]
    H, Hkv, T, D = config.n_head, config.kv_heads, len(x), config.head_width
    kv_head = head // (H // Hkv)  # GQA: H/Hkv heads in a row share one
    attention, view = block.attention, model.view(0, T)
    q = {"q": _card(attention, x, head)}
    k = {"k": _card(attention, x, H + kv_head)}
    v = _card(attention, x, H + Hkv + kv_head)
    for cards, norm in ((q, attention.q_norm), (k, attention.k_norm)):
        if norm is not None:
            cards["QK-norm"] = _normed(norm, list(cards.values())[-1])
        if view.rotation is not None:
            cards["RoPE"] = _turned(view.rotation, list(cards.values())[-1])
    product = list(q.values())[-1] @ list(k.values())[-1].T  # [T, T]
    scores = {"q·k": product, "/√d": product / math.sqrt(D)}
    if config.position == "alibi":
        place = torch.arange(T)
        distance = (place[:, None] - place).abs()
        scores[tr("- distance")] = scores["/√d"] - alibi_slopes(H)[head] * distance
    if config.causal:
        future = torch.ones(T, T).triu(1).bool()
        last = list(scores.values())[-1]
        scores[tr("+ mask")] = last.masked_fill(future, -math.inf)
    last = list(scores.values())[-1]
    power = (last - last.max(dim=1, keepdim=True).values).exp()  # e^-inf is exactly 0
    shares = power / power.sum(dim=1, keepdim=True)
    z = shares @ v  # [T, D]
    difference = {"v": _apart(v, seen["attn.hook_v"][:, kv_head])}
    for card, steps, which in (("q", q, head), ("k", k, kv_head)):
        for step, ours in steps.items():
            theirs = seen[f"attn.hook_{_HOOKS.get(step, '')}{card}"][:, which]
            difference[card if step == card else f"{card}, {step}"] = _apart(ours, theirs)
    difference[list(scores)[-1]] = _apart(last, seen["attn.hook_attn_scores"][head])
    difference["softmax"] = _apart(shares, seen["attn.hook_pattern"][head])
    difference["z"] = _apart(z, seen["attn.hook_z"][:, head])
    return Head(q, k, v, {**scores, "softmax": shares}, z, kv_head, difference)


_HOOKS = {"QK-norm": "norm_", "RoPE": "rot_"}


def _card(attention: Attention, x: Tensor, which: int) -> Tensor:
    """x [T, C] → [T, D] by the rows of the large matrix that belong to one head."""
    D = attention.head_width
    rows = slice(which * D, (which + 1) * D)
    card = x @ attention.qkv.weight[rows].float().T
    return card if attention.qkv.bias is None else card + attention.qkv.bias[rows]


def _normed(norm: RMSNorm, card: Tensor) -> Tensor:
    return card / (card.square().mean(dim=1, keepdim=True) + norm.eps).sqrt() * norm.weight


def _turned(rotation: Rotation, card: Tensor) -> Tensor:
    """Each pair of dimensions (a, b) turned by its angle; those past R stay."""
    R = rotation.cos.shape[1]
    a, b, rest = card[:, : R // 2], card[:, R // 2 : R], card[:, R:]
    cos, sin = rotation.cos[:, : R // 2], rotation.sin[:, : R // 2]
    return torch.cat((a * cos - b * sin, b * cos + a * sin, rest), dim=1)


def _apart(ours: Tensor, theirs: Tensor) -> float:
    """The largest difference; where both are -inf there is none."""
    same = ours == theirs
    return float((ours - theirs).masked_fill(same, 0.0).abs().max())
