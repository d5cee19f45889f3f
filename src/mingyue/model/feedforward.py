"""Every position thinks about what it gathered (article: 前馈神经网络).

Two linear maps with a bend between them: widen to F (4 × d_model), bend, narrow back to C.
Each row of the first is a pattern to react to, each column of the second what to add to the
prediction when it did. Attention moves information between positions; this layer works on
each position alone.
"""

from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.config import ModelConfig


class FeedForward(nn.Module):
    """``gelu`` (Hendrycks & Gimpel 2016; ``gelu_tanh`` is GPT-2's approximation), ``relu2``
    (So et al. 2021) or ``swiglu`` (Shazeer 2020), where one half gates the other."""

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.activation = config.activation
        width = config.ffn_width
        # SwiGLU's gate and up matrices are one: rows 0…F-1 gate, rows F…2F-1 up.
        rows = 2 * width if config.activation == "swiglu" else width
        self.up = nn.Linear(config.d_model, rows, bias=config.bias)
        self.down = nn.Linear(width, config.d_model, bias=config.bias)
        self.residual_dropout = nn.Dropout(config.dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Think: x [B, T, C] → [B, T, C]."""
        return self.residual_dropout(self.down(self.bend(self.up(x))))

    def bend(self, pre: Tensor) -> Tensor:
        """The nonlinearity: [B, T, F] → [B, T, F] (from 2F for SwiGLU)."""
        if self.activation == "swiglu":
            gate, up = pre.chunk(2, dim=-1)
            return F.silu(gate) * up
        if self.activation == "relu2":
            return F.relu(pre).square()
        return F.gelu(pre, approximate="tanh" if self.activation == "gelu_tanh" else "none")
