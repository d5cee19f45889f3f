"""From the last vectors to the loss, without ever holding all logits.

Next-token loss at every position (article: 与真实的 Y 中的 token 进行交叉熵损失计算): a text of
N tokens has N × V logits, by far the largest tensor of a small model. ``cross_entropy`` makes
them a slice at a time and keeps of each slice only what the backward pass needs, the gradient
softmax(logits) − one-hot(target), in the precision of the matrix products. It equals
``F.cross_entropy(F.linear(x, weight), targets)``, which a test checks, in half the time.
"""

from typing import Any

import torch
from torch import Tensor

IGNORED = -100
"""A target that counts for nothing in the loss."""

SLICE = 2**20
"""Logits made at once: 4 MiB in fp32, which stays near the processor."""


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
        with torch.autocast(device, enabled=False):
            low_x, low_weight = x.to(dtype), weight.to(dtype)
            N, V = x.shape[0], weight.shape[0]
            learning = any(ctx.needs_input_grad)
            slope = torch.empty(N, V, dtype=dtype, device=x.device) if learning else None
            total = torch.zeros((), dtype=torch.float32, device=x.device)
            for start in range(0, N, step := max(1, SLICE // V)):
                part = slice(start, start + step)
                known = (targets[part] != IGNORED)[:, None]  # [n, 1]
                target = targets[part, None].clamp(min=0)  # [n, 1]
                logits = (low_x[part] @ low_weight.mT).float()  # [n, V]
                p = logits.softmax(dim=-1)
                # log Σ exp(logits), read off the largest entry: p = exp(logit − logsumexp).
                top, where = logits.max(dim=-1, keepdim=True)
                logsumexp = top - p.gather(1, where).log()  # [n, 1]
                total += ((logsumexp - logits.gather(1, target)) * known).sum()
                if slope is not None:
                    p.scatter_add_(1, target, torch.full_like(top, -1.0))  # − one-hot(target)
                    slope[part] = p.mul_(known)
            if slope is not None:
                ctx.x_slope = (slope @ low_weight).to(x.dtype) if ctx.needs_input_grad[0] else None
                ctx.w_slope = (
                    (slope.mT @ low_x).to(weight.dtype) if ctx.needs_input_grad[1] else None
                )
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        (gradient,) = gradients
        x = ctx.x_slope * gradient.to(ctx.x_slope.dtype) if ctx.x_slope is not None else None
        weight = ctx.w_slope * gradient if ctx.w_slope is not None else None
        return x, weight, None
