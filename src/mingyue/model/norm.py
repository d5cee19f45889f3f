"""Keep vectors at a healthy length, so that deep stacks train.

LayerNorm (Ba et al. 2016) subtracts the mean and divides by the standard deviation; RMSNorm
(Zhang & Sennrich 2019) leaves the mean alone and divides by the root of the mean square.
Both then multiply by a learned weight for each dimension.
"""

from torch import nn

from mingyue.model.config import ModelConfig


def make_norm(config: ModelConfig) -> nn.Module:
    """The norm that the config names, over the last dimension of [B, T, C]."""
    if config.norm == "rmsnorm":
        return nn.RMSNorm(config.d_model, eps=config.norm_eps)
    return nn.LayerNorm(config.d_model, eps=config.norm_eps, bias=config.bias)
