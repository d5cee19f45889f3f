"""Keep vectors at a healthy length, so that deep stacks train.

LayerNorm (Ba et al. 2016) subtracts the mean and divides by the standard deviation; RMSNorm
(Zhang & Sennrich 2019) leaves the mean alone and divides by the root of the mean square.
Both then multiply by a learned weight for each dimension.
"""

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
        # In mixed precision the weight follows x: torch has no fused kernel for two types.
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


def make_norm(config: ModelConfig) -> nn.Module:
    """The norm that the config names, over the last dimension of [B, T, C]."""
    if config.norm == "rmsnorm":
        return RMSNorm(config.d_model, config.norm_eps)
    return nn.LayerNorm(config.d_model, eps=config.norm_eps, bias=config.bias)
