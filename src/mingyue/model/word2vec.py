"""Vectors by company alone: Word2Vec (article: 静态词向量; Mikolov et al. 2013).

The skip-gram model has two tables and nothing between them. A character's vector is to score
high, by dot product, with the vectors of the characters that stand near it, and low with others
drawn at random (negative sampling, Mikolov et al. 2013, eq. 4):

    loss = − log σ(e · o) − Σ over K random o′ of log σ(− e · o′)

There is no order in it and no sentence: a character has one vector wherever it stands. That is
what «static» means, and what D2 and D3 compare with the vectors of a GPT.

Three things are done as the paper does them, in the form that is quickest for whole batches:
frequent characters are dropped at random (eq. 5), random ones are drawn by frequency^0.75, and
near neighbours count more than far ones (there by a window of random size, here by a weight).
All pairs of a batch share their random characters (Ji et al. 2016), each standing for its part
of the K.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.cache import Cache
from mingyue.model.config import ModelConfig
from mingyue.model.embedding import Embedding
from mingyue.model.language_model import LanguageModel, Output
from mingyue.model.loss import IGNORED

SHARED = 256
"""Random characters that the pairs of a batch share."""
FREQUENT = 1e-3
"""A larger share of the text than this is frequent: of characters, not words."""


class Word2Vec(LanguageModel):
    """Skip-gram with negative sampling; learns vectors, predicts no next token."""

    frequencies: Tensor  # [V], each token's share of the text; uniform until told

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        V, C = config.vocab_size, config.d_model
        self.embedding = Embedding(V, C)
        self.company = nn.Linear(C, V, bias=False)  # o, [V, C]
        self.register_buffer("frequencies", torch.full((V,), 1 / V))
        self.begin()

    def forward(
        self,
        ids: Tensor,
        targets: Tensor | None = None,
        *,
        cache: Cache | None = None,
        last_only: bool = False,
    ) -> Output:
        """The mean loss of the pairs in the text that ``ids`` and ``targets`` [B, T] make.

        In training with random negatives; else over all of them, weighed by how often each would
        be drawn, so that it is no matter of chance. Without targets there is nothing to say.
        """
        assert targets is not None, "Word2Vec gives no scores for a next token"
        text = torch.cat([ids[:, :1], targets], dim=1)  # [B, T + 1]
        seen = text != IGNORED
        text = text.clamp(min=0)
        if self.training:
            often = self.frequencies[text].clamp(min=1e-12)
            seen = seen & (torch.rand_like(often) < (FREQUENT / often).sqrt())
        e, o = self.embedding(text), F.embedding(text, self.company.weight)  # [B, T + 1, C]
        loss, pairs = e.new_zeros(()), e.new_zeros(())
        near = torch.zeros_like(seen, dtype=e.dtype)  # [B, T + 1], pairs a token is the centre of
        window = min(self.config.window, text.shape[1] - 1)
        for distance in range(1, window + 1):
            weight = 1 - (distance - 1) / self.config.window
            both = (seen[:, distance:] & seen[:, :-distance]) * weight  # [B, T + 1 − distance]
            for left, right in ((e, o), (o, e)):
                scores = (left[:, :-distance] * right[:, distance:]).sum(-1)
                loss = loss - (F.logsigmoid(scores) * both).sum()
            pairs = pairs + 2 * both.sum()
            near[:, :-distance] += both
            near[:, distance:] += both
        loss = loss + self.config.negatives * (self._strangers(e) * near).sum()
        return Output(None, loss / pairs.clamp(min=1))

    def _strangers(self, e: Tensor) -> Tensor:
        """−log σ(−e · o′), the mean over random o′: e [B, T, C] → [B, T]."""
        chances = self.frequencies**0.75
        if self.training:
            drawn = torch.multinomial(chances, SHARED, replacement=True)
            return F.softplus(F.linear(e, self.company.weight[drawn])).mean(-1)
        shares = chances / chances.sum()  # [V]
        return torch.stack([F.softplus(F.linear(row, self.company.weight)) @ shares for row in e])

    def told(self, counts: Tensor) -> None:
        """How often each token comes in the text it will learn from, [V]."""
        self.frequencies.copy_(counts / counts.sum())

    @property
    def unembedding(self) -> Tensor:
        """The table of company, [V, C]."""
        return self.company.weight

    @torch.no_grad()
    def initialise(self) -> None:
        """As the paper's program: small random vectors, and company of zeros."""
        self.embedding.weight.uniform_(-0.5, 0.5).div_(self.config.d_model)
        self.company.weight.zero_()
