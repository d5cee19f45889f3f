"""From the last vectors to the loss, without ever holding all logits.

Next-token loss at every position (article: 与真实的 Y 中的 token 进行交叉熵损失计算): a text of
N tokens has N × V logits, by far the largest tensor of a small model. ``cross_entropy`` makes
them a slice at a time and turns each slice at once into what the backward pass needs of it: its
gradient, softmax(logits) − one-hot(target), multiplied with the weights and with x. It equals
``F.cross_entropy(F.linear(x, weight), targets)``, which a test checks, in half the time.
"""

import math
from typing import Any

import torch
from torch import Tensor

from mingyue.model.config import IGNORED

SLICE = 2**21
"""Logits made at once: 8 MiB in fp32, which stays near the processor."""


def cross_entropy(x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
    """Mean nats per token: x [N, C], weight [V, C], targets [N] → scalar.

    Targets equal to ``IGNORED`` are left out of the mean; the loss is 0 when all are.
    """
    kept = (targets != IGNORED).sum().clamp(min=1)
    if not torch.is_grad_enabled():  # which the function below cannot see
        x, weight = x.detach(), weight.detach()
    return _LinearCrossEntropy.apply(x, weight, targets) / kept


class _LinearCrossEntropy(torch.autograd.Function):
    """The sum of the losses; its gradients are made while the logits are at hand."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, targets: Tensor) -> Tensor:
        device = x.device.type
        dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype
        N, V = x.shape[0], weight.shape[0]
        x_slope = torch.empty_like(x) if ctx.needs_input_grad[0] else None
        w_slope = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        total = torch.zeros((), dtype=torch.float32, device=x.device)
        with torch.autocast(device, enabled=False):
            low_x, low_weight = x.to(dtype), weight.to(dtype)
            for start in range(0, N, step := max(1, SLICE // V)):
                part = slice(start, start + step)
                known = (targets[part] != IGNORED)[:, None].float()  # [n, 1]
                target = targets[part, None].clamp(min=0)  # [n, 1]
                logits = (low_x[part] @ low_weight.mT).float()  # [n, V]
                top, chosen = logits.amax(-1, keepdim=True), logits.gather(1, target)  # [n, 1]
                exp = _exp(logits, top)
                sum_exp = exp.sum(-1, keepdim=True)  # [n, 1]
                total += ((sum_exp.log() + top - chosen) * known).sum()
                # softmax − one-hot is (exp − sum_exp · one-hot) / sum_exp, and the division may
                # wait until C columns are left instead of V.
                slope = exp.scatter_add_(1, target, -sum_exp).to(dtype)
                share = known / sum_exp
                if x_slope is not None:
                    x_slope[part] = (slope @ low_weight) * share
                if w_slope is not None:
                    _add_product(w_slope, slope.mT, (x[part] * share).to(dtype))
        ctx.x_slope, ctx.w_slope = x_slope, w_slope
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (gradient,) = gradients
        x = ctx.x_slope * gradient.to(ctx.x_slope.dtype) if ctx.x_slope is not None else None
        weight = ctx.w_slope * gradient if ctx.w_slope is not None else None
        return x, weight, None


def _exp(logits: Tensor, top: Tensor) -> Tensor:
    """exp(logits − top), in place of the logits; a power of two takes half the time."""
    log2e = math.log2(math.e)
    return torch.add(top * -log2e, logits, alpha=log2e, out=logits).exp2_()


def _add_product(total: Tensor, a: Tensor, b: Tensor) -> None:
    """``total`` + a @ b, in one call where the types allow it."""
    if total.dtype == a.dtype:
        torch.addmm(total, a, b, out=total)
    else:
        total += a @ b
