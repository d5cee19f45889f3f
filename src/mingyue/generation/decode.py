"""The loop that writes: score, choose, append, again.

A prompt is read once (prefill) and its keys and values are kept in the KV cache; from then on
each step computes one position only. All texts on their way are rows of one batch, whatever
their prompts and lengths; new ones may join at any time, and each may end at any time
(``stream``).

At the end of the context there are two cases. Learned positions have no further row: the stream
is full. All other schemes go on with the window moved: the last half of it is read again as if
it were the whole text, which costs one prefill per half window.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor, nn

from mingyue.errors import UserError
from mingyue.generation.choosing import Likelihood, choose, likelihoods
from mingyue.generation.sampling import Sampling
from mingyue.generation.stream import Guide, Stream, Way, chances
from mingyue.language import tr
from mingyue.model.cache import Cache, KVCache
from mingyue.model.language_model import ENDLESS, LanguageModel
from mingyue.model.step import Step

_ROOM = 256  # tokens that the cache has room for beyond the prompt, before it grows
_AT_ONCE = 4096  # tokens of a prompt that are read in one piece


class _Joining(NamedTuple):
    """Streams after one prompt that will be in the batch from the next step on."""

    cache: Cache  # of one row, as all begin alike
    logits: Tensor  # [1, V]
    streams: list[Stream]


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
        self._half = 0 if self.limit == ENDLESS else max(1, self.limit // 2)
        self.likelihoods: dict[int, Likelihood] = {}
        """Of the tokens of the last step, by stream, if watched."""
        self._never, self._unpenalised = self._ids(never), self._ids(unpenalised)
        self._n_streams = 0  # begun so far
        self._living: dict[int, Stream] = {}
        self._joining: list[_Joining] = []
        self._rows: list[Stream] = []  # the batch; some of it may have ended
        self._cache: Cache | None = None  # what these have read: all but the latest token
        self._latest = self._ids([])  # [rows], that token

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
        window = list(prompt[-self.limit :])
        cache, logits = self._read([window])
        # Counts may call some tokens impossible (−∞), but not all.
        if not torch.isfinite(logits.amax(dim=-1)).all():
            raise UserError(tr("the model's scores are not numbers: its training went wrong"))
        numbers = list(range(self._n_streams, self._n_streams + len(seeds)))
        self._n_streams += len(seeds)
        way = self._way(sampling)
        streams = [
            Stream(
                number,
                way,
                chances(seeds[i]),
                guides[i] if guides else None,
                self._seen(prompt) if sampling.repetition_penalty != 1 else None,
                len(window),
                deque(window, maxlen=self._half),
            )
            for i, number in enumerate(numbers)
        ]
        self._joining.append(_Joining(cache, logits, streams))
        self._living.update(zip(numbers, streams, strict=True))
        return numbers

    @property
    def alive(self) -> list[int]:
        """The streams that have not ended."""
        return list(self._living)

    @property
    def full(self) -> list[int]:
        """The living streams whose context has ended for good: their last token has no position
        to stand on. They must be ended before the next step."""
        if self.model.config.position != "learned":
            return []
        return [n for n, stream in self._living.items() if stream.length > self.limit]

    def end(self, number: int) -> None:
        """Write no more of a stream."""
        stream = self._living.pop(number)
        stream.over, stream.guide = True, None

    @torch.no_grad()
    def step(self) -> dict[int, int]:
        """One more token for each living stream, {stream: id}.

        A token is computed only when the next is asked for, so the last one costs nothing.
        """
        # Not inference_mode: tables that the model makes and keeps in here (RoPE's angles) would
        # be unfit for the training that may go on afterwards.
        self._let_go()
        if not self._living:
            return {}
        logits = [self._advance()] if self._rows else []
        scores = torch.cat(logits + self._join()) if self._joining else logits[0]  # [rows, V]
        with nullcontext() if self._fast is None else self._fast.undisturbed():
            self._latest = choose(scores, self._rows)
            ids = self._latest.tolist()  # the one point where the device is waited for
            seen = None
            if self._watch is not None:
                seen = likelihoods(scores, self._latest, self._watch)
        for stream, id in zip(self._rows, ids, strict=True):
            self._append(stream, id)
        if seen is not None:
            pairs = zip(self._rows, seen, strict=True)
            self.likelihoods = {row.number: likely for row, likely in pairs if not row.over}
        return {
            stream.number: id for stream, id in zip(self._rows, ids, strict=True) if not stream.over
        }

    def _append(self, stream: Stream, id: int) -> None:
        stream.latest.append(id)
        stream.length += 1
        if stream.guide is not None:
            stream.guide.took(id)
        if stream.seen is not None:
            stream.seen[id] = True
            stream.seen[self._unpenalised] = False

    def _let_go(self) -> None:
        """Take ended streams out of the batch, once they are half of it or have no room left."""
        self._joining = [new for new in self._joining if not all(s.over for s in new.streams)]
        over = [row for row in self._rows if row.over]
        if 2 * len(over) < len(self._rows) and not any(row.length > self.limit for row in over):
            return
        kept = [i for i, row in enumerate(self._rows) if not row.over]
        if kept and self._cache is not None:
            self._cache = self._cache.gather([(self._cache, kept)])
            self._latest = self._latest[kept]
        else:
            self._cache = None
        self._rows = [self._rows[i] for i in kept]

    def _advance(self) -> Tensor:
        """Scores [rows, V] after the latest token of each."""
        assert self._cache is not None
        if moved := [i for i, row in enumerate(self._rows) if row.length > self.limit]:
            self._move(moved)
        self._cache = self._cache.with_room()
        if self._fast is not None:
            return self._fast(self._latest, self._cache)
        return self._score(self._latest[:, None], self._cache)

    def _move(self, moved: list[int]) -> None:
        """Begin a new window in these rows: the last half of the old, less the latest token."""
        rows = [self._rows[i] for i in moved]
        cache, _ = self._read([list(row.latest)[:-1] for row in rows])
        for row in rows:
            row.length = self._half
        if len(moved) == len(self._rows):
            self._cache = cache
        else:
            assert isinstance(self._cache, KVCache) and isinstance(cache, KVCache)
            self._cache.replace(moved, cache)

    def _join(self) -> list[Tensor]:
        """Take new streams into the batch, those that ended meanwhile too; scores [n, V] after
        the prompt of each."""
        own = [] if self._cache is None else [(self._cache, range(len(self._rows)))]
        parts = [*own, *((new.cache, [0] * len(new.streams)) for new in self._joining)]
        self._cache = parts[0][0].gather(parts)
        self._rows += [stream for new in self._joining for stream in new.streams]
        logits = [new.logits.expand(len(new.streams), -1) for new in self._joining]
        self._joining = []
        return logits

    @torch.no_grad()
    def _read(self, windows: list[list[int]]) -> tuple[Cache, Tensor]:
        """The prefill: windows of equal length, and the scores [rows, V] after them."""
        ids = self._ids(windows)  # [rows, T]
        T = ids.shape[1]
        cache = self.model.new_cache(len(ids), min(self.limit, T + _ROOM))
        logits = torch.empty(0)
        for start in range(0, T, _AT_ONCE):
            logits = self._score(ids[:, start : start + _AT_ONCE], cache)
        return (cache if self._fast is None else cache.to(self._fast.dtype)), logits

    def _score(self, ids: Tensor, cache: Cache) -> Tensor:
        with evaluating(self.model):
            logits = self.model(ids, cache=cache, last_only=True).logits  # [rows, 1, V]
        assert logits is not None
        return logits[:, -1]

    def _way(self, sampling: Sampling) -> Way:
        """Made once for all that sample alike, so that they are handled together."""
        for stream in chain(self._living.values(), self._rows):
            if stream.way.sampling == sampling:
                return stream.way
        return Way(sampling, sampling.shift(self._never, self.model.config.vocab_size))

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
