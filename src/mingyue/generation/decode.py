"""The loop that writes: score, choose, append, again.

A prompt is read once (prefill) and its keys and values are kept in the KV cache; from then on
each step computes one position only. All texts on their way are rows of one batch, whatever
their prompts and lengths; new ones may join at any time. They are called streams, since each goes
its own way and ends at its own time; a stream draws from a generator of its own, so it is the
same whoever else is in the batch.

At the end of the context there are two cases. Learned positions have no further row: the stream
is full. All other schemes go on with the window moved: the last half of it is read again as if
it were the whole text, which costs one prefill per half window.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from mingyue.errors import UserError
from mingyue.generation.sampling import Sampling, draw
from mingyue.language import tr
from mingyue.model.cache import Cache
from mingyue.model.language_model import LanguageModel
from mingyue.model.step import Step

_CHANCES_AT_ONCE = 256
_ROOM = 256  # tokens that the cache has room for beyond the prompt, before it grows


def stream_seed(seed: int, stream: int) -> int:
    """The seed of one of several streams; that of the first is ``seed`` itself."""
    if stream == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} {stream}".encode()).digest()[:4], "big")


class Guide(Protocol):
    """What holds one stream to something: asked before each token, told of it afterwards."""

    @property
    def done(self) -> bool:
        """Whether the text is complete."""
        ...

    def shift(self) -> Tensor | None:
        """What is added to the scores of the next token, [V]; −∞ forbids."""
        ...

    def took(self, id: int) -> None:
        """This token was chosen."""
        ...


class Likelihood(NamedTuple):
    """How likely the model itself held a token, and what it held likely instead."""

    logprob: float  # ln p, without temperature, filters or guides
    others: tuple[tuple[int, float], ...]  # the likeliest ids with their ln p, best first


@dataclass(eq=False)  # a row is itself alone, however alike another is
class _Row:
    """One stream while it is in the batch."""

    stream: int
    window: list[int]  # ids that it sees, the latest last
    read: int  # how many of them are in the cache
    sampling: Sampling
    guide: Guide | None
    chances: Iterator[float]
    seen: Tensor | None = field(default=None)  # [V] bool, for the repetition penalty


class Decoding:
    """Streams that are advanced together, one token at a time."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        never: Sequence[int] = (),
        unpenalised: Sequence[int] = (),
        fast: Step | None = None,
        watch: int | None = None,
    ):
        """Without streams yet; ``begin`` adds some.

        ``never`` are ids that must not be chosen; ``unpenalised`` ids are no repetition however
        often they occur. ``fast`` is a copy of the model made ready for single tokens; prompts
        are read by the model itself. With ``watch`` each token's ``Likelihood`` is kept, with so
        many others beside it.

        Raises:
            UserError: the model cannot write, since it sees both directions.
        """
        if not model.config.causal:
            raise UserError(
                tr("this model sees both directions (causal is off), so it cannot go on writing")
            )
        if model.config.kind == "word2vec":
            raise UserError(
                tr("Word2Vec learns what stands near what, not what comes next: it cannot write")
            )
        self.model, self.limit, self._fast, self._watch = model, model.context, fast, watch
        self.likelihoods: dict[int, Likelihood] = {}
        """Of the tokens of the last step, by stream, if watched."""
        self._never, self._unpenalised = self._ids(never), self._ids(unpenalised)
        self._shifts: dict[int, tuple[Sampling, Tensor | None]] = {}
        self._rows: list[_Row] = []
        self._over: set[int] = set()  # streams that have ended, though still in the batch
        self._n_streams = self._capacity = 0
        self._cache: Cache
        self._latest = self._ids([])  # [rows], the token of each chosen last; of no use at first
        self._logits: Tensor | None = None  # [rows, V] after it, once they are computed

    def begin(
        self,
        prompt: Sequence[int],
        sampling: Sampling,
        seeds: Sequence[int],
        guides: Sequence[Guide] | None = None,
    ) -> list[int]:
        """One new stream for each of ``seeds``, all after the same prompt; their numbers.

        A prompt longer than the context is cut at its front.

        Raises:
            UserError: the model's scores are no numbers.
        """
        if self._rows and self._logits is None:
            self._logits = self._advance()  # the others wait at the same point
        window = list(prompt)[-self.limit :]
        capacity = min(self.limit, len(window) + _ROOM)  # it grows
        cache, logits = self._read([window], capacity)  # logits [1, V], as all begin alike
        if not torch.isfinite(logits).all():
            raise UserError(tr("the model's scores are not numbers: its training went wrong"))
        numbers = list(range(self._n_streams, self._n_streams + len(seeds)))
        self._n_streams += len(seeds)
        new = [
            _Row(
                stream,
                list(window),
                len(window),
                sampling,
                guides[i] if guides else None,
                _chances(seeds[i]),
                self._seen(prompt) if sampling.repetition_penalty != 1 else None,
            )
            for i, stream in enumerate(numbers)
        ]
        cache = cache.pick([0] * len(new), capacity)
        if self._rows:
            assert self._logits is not None
            capacity = max(capacity, self._capacity)
            cache = self._cache.joined(cache, capacity)
            self._logits = torch.cat([self._logits, logits.repeat(len(new), 1)])
        else:
            self._logits = logits.repeat(len(new), 1)
        self._cache, self._capacity = cache, capacity
        self._rows += new
        self._latest = torch.zeros(len(self._rows), dtype=torch.long, device=self._device)
        return numbers

    @property
    def alive(self) -> list[int]:
        """The streams that have not ended."""
        return [row.stream for row in self._rows if row.stream not in self._over]

    def full(self, stream: int) -> bool:
        """Whether the context of a living stream has ended for good: its last token has no
        position to stand on. It must be ended then."""
        if self.model.config.position != "learned":
            return False
        row = next(row for row in self._rows if row.stream == stream)
        return len(row.window) > self.limit

    def end(self, stream: int) -> None:
        """Write no more of a stream."""
        self._over.add(stream)

    @torch.no_grad()
    def step(self) -> dict[int, int]:
        """One more token for each living stream, {stream: id}; there must be one.

        A token is computed only when the next is asked for, so the last one costs nothing.
        """
        # Not inference_mode: tables that the model makes and keeps in here (RoPE's angles) would
        # be unfit for the training that may go on afterwards.
        self._leave_behind()
        if self._logits is None:
            self._logits = self._advance()
        with nullcontext() if self._fast is None else self._fast.undisturbed():
            chosen = self._choose(self._logits)
            ids = chosen.tolist()  # the one point where the device is waited for
            if self._watch is not None:
                self.likelihoods = self._looked_at(self._logits, chosen)
        self._logits, self._latest = None, chosen
        written = {}
        for row, id in zip(self._rows, ids, strict=True):
            row.window.append(id)
            if row.stream in self._over:
                continue
            written[row.stream] = id
            if row.guide is not None:
                row.guide.took(id)
            if row.seen is not None:
                row.seen[id] = True
                row.seen[self._unpenalised] = False
        return written

    def _choose(self, logits: Tensor) -> Tensor:
        """A token for each row, as its sampling, guide and chance have it: [rows, V] → [rows]."""
        guided = [row.guide.shift() if row.guide else None for row in self._rows]
        if any(shift is not None for shift in guided):
            nothing = torch.zeros_like(logits[0])
            shifts = [nothing if shift is None else shift.to(logits) for shift in guided]
            logits = logits + torch.stack(shifts)
        chance = torch.tensor([next(row.chances) for row in self._rows], device=logits.device)
        chosen = torch.zeros_like(self._latest)
        for sampling, rows in self._alike():
            among = self._rows[rows] if isinstance(rows, slice) else [self._rows[i] for i in rows]
            seen = [row.seen for row in among if row.seen is not None]
            scores = sampling.apply(
                logits[rows], torch.stack(seen) if seen else None, self._shift(sampling)
            )
            chosen[rows] = scores.argmax(dim=-1) if sampling.greedy else draw(scores, chance[rows])
        return chosen

    def _shift(self, sampling: Sampling) -> Tensor | None:
        """Bias and forbidden ids, [1, V], made once for each way of sampling."""
        if id(sampling) not in self._shifts:
            size = self.model.config.vocab_size
            self._shifts[id(sampling)] = sampling, sampling.shift(self._never, size)
        return self._shifts[id(sampling)][1]

    def _alike(self) -> Iterable[tuple[Sampling, list[int] | slice]]:
        """Rows that sample in the same way, together."""
        if all(row.sampling is self._rows[0].sampling for row in self._rows):
            return [(self._rows[0].sampling, slice(None))]  # no copy for the usual case
        groups: dict[int, tuple[Sampling, list[int]]] = {}
        for i, row in enumerate(self._rows):
            groups.setdefault(id(row.sampling), (row.sampling, []))[1].append(i)
        return groups.values()

    def _looked_at(self, logits: Tensor, chosen: Tensor) -> dict[int, Likelihood]:
        logs = logits.float().log_softmax(dim=-1)  # [rows, V]
        own = logs.gather(1, chosen[:, None])[:, 0].tolist()
        best = logs.topk(min(self._watch or 0, logs.shape[1]), dim=-1)
        others = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return {
            row.stream: Likelihood(logprob, tuple(zip(ids, values, strict=True)))
            for row, logprob, (ids, values) in zip(self._rows, own, others, strict=True)
        }

    def _advance(self) -> Tensor:
        """Scores [rows, V] after the token chosen last."""
        moved = [i for i, row in enumerate(self._rows) if row.read >= self.limit]
        if not moved:
            return self._go_on()
        stay = [i for i in range(len(self._rows)) if i not in set(moved)]
        again = [self._rows[i] for i in moved]
        for row in again:
            row.window = row.window[-max(1, self.limit // 2) :]
            row.read = len(row.window)
        cache, logits = self._read([row.window for row in again], self._capacity)
        if stay:
            self._pick_rows(stay)
            logits = torch.cat([self._go_on(), logits])
            cache = self._cache.joined(cache, self._capacity)
        self._rows = [row for row in self._rows if row not in again] + again
        self._cache = cache
        return logits

    def _go_on(self) -> Tensor:
        """The same where every row has room for one token more."""
        if self._cache.length >= self._capacity:
            if max(row.read for row in self._rows) >= self._capacity:
                self._capacity = min(self.limit, 2 * self._capacity)
            self._cache = self._cache.pick(range(len(self._rows)), self._capacity)
        for row in self._rows:
            row.read += 1
        if self._fast is not None:
            return self._fast(self._latest, self._cache)
        return self._score(self._latest[:, None], self._cache)

    @torch.no_grad()
    def _read(self, windows: list[list[int]], capacity: int) -> tuple[Cache, Tensor]:
        """The prefill: windows of equal length, and the scores [rows, V] after them."""
        cache = self.model.new_cache(len(windows), capacity)
        logits = self._score(self._ids(windows), cache)
        return (cache if self._fast is None else cache.to(self._fast.dtype)), logits

    def _score(self, ids: Tensor, cache: Cache) -> Tensor:
        with evaluating(self.model):
            logits = self.model(ids, cache=cache, last_only=True).logits  # [rows, 1, V]
        return logits[:, -1]

    def _leave_behind(self) -> None:
        """Take ended streams out of the batch, once they are half of it or have no room left."""
        over = [row for row in self._rows if row.stream in self._over]
        if not over:
            return
        if 2 * len(over) >= len(self._rows) or any(row.read >= self.limit for row in over):
            self._pick_rows([i for i, row in enumerate(self._rows) if row not in over])

    @torch.no_grad()
    def _pick_rows(self, rows: list[int]) -> None:
        """Make the batch of these rows of the present one."""
        self._rows = [self._rows[i] for i in rows]
        self._cache = self._cache.pick(rows, self._capacity)
        self._latest = self._latest[rows]
        if self._logits is not None:
            self._logits = self._logits[rows]

    def _seen(self, prompt: Sequence[int]) -> Tensor:
        seen = torch.zeros(self.model.config.vocab_size, dtype=torch.bool, device=self._device)
        seen[self._ids(prompt)] = True
        seen[self._unpenalised] = False
        return seen

    @property
    def _device(self) -> torch.device:
        return self.model.device

    def _ids(self, ids: object) -> Tensor:
        return torch.tensor(ids, dtype=torch.long, device=self._device)


def _chances(seed: int) -> Iterator[float]:
    """Numbers in [0, 1), the same ones for the same seed, without end."""
    generator = torch.Generator().manual_seed(seed)
    while True:
        yield from torch.rand(_CHANCES_AT_ONCE, generator=generator).tolist()


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Without dropout while it lasts, even in the midst of training."""
    if not model.training:
        yield
        return
    model.eval()
    try:
        yield
    finally:
        model.train()
