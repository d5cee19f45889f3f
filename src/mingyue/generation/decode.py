"""The loop that writes: score, choose, append, again.

The prompt is read once (prefill) and its keys and values are kept in the KV cache; from then on
each step computes one position only. Several samples of one prompt are rows of one batch. They
are called streams, since each goes its own way and ends at its own time; a stream draws from a
generator of its own, so it is the same whoever else is in the batch.

At the end of the context there are two cases. Learned positions have no further row: the stream
is full. All other schemes go on with the window moved: the last half of it is read again as if
it were the whole text, which costs one prefill per half window.
"""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

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


class Decoding:
    """Streams that begin with the same ids, advanced together one token at a time."""

    def __init__(
        self,
        model: LanguageModel,
        prompt: Sequence[int],
        sampling: Sampling,
        seeds: Sequence[int],
        *,
        never: Sequence[int] = (),
        unpenalised: Sequence[int] = (),
        fast: Step | None = None,
    ):
        """One stream for each of ``seeds``.

        ``never`` are ids that must not be chosen; ``unpenalised`` ids are no repetition however
        often they occur. A prompt longer than the context is cut at its front. ``fast`` is a copy
        of the model made ready for single tokens; the prompt is read by the model itself.

        Raises:
            UserError: the model cannot write, since it sees both directions, or its scores are
                no numbers.
        """
        if not model.config.causal:
            raise UserError(
                tr("this model sees both directions (causal is off), so it cannot go on writing")
            )
        if model.config.kind == "word2vec":
            raise UserError(
                tr("Word2Vec learns what stands near what, not what comes next: it cannot write")
            )
        self.model, self.sampling, self._fast = model, sampling, fast
        self.limit = model.context
        window = list(prompt)[-self.limit :]
        self._capacity = min(self.limit, len(window) + _ROOM)  # of the cache; it grows
        self._windows = [list(window) for _ in seeds]  # ids that each row sees
        self._streams = list(range(len(seeds)))  # which stream each row of the batch is
        self._over: set[int] = set()  # streams that have ended, though still in the batch

        self._generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        self._chances = torch.empty(0)  # [rows, _CHANCES_AT_ONCE]
        self._chances_used = _CHANCES_AT_ONCE
        self._shift = sampling.shift(self._ids(never), model.config.vocab_size)
        self._unpenalised = self._ids(unpenalised)
        self._seen: Tensor | None = None  # [rows, V]
        if sampling.repetition_penalty != 1:
            shape = (len(seeds), model.config.vocab_size)
            self._seen = torch.zeros(shape, dtype=torch.bool, device=self._device)
            self._seen[:, self._ids(prompt)] = True
            self._seen[:, self._unpenalised] = False
        self._cache: Cache
        self._latest = self._ids([0] * len(seeds))  # [rows], the token of each chosen last
        self._logits: Tensor | None = self._prefill([window])  # [1, V], as all begin alike
        if not torch.isfinite(self._logits).all():
            raise UserError(tr("the model's scores are not numbers: its training went wrong"))
        self._pick_rows([0] * len(seeds))

    @property
    def full(self) -> bool:
        """Whether the context has ended for good: the last token has no position to stand on."""
        return self.model.config.position == "learned" and len(self._windows[0]) > self.limit

    @property
    def alive(self) -> list[int]:
        """The streams that have not ended."""
        return [stream for stream in self._streams if stream not in self._over]

    def end(self, stream: int) -> None:
        """Write no more of a stream."""
        self._over.add(stream)

    @torch.no_grad()
    def step(self) -> dict[int, int]:
        """One more token for each living stream, {stream: id}; not to be called when ``full``.

        A token is computed only when the next is asked for, so the last one costs nothing.
        """
        # Not inference_mode: tables that the model makes and keeps in here (RoPE's angles) would
        # be unfit for the training that may go on afterwards.
        if self._logits is None:
            self._leave_behind()
            self._logits = self._advance()
        with nullcontext() if self._fast is None else self._fast.undisturbed():
            logits = self.sampling.apply(self._logits, self._seen, self._shift)
            chosen = logits.argmax(dim=-1) if self.sampling.greedy else draw(logits, self._chance())
        if self._seen is not None:
            self._seen.scatter_(1, chosen[:, None], True)
            self._seen[:, self._unpenalised] = False
        self._logits, self._latest = None, chosen
        ids = chosen.tolist()  # the one point where the device is waited for
        for window, id in zip(self._windows, ids, strict=True):
            window.append(id)
        return {s: id for s, id in zip(self._streams, ids, strict=True) if s not in self._over}

    def _advance(self) -> Tensor:
        """Scores [rows, V] after the token chosen last."""
        if self._cache.length < self.limit:
            if self._cache.length == self._capacity:
                self._capacity = min(self.limit, 2 * self._capacity)
                self._pick_rows(list(range(len(self._streams))))
            if self._fast is not None:
                return self._fast(self._latest, self._cache)
            return self._score(self._latest[:, None])
        self._windows = [window[-max(1, self.limit // 2) :] for window in self._windows]
        return self._prefill(self._windows)

    @torch.no_grad()
    def _prefill(self, windows: list[list[int]]) -> Tensor:
        self._cache = self.model.new_cache(len(windows), self._capacity)
        logits = self._score(self._ids(windows))
        if self._fast is not None:
            self._cache = self._cache.to(self._fast.dtype)
        return logits

    def _score(self, ids: Tensor) -> Tensor:
        with evaluating(self.model):
            logits = self.model(ids, cache=self._cache, last_only=True).logits  # [rows, 1, V]
        return logits[:, -1]

    def _chance(self) -> Tensor:
        """A number in [0, 1) for each row, from the generator of its stream."""
        if self._chances_used == _CHANCES_AT_ONCE:
            rows = [self._generators[stream] for stream in self._streams]
            chances = [torch.rand(_CHANCES_AT_ONCE, generator=generator) for generator in rows]
            self._chances, self._chances_used = torch.stack(chances).to(self._device), 0
        self._chances_used += 1
        return self._chances[:, self._chances_used - 1]

    def _leave_behind(self) -> None:
        """Take ended streams out of the batch, once they are half of it."""
        rows = [row for row, stream in enumerate(self._streams) if stream not in self._over]
        if 2 * len(rows) > len(self._streams):
            return
        self._streams = [self._streams[row] for row in rows]
        self._windows = [self._windows[row] for row in rows]
        if self._chances.numel():
            self._chances = self._chances[rows]
        if self._seen is not None:
            self._seen = self._seen[rows]
        self._pick_rows(rows)

    @torch.no_grad()
    def _pick_rows(self, rows: list[int]) -> None:
        """Make the batch of these rows of the present one."""
        self._cache = self._cache.pick(rows, self._capacity)
        self._latest = self._latest[rows]
        if self._logits is not None:
            self._logits = self._logits[rows]

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
