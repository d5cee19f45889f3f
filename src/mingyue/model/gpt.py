"""Blocks on top of each other, then logits and loss (article: Mini-GPT).

Token ids in, for every position a score for every possible next token out: all T predictions
of a text at once, in one pass. Training compares them with the text one token further on.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from mingyue.model.attention import Attention, View, alibi_bias, causal_bias
from mingyue.model.block import Block
from mingyue.model.cache import Cache, KVCache
from mingyue.model.config import ModelConfig
from mingyue.model.embedding import Embedding
from mingyue.model.language_model import LanguageModel, Output
from mingyue.model.loss import IGNORED, cross_entropy
from mingyue.model.norm import make_norm
from mingyue.model.position import (
    LearnedPosition,
    RotaryPosition,
    Rotation,
    SinusoidalPosition,
    alibi_slopes,
)

HIDDEN = 7
"""A model that sees both directions learns by guessing one token in so many."""


class GPT(LanguageModel):
    """A decoder-only Transformer of the shape that ``config`` describes."""

    slopes: Tensor  # [H], ALiBi only

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        self.embedding = Embedding(config.vocab_size, config.d_model)
        self.position = _make_position(config)
        if not config.causal:  # stands where a token is hidden, see ``masked_loss``
            self.mask = nn.Parameter(torch.empty(config.d_model))
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layer))
        self.norm = make_norm(config)
        self.head = None
        if not config.tie_embeddings:
            self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        if config.position == "alibi":
            self.register_buffer("slopes", alibi_slopes(config.n_head), persistent=False)
        self.begin()

    def forward(
        self,
        ids: Tensor,
        targets: Tensor | None = None,
        *,
        cache: Cache | None = None,
        last_only: bool = False,
    ) -> Output:
        """As every language model; one that sees both directions learns masked tokens."""
        if targets is not None and not self.config.causal:
            return Output(None, self.masked_loss(ids, targets))
        return super().forward(ids, targets, cache=cache, last_only=last_only)

    def masked_loss(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Hide one token in seven and guess it from both sides (BERT, Devlin et al. 2018, §3.1).

        Which ones is drawn in training; else it is every seventh, so that a loss is no matter of
        chance. ``targets`` [B, T] say only where nothing counts (``IGNORED``).
        """
        B, T = ids.shape
        if self.training:
            hidden = torch.rand(ids.shape, device=ids.device) < 1 / HIDDEN
        else:
            place = torch.arange(T, device=ids.device) + torch.arange(B, device=ids.device)[:, None]
            hidden = place % HIDDEN == 0
        hidden &= targets != IGNORED
        x = self.hidden(ids, masked=hidden)  # [B, T, C]
        wanted = ids.masked_fill(~hidden, IGNORED)
        return cross_entropy(x.flatten(0, 1), self.unembedding, wanted.flatten())

    def hidden(
        self, ids: Tensor, cache: Cache | None = None, *, masked: Tensor | None = None
    ) -> Tensor:
        """The residual stream after all blocks and the last norm: ids [B, T] → [B, T, C].

        ``masked`` [B, T] tells which tokens are masked.
        """
        assert cache is None or isinstance(cache, KVCache)
        T, start = ids.shape[1], cache.length if cache is not None else 0
        x = self.embedding(ids)  # [B, T, C]
        if masked is not None:
            x = torch.where(masked[..., None], self.mask, x)
        if isinstance(self.position, LearnedPosition | SinusoidalPosition):
            x = x + self.placed(start, T, cache)  # [T, C] added to every row of the batch
        x = self.dropout(x)
        view = self.view(start, T, cache)
        for layer, block in enumerate(self.blocks):
            x = block(x, view, cache.layers[layer] if cache is not None else None)
        if cache is not None:
            cache.length += T
        return self.norm(x)

    @property
    def context(self) -> int:
        """``block_size``: what lies further back, it does not see."""
        return self.config.block_size

    def placed(self, start: int, T: int, cache: KVCache | None = None) -> Tensor:
        """The vectors of positions ``start`` to ``start + T``, [T, C]; [B, T, C] where the rows
        of the cache have read unequal numbers of tokens."""
        assert isinstance(self.position, LearnedPosition | SinusoidalPosition)
        places = cache.places(T) if cache is not None else None
        if places is None:
            return self.position(start, T)
        return self.position(0, int(places.max()) + 1)[places]

    def turns(self, start: int, T: int, cache: KVCache | None = None) -> Rotation | None:
        """The same for RoPE: how far each is turned, [T, R] or [B, 1, T, R]."""
        if not isinstance(self.position, RotaryPosition):
            return None
        places = cache.places(T) if cache is not None else None
        if places is None:
            return self.position(start, T)
        turn = self.position(0, int(places.max()) + 1)
        return Rotation(turn.cos[places][:, None], turn.sin[places][:, None])

    def view(self, start: int, T: int, cache: KVCache | None = None) -> View:
        """Who may see whom when T tokens follow ``start`` earlier ones, those of ``cache``."""
        config, S, rotation = self.config, start + T, self.turns(start, T, cache)
        veil = cache.veil(T) if cache is not None else None
        if veil is not None:
            bias = self._bias(T, S)
            return View(veil if bias is None else veil + bias, False, rotation)
        if start == 0 and T > 1 and config.causal and config.position != "alibi":
            return View(None, True, rotation)
        return View(self._bias(T, S), False, rotation)

    def _bias(self, T: int, S: int) -> Tensor | None:
        """What the scores of T queries and S keys are changed by, [H or 1, T, S]."""
        if self.config.position == "alibi":
            return alibi_bias(self.slopes, T, S, self.config.causal)
        if not self.config.causal or T == 1:  # a last token alone may see everything
            return None
        return causal_bias(T, S, self.embedding.weight.device)

    def new_cache(self, batch: int, capacity: int | None = None) -> KVCache:
        """An empty KV cache for ``batch`` sequences of up to ``capacity`` (block_size) tokens."""
        weight = self.embedding.weight
        capacity = capacity or self.config.block_size
        return KVCache(self.config, batch, capacity, weight.device, weight.dtype)

    def attention_path(self, path: Literal["fast", "readable"]) -> None:
        """Choose how attention is computed; the results are equal."""
        for module in self.modules():
            if isinstance(module, Attention):
                module.readable = path == "readable"

    @torch.no_grad()
    def initialise(self) -> None:
        """Fresh random weights: normal, σ = 0.02, and smaller by √(2·layers) for the matrices
        that write into the residual stream, so that it starts with the length of one token
        (GPT-2, Radford et al. 2019, §2.3)."""
        writes = 0.02 / math.sqrt(2 * max(1, self.config.n_layer))
        for name, parameter in self.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
            elif "norm" in name:
                parameter.fill_(1.0)
            elif name.endswith(("attention.out.weight", "ffn.down.weight")):
                parameter.normal_(0.0, writes)
            else:
                parameter.normal_(0.0, 0.02)


def _make_position(config: ModelConfig) -> nn.Module | None:
    match config.position:
        case "learned":
            return LearnedPosition(config.block_size, config.d_model)
        case "sinusoidal":
            return SinusoidalPosition(config.d_model)
        case "rope":
            return RotaryPosition(config)
        case _:
            return None
