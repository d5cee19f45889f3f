"""A character's id becomes a vector (article: «Embedding：它就是一个"查表"的超级大矩阵»).

The table has one row of ``C`` numbers for each of the ``V`` tokens. Looking up row 12 gives
the same as multiplying the table with a one-hot vector whose 12th entry is 1; looking up is
merely the cheap way to do it. The rows are parameters: they start random and are learned
together with everything else, for the one purpose of predicting the next token.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F


class Embedding(nn.Module):
    """The table ``weight`` [V, C]."""

    def __init__(self, vocab_size: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, d_model))

    def forward(self, ids: Tensor) -> Tensor:
        """Rows of the table: ids [B, T] → vectors [B, T, C]."""
        return F.embedding(ids, self.weight)

    def by_one_hot(self, ids: Tensor) -> Tensor:
        """The same vectors the long way round, one-hot [B, T, V] @ table [V, C]; for the eye."""
        one_hot = F.one_hot(ids, self.weight.shape[0]).to(self.weight.dtype)  # [B, T, V]
        return one_hot @ self.weight  # [B, T, C]
