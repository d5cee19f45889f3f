"""The network that came before: LSTM and GRU (article: RNN, «逐字读，边读边忘»).

It reads one token after the other and carries what it remembers in a vector of fixed size, the
state. Each step makes a new state from the old one and the new token:

    GRU   r, z = σ(W x + U h)            what to reset, what to keep
          n = tanh(W x + r ⊙ (U h))      what is new
          h ← z ⊙ h + (1 − z) ⊙ n        (Cho et al. 2014, §2.3)

    LSTM  i, f, o = σ(W x + U h)         let in, keep, let out
          c ← f ⊙ c + i ⊙ tanh(W x + U h)
          h ← o ⊙ tanh(c)                (Hochreiter & Schmidhuber 1997; with f: Gers et al. 2000)

So the past has no end, but all of it must pass through one vector, and step t cannot begin before
step t − 1 is done. The Transformer has neither limit; exhibits D15 and D16 put both side by side.
The gates are torch's own; what is around them is as in ``gpt``.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from mingyue.model.cache import Cache
from mingyue.model.config import ModelConfig
from mingyue.model.embedding import Embedding
from mingyue.model.language_model import LanguageModel


class State:
    """What an RNN remembers: h, and of an LSTM c as well, [layers, B, C] each."""

    def __init__(self, parts: Sequence[Tensor]):
        self.parts, self.length = tuple(parts), 0

    @classmethod
    def gather(cls, parts: "Sequence[tuple[State, Sequence[int]]]") -> "State":
        """A new state of these rows; how much each has read does not matter to it."""
        picked = ([part[:, list(rows)] for part in state.parts] for state, rows in parts)
        new = cls([torch.cat(same, dim=1) for same in zip(*picked, strict=True)])
        new.length = max(state.length for state, _ in parts)
        return new

    def with_room(self) -> "State":
        """Itself: a state is as large as it is."""
        return self

    def to(self, dtype: torch.dtype) -> "State":
        """This state itself, its numbers in another type from now on."""
        self.parts = tuple(part.to(dtype) for part in self.parts)
        return self


class Recurrent(LanguageModel):
    """An LSTM or GRU of ``n_layer`` layers, ``d_model`` wide, between two tables."""

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        C, layers = config.d_model, config.n_layer
        self.embedding = Embedding(config.vocab_size, C)
        self.dropout = nn.Dropout(config.dropout)
        kind = nn.LSTM if config.kind == "lstm" else nn.GRU
        between = config.dropout if layers > 1 else 0.0
        self.blocks = kind(C, C, layers, batch_first=True, dropout=between)
        self.head = None
        if not config.tie_embeddings:
            self.head = nn.Linear(C, config.vocab_size, bias=False)
        self.begin()

    def hidden(self, ids: Tensor, cache: Cache | None = None) -> Tensor:
        """The top layer's state after each token: ids [B, T] → [B, T, C]."""
        assert cache is None or isinstance(cache, State)
        x = self.dropout(self.embedding(ids))  # [B, T, C]
        if cache is None:
            return self.dropout(self.blocks(x)[0])
        before = cache.parts if len(cache.parts) == 2 else cache.parts[0]
        x, after = self.blocks(x, before)
        cache.parts = after if isinstance(after, tuple) else (after,)
        cache.length += ids.shape[1]
        return self.dropout(x)

    def new_cache(self, batch: int, capacity: int | None = None) -> State:
        """A state that has seen nothing: zeros."""
        weight, config = self.embedding.weight, self.config
        n = 2 if config.kind == "lstm" else 1
        return State([weight.new_zeros(config.n_layer, batch, config.d_model) for _ in range(n)])

    @torch.no_grad()
    def initialise(self) -> None:
        """Fresh random weights: what comes in keeps its length, what goes round is orthogonal,
        so that a state neither dies nor explodes (Saxe et al. 2014), and an LSTM begins by
        keeping everything (forget bias 1, Jozefowicz et al. 2015)."""
        C = self.config.d_model
        self.embedding.weight.normal_(0.0, 1.0)
        if self.head is not None:
            self.head.weight.normal_(0.0, 0.02)
        for name, parameter in self.blocks.named_parameters():
            if "weight_hh" in name:
                for gate in parameter.split(C):
                    nn.init.orthogonal_(gate)
            elif "weight_ih" in name:
                parameter.normal_(0.0, C**-0.5)
            else:
                parameter.zero_()
                if self.config.kind == "lstm" and "bias_ih" in name:
                    parameter[C : 2 * C] = 1.0
