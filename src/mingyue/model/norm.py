"""Keep vectors at a healthy length, so that deep stacks train.

LayerNorm (Ba et al. 2016) subtracts the mean and divides by the standard deviation; RMSNorm
(Zhang & Sennrich 2019) leaves the mean alone and divides by the root of the mean square.
Both then multiply by a learned weight for each dimension.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.config import ModelConfig


class RMSNorm(nn.Module):
    """x / √(mean(x²) + ε) · weight, over the last dimension."""

    def __init__(self, width: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Any shape [..., width] → the same."""
        return rms_norm(x, self.weight, self.eps)


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x [..., width] → the same, times ``weight`` [width] or [n, width], a row for each of the
    last n vectors."""
    if x.device.type == "cpu" and x.dtype == torch.float32:
        return _RMSNorm.apply(x, weight, eps)
    # In mixed precision the weight follows x: torch has no fused kernel for two types.
    weight = weight.to(x.dtype)
    if weight.dim() == 1:
        return F.rms_norm(x, weight.shape, weight, eps)
    return F.rms_norm(x, weight.shape[-1:], None, eps) * weight


class _RMSNorm(torch.autograd.Function):
    """The formula by hand: torch has no fused kernel for CPUs, and its gradient passes over
    memory twice as often as this one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        length = torch.linalg.vector_norm(x, dim=-1, keepdim=True)  # [..., 1]
        shrink = (length.square() / x.shape[-1] + eps).rsqrt()
        ctx.save_for_backward(x, weight, shrink)
        return (x * shrink).mul_(weight)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        (gradient,) = gradients
        x, weight, shrink = ctx.saved_tensors
        unit = x * shrink  # of length √width
        along = gradient * unit
        w_slope = along.sum_to_size(weight.shape)
        along = along.mul_(weight).mean(-1, keepdim=True)  # what only stretches x is lost
        x_slope = (gradient * weight).addcmul_(unit, along, value=-1).mul_(shrink)
        return x_slope, w_slope, None


def make_norm(config: ModelConfig) -> nn.Module:
    """The norm that the config names, over the last dimension of [B, T, C]."""
    if config.norm == "rmsnorm":
        return RMSNorm(config.d_model, config.norm_eps)
    return nn.LayerNorm(config.d_model, eps=config.norm_eps, bias=config.bias)
