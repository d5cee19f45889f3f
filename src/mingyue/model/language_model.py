"""What every language model has in common, the Transformer and those it is compared with.

A language model reads token ids and has, at every position, a score for each token that may come
next. What goes between the table it looks up in and the table it scores with is its own affair:
``hidden``. Training, writing and evaluating ask for nothing else, so that all kinds share them.
"""

import sys
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.cache import Cache
from mingyue.model.config import ModelConfig
from mingyue.model.embedding import Embedding
from mingyue.model.loss import IGNORED, cross_entropy

ENDLESS = sys.maxsize
"""The context of a model that carries all of the past in a state of fixed size."""


class Output(NamedTuple):
    """What a forward pass gives: logits, or the loss when targets were given."""

    logits: Tensor | None  # [B, T, V], or [B, 1, V] with last_only
    loss: Tensor | None  # scalar, nats per token


class LanguageModel(nn.Module):
    """Scores for the next token; a kind says how its ``hidden`` vectors come about."""

    embedding: Embedding  # the table it looks up in; an n-gram model has none
    head: nn.Linear | None  # the table it scores with; None where that is the same one

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.config = config

    def forward(
        self,
        ids: Tensor,
        targets: Tensor | None = None,
        *,
        cache: Cache | None = None,
        last_only: bool = False,
    ) -> Output:
        """Predict the token after each of ``ids`` [B, T].

        With ``targets`` [B, T] (``ids`` one token further on; ``IGNORED`` where none) the mean
        cross-entropy in nats, else the logits. With ``cache`` the ids go on where the cache
        ended and only they are computed; ``last_only`` leaves out all logits but the last.

        Raises:
            ContextFull: with learned positions, past ``block_size``.
        """
        x = self.hidden(ids, cache)  # [B, T, C]
        if targets is not None:
            return Output(None, cross_entropy(x.flatten(0, 1), self.unembedding, targets.flatten()))
        if last_only:
            x = x[:, -1:]
        return Output(F.linear(x, self.unembedding).float(), None)  # [B, T, V]

    def nats(self, ids: Tensor, targets: Tensor) -> Tensor:
        """The summed loss at the targets that count; ids, targets [B, T] → scalar.

        Logits are the dearest part of a small model; targets that do not count get none. Where no
        next token is predicted, each counts as the mean of what the model learns instead.
        """
        if not self.predicts:
            loss = self(ids, targets).loss
            return loss * (targets != IGNORED).sum()
        counted = (targets != IGNORED).flatten()  # [B · T]
        x = self.hidden(ids).flatten(0, 1)[counted]  # [n, C]
        wanted = targets.flatten()[counted]  # [n]
        return cross_entropy(x, self.unembedding, wanted).float() * len(wanted)  # a sum again

    def begin(self) -> None:
        """Draw the first weights, where there is memory for any ("meta" tensors have none)."""
        if self.device.type != "meta":
            self.initialise()

    def initialise(self) -> None:
        """Fresh random weights."""

    def hidden(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """The vectors that the scores are made from: ids [B, T] → [B, T, C]."""
        raise NotImplementedError

    @property
    def unembedding(self) -> Tensor:
        """The matrix [V, C] that turns a vector into scores: the head, or the token table."""
        return self.embedding.weight if self.head is None else self.head.weight

    def new_cache(self, batch: int, capacity: int | None = None) -> Cache:
        """What is to be kept of the past of ``batch`` sequences; empty."""
        raise NotImplementedError

    @property
    def predicts(self) -> bool:
        """Whether it gives probabilities to a next token."""
        return self.config.causal and self.config.kind != "word2vec"

    @property
    def context(self) -> int:
        """How many tokens it can see at once."""
        return ENDLESS

    @property
    def device(self) -> torch.device:
        """Where its numbers lie."""
        return next(chain(self.parameters(), self.buffers())).device

    def count_parameters(self) -> int:
        """All learned numbers; a tied head is counted once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def flops_per_token(self, T: int | None = None) -> int:
        """Of one training step; T defaults to ``block_size``. See ``ModelConfig``."""
        return self.config.flops_per_token(T or self.config.block_size)
