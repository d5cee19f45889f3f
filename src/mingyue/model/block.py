"""Attention and feed-forward around a residual stream.

The stream x is a row of notes for each position. A layer reads it through a norm, and adds
what it found; nothing is ever overwritten, so gradients reach the first layer undiminished. GLM-4
puts a second norm on what is added (``post_norm``; CogView, Ding et al. 2021, §2.4).
"""

from torch import Tensor, nn

from mingyue.model.attention import Attention, View
from mingyue.model.cache import LayerCache
from mingyue.model.config import ModelConfig
from mingyue.model.feedforward import FeedForward
from mingyue.model.norm import make_norm


class Block(nn.Module):
    """One layer: look at the context, then think (article: Attention → FFN)."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.norm_1 = make_norm(config)
        self.attention = Attention(config)
        self.norm_1_post = make_norm(config) if config.post_norm else nn.Identity()
        self.norm_2 = make_norm(config)
        self.ffn = FeedForward(config)
        self.norm_2_post = make_norm(config) if config.post_norm else nn.Identity()

    def forward(self, x: Tensor, view: View, cache: LayerCache | None = None) -> Tensor:
        """x [B, T, C] → [B, T, C]."""
        x = x + self.norm_1_post(self.attention(self.norm_1(x), view, cache))
        return x + self.norm_2_post(self.ffn(self.norm_2(x)))
