"""The oldest language model: count what followed before (Shannon 1948; article: n-gram).

An n-gram model looks at the last n − 1 tokens, finds how often each token followed them in the
text, and divides. Most longer contexts have hardly been seen, so what a longer one leaves open is
filled from the next shorter one: interpolated Kneser–Ney smoothing (Kneser & Ney 1995; in this
form Chen & Goodman 1999, eq. 20), still the best of its kind:

    p(w | context) = max(c − D, 0) / Σc  +  D · kinds / Σc · p(w | shorter context)

c is how often w followed the context, ``kinds`` how many different tokens did, and D the discount,
what is taken from everyone who was seen to have something for those who were not. In all but the
longest contexts c is not how often the n-gram came, but after how many different tokens: a
character that only ever follows one other is no good guess elsewhere.

The counts lie in a trie. An n-gram is its first n − 1 tokens, a node of the level above, and one
token more; its key is ``node · V + token``. The keys of a level are sorted, so all that followed
a context lie side by side.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.model.cache import Cache
from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel, Output
from mingyue.model.loss import IGNORED


class Recent:
    """The last n − 1 tokens of each sequence, [B, at most n − 1]; all that is remembered.

    Before the beginning of a sequence that is shorter than another stands −1, which no context has.
    """

    def __init__(self, tokens: Tensor):
        self.tokens, self.length = tokens, 0

    @classmethod
    def gather(cls, parts: "Sequence[tuple[Recent, Sequence[int]]]") -> "Recent":
        """A new one of these rows, flush right."""
        picked = [recent.tokens[list(rows)] for recent, rows in parts]
        width = max(tokens.shape[1] for tokens in picked)
        padded = [F.pad(tokens, (width - tokens.shape[1], 0), value=-1) for tokens in picked]
        new = cls(torch.cat(padded))
        new.length = max(recent.length for recent, _ in parts)
        return new

    def with_room(self) -> "Recent":
        """Itself: it remembers no more than that."""
        return self

    def to(self, dtype: torch.dtype) -> "Recent":
        """Itself: token ids have no other type."""
        return self


class Ngram(LanguageModel):
    """Counts of all n-grams up to ``order``; ``training.counting`` fills them.

    ``config.entries`` says how many different ones there are of each length, so that the memory
    for them is there when a model is loaded.
    """

    def __init__(self, config: ModelConfig):
        super().__init__(config)
        for n, entries in enumerate(config.entries, 1):
            self.register_buffer(f"keys_{n}", torch.zeros(entries, dtype=torch.long))
            self.register_buffer(f"counts_{n}", torch.zeros(entries, dtype=torch.long))
        self._sums: list[tuple[Tensor, Tensor, Tensor]] | None = None

    def sound(self) -> bool:
        """Whether the counts can be such: keys in order, each of a node that is there."""
        contexts = 1
        for n in range(1, self.config.order + 1):
            keys, counts = self.keys(n), self.counts(n)
            most = contexts * self.config.vocab_size
            if not (((keys >= 0) & (keys < most)).all() and (keys.diff() > 0).all()):
                return False
            if not (counts > 0).all():
                return False
            contexts = len(keys)
        return True

    def keys(self, n: int) -> Tensor:
        """Keys of the n-grams of length n, sorted, [entries]."""
        return self.get_buffer(f"keys_{n}")

    def counts(self, n: int) -> Tensor:
        """Their counts, as smoothing wants them, [entries]."""
        return self.get_buffer(f"counts_{n}")

    @torch.no_grad()
    def forward(
        self,
        ids: Tensor,
        targets: Tensor | None = None,
        *,
        cache: Cache | None = None,
        last_only: bool = False,
    ) -> Output:
        """As every language model; logits are logarithms of probabilities."""
        assert cache is None or isinstance(cache, Recent)
        if targets is not None:
            counted = (targets != IGNORED).sum().clamp(min=1)
            return Output(None, self.nats(ids, targets) / counted)
        new, before = ids.shape[1], 0
        if cache is not None:
            ids, before = torch.cat([cache.tokens, ids], dim=1), cache.tokens.shape[1]
            cache.tokens = ids[:, max(0, ids.shape[1] - self.config.order + 1) :]
            cache.length += new
        contexts = self._contexts(ids)
        first = ids.shape[1] - 1 if last_only else before
        contexts = [context[:, first:].flatten() for context in contexts]
        logits = self._all(contexts).log().view(len(ids), -1, self.config.vocab_size)
        return Output(logits, None)

    @torch.no_grad()
    def nats(self, ids: Tensor, targets: Tensor) -> Tensor:
        """The summed −log p of the targets that count, without the other tokens' p."""
        counted = targets != IGNORED  # [B, T]
        wanted = targets[counted]  # [n]
        p = torch.full(wanted.shape, 1 / self.config.vocab_size, device=ids.device)
        for n, context in enumerate(self._contexts(ids), 1):
            node = context[counted]
            count = self._found(n, node * self.config.vocab_size + wanted, node >= 0)
            p = self._mixed(n, node, count, p)
        return -p.log().sum()

    def new_cache(self, batch: int, capacity: int | None = None) -> Recent:
        """Nothing read yet."""
        return Recent(torch.empty(batch, 0, dtype=torch.long, device=self.device))

    def count_parameters(self) -> int:
        """The counts."""
        return sum(self.config.entries)

    def _contexts(self, ids: Tensor) -> list[Tensor]:
        """For n = 1 … order the node of the last n − 1 tokens at every place, [B, T] each.

        −1 where that context never came; the empty context is node 0.
        """
        nodes = [torch.zeros_like(ids)]
        for n in range(2, self.config.order + 1):
            node = torch.zeros_like(ids)
            for level in range(1, n):  # the token n − 1 − level places back
                back = n - 1 - level
                token = torch.roll(ids, back, dims=1)
                there = (node >= 0) & (token >= 0)
                node = self._index(level, node * self.config.vocab_size + token, there)
            node[:, : n - 2] = -1  # too near the beginning
            nodes.append(node)
        return nodes

    def _index(self, n: int, keys: Tensor, there: Tensor) -> Tensor:
        """Where the keys are among those of length n; −1 where they are not."""
        known = self.keys(n)
        if not len(known):  # a text of the shortest documents
            return torch.full_like(keys, -1)
        at = torch.searchsorted(known, keys).clamp(max=len(known) - 1)
        return torch.where(there & (known[at] == keys), at, -1)

    def _found(self, n: int, keys: Tensor, there: Tensor) -> Tensor:
        """Counts of the n-grams with these keys; 0 of those that never came."""
        if not len(self.keys(n)):
            return torch.zeros_like(keys)
        at = self._index(n, keys, there)
        return self.counts(n)[at.clamp(min=0)] * (at >= 0)

    def _mixed(self, n: int, node: Tensor, count: Tensor, shorter: Tensor) -> Tensor:
        """One level of the formula: all [n], or count and shorter [n, V] with node [n, 1]."""
        total, kinds, discount = self._level(n)
        known = node >= 0
        node = node.clamp(min=0)
        sums = total[node].clamp(min=1)
        own = (count - discount).clamp(min=0) / sums
        rest = discount * kinds[node] / sums
        return torch.where(known & (total[node] > 0), own + rest * shorter, shorter)

    def _all(self, contexts: list[Tensor]) -> Tensor:
        """p of every token after each of some places, contexts [n] each → [n, V]."""
        V, rows = self.config.vocab_size, len(contexts[0])
        p = torch.full((rows, V), 1 / V, device=self.device)
        for n, node in enumerate(contexts, 1):
            known, start = self.keys(n), node.clamp(min=0) * V
            first = torch.searchsorted(known, start)
            lengths = (torch.searchsorted(known, start + V) - first) * (node >= 0)
            row = torch.repeat_interleave(lengths)  # [all children]
            nth = torch.arange(len(row), device=row.device) - (lengths.cumsum(0) - lengths)[row]
            child = first[row] + nth
            count = torch.zeros(rows, V, device=p.device)
            count[row, known[child] % V] = self.counts(n)[child].float()
            p = self._mixed(n, node[:, None], count, p)
        return p

    def _level(self, n: int) -> tuple[Tensor, Tensor, Tensor]:
        """Σc and kinds after each context of length n − 1, and D (Ney et al. 1994)."""
        if self._sums is None:
            self._sums = [self._summed(k) for k in range(1, self.config.order + 1)]
        return self._sums[n - 1]

    def _summed(self, n: int) -> tuple[Tensor, Tensor, Tensor]:
        count = self.counts(n)
        node = self.keys(n) // self.config.vocab_size
        contexts = 1 if n == 1 else max(1, len(self.keys(n - 1)))
        total = torch.bincount(node, weights=count.double(), minlength=contexts).float()
        kinds = torch.bincount(node, minlength=contexts).float()
        once, twice = (count == 1).sum(), (count == 2).sum()
        return total, kinds, once / (once + 2 * twice).clamp(min=1)
