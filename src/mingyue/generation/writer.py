"""Load a run folder and write.

    poet = load("runs/tang")
    print(poet.generate("床前明月光")[0].text)

A text begins after an end token, as every document did in training. The prompt is first put into
the characters the vocabulary has; what was changed is said in the notes of the ``Completion``.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from mingyue.errors import UserError
from mingyue.generation.decode import Decoding, stream_seed
from mingyue.generation.pieces import Pieces
from mingyue.generation.prompt import Prompt, Unknown, prepare
from mingyue.generation.sampling import Sampling
from mingyue.interop.run_folder import load_model, never_written
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.settings import Settings
from mingyue.text.tokenizer import Tokenizer

Reason = Literal["end", "length", "context", "stop"]
Bias = Mapping[int, float] | Mapping[str, float] | Mapping[int | str, float]

_TOKENS = 1024
"""New tokens at most, unless asked for more or the context is shorter."""

_ROWS = 64
"""Samples written side by side; more are written in several batches."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What was written.

    ``reason`` says why it ended: "end" the model ended the text, "stop" a stop string came,
    "length" ``max_tokens`` were written, "context" the model has no position for more.
    ``seed`` writes the same text again, as the only sample.
    """

    prompt: str  # as the model saw it: adapted
    text: str  # what follows the prompt
    reason: Reason
    seed: int
    n_tokens: int  # new ones, without the end token
    notes: tuple[str, ...] = ()  # what was done to the prompt or the context, translated


class _Request(Settings):
    """What the caller asks for besides the sampling."""

    n: Annotated[int, Field(ge=1, le=100_000)] = 1
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    unknown: Unknown = "refuse"


@dataclass
class _Stream:
    """One sample being written."""

    seed: int
    pieces: Pieces
    text: list[str] = field(default_factory=list)
    n_chosen: int = 0  # tokens, with the end token if it came
    reason: Reason | None = None

    @property
    def n_tokens(self) -> int:
        return self.n_chosen - (self.reason == "end")


class Writer:
    """A model that writes, with its tokenizer and what is known about it (``mingyue.json``)."""

    def __init__(
        self, model: GPT, tokenizer: Tokenizer, about: Mapping[str, Any] | None = None
    ) -> None:
        self.model, self.tokenizer, self.about = model, tokenizer, dict(about or {})

    def generate(
        self,
        prompt: str = "",
        *,
        n: int = 1,
        max_tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        logit_bias: Bias | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        unknown: Unknown = "refuse",
    ) -> list[Completion]:
        """Write ``n`` samples that go on after ``prompt``.

        Each ends with the model's end token, a ``stop`` string (left out), or after
        ``max_tokens`` new tokens, by default as many as the context holds (``block_size``), at
        most 1,024. Where the context is full, learned positions end the text; with all others
        the window moves on.

        ``temperature`` 0 takes the likeliest token each time. ``logit_bias`` goes by id or by
        the text of a single token. For equal ``seed`` the samples are equal; sample *i* does not
        depend on ``n``. Prompt characters that the vocabulary lacks even in another form are an
        error, or left out if ``unknown`` is "drop".

        Raises:
            UserError: a value out of range, unknown characters, a prompt too long for learned
                positions, or a model that cannot write.
        """
        samples = self.samples(
            prompt,
            n=n,
            max_tokens=max_tokens,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            typical_p=typical_p,
            repetition_penalty=repetition_penalty,
            logit_bias=logit_bias,
            seed=seed,
            stop=stop,
            unknown=unknown,
        )
        return list(samples)

    def samples(
        self,
        prompt: str = "",
        *,
        n: int = 1,
        max_tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        logit_bias: Bias | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        unknown: Unknown = "refuse",
    ) -> Iterator[Completion]:
        """What ``generate`` gives for the same values, each batch as soon as it is written.

        So many samples take neither a long silence nor the memory to hold them all.

        Raises:
            UserError: as ``generate``, at the call and not at the first sample.
        """
        sampling = self._sampling(
            temperature, top_k, top_p, min_p, typical_p, repetition_penalty, logit_bias
        )
        request = _request(n, max_tokens, seed, stop, unknown)
        ready = prepare(prompt, self.tokenizer, self.model.config, request.unknown)
        first = secrets.randbelow(2**32) if request.seed is None else request.seed

        def batch(start: int) -> _Writing:
            seeds = [stream_seed(first, i) for i in range(start, min(start + _ROWS, request.n))]
            return _Writing(self, ready, sampling, seeds, request)

        return _in_batches(batch(0), (batch(start) for start in range(_ROWS, request.n, _ROWS)))

    def stream(
        self,
        prompt: str = "",
        *,
        max_tokens: int | None = None,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        min_p: float = 0.0,
        typical_p: float = 1.0,
        repetition_penalty: float = 1.0,
        logit_bias: Bias | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
        unknown: Unknown = "refuse",
    ) -> Iterator[str | Completion]:
        """Write one sample, its text piece by piece and last the ``Completion``.

        The pieces joined are the completion's text: what ``generate`` gives for the same values.

        Raises:
            UserError: as ``generate``, at the call and not at the first piece.
        """
        sampling = self._sampling(
            temperature, top_k, top_p, min_p, typical_p, repetition_penalty, logit_bias
        )
        request = _request(1, max_tokens, seed, stop, unknown)
        ready = prepare(prompt, self.tokenizer, self.model.config, request.unknown)
        first = secrets.randbelow(2**32) if request.seed is None else request.seed
        return _streamed(_Writing(self, ready, sampling, [first], request))

    def _sampling(
        self,
        temperature: float,
        top_k: int,
        top_p: float,
        min_p: float,
        typical_p: float,
        repetition_penalty: float,
        logit_bias: Bias | None,
    ) -> Sampling:
        return Sampling.checked(
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            min_p=min_p,
            typical_p=typical_p,
            repetition_penalty=repetition_penalty,
            logit_bias={self._id_of(k): v for k, v in (logit_bias or {}).items()},
        )

    def _id_of(self, token: int | str) -> int:
        """The id that a key of ``logit_bias`` means."""
        if isinstance(token, int):
            ids = [token] if 0 <= token < self.tokenizer.vocab_size else []
        else:
            ids = [] if self.tokenizer.unknown(token) else self.tokenizer.encode(token)
        if len(ids) != 1:
            raise UserError(
                tr("logit_bias: {token} is not one token of this vocabulary", token=repr(token))
            )
        return ids[0]


class _Writing:
    """Samples being written; iterating advances them and gives each new (stream, piece)."""

    def __init__(
        self,
        writer: Writer,
        prompt: Prompt,
        sampling: Sampling,
        seeds: Sequence[int],
        request: _Request,
    ):
        model, tokenizer = writer.model, writer.tokenizer
        self.prompt, self.end_id, self.limit = prompt, tokenizer.end_id, model.config.block_size
        self.max_tokens = request.max_tokens or min(self.limit, _TOKENS)
        self.streams = [
            _Stream(seed, Pieces(tokenizer.decode_stream(), request.stop)) for seed in seeds
        ]
        self.decoding = Decoding(
            model,
            prompt.ids,
            sampling,
            seeds,
            never=never_written(model.config, tokenizer),
            unpenalised=[self.end_id],  # else a text would shun its end from the beginning
        )

    def __iter__(self) -> Iterator[tuple[_Stream, str]]:
        for _ in range(self.max_tokens):
            if not (alive := self.decoding.alive):
                break
            if self.decoding.full:
                for number in alive:
                    self.streams[number].reason = "context"
                break
            for number, id in self.decoding.step().items():
                stream = self.streams[number]
                stream.n_chosen += 1
                if id == self.end_id:
                    stream.reason = "end"
                else:
                    yield stream, self._add(stream, stream.pieces.push(id))
                    if stream.pieces.stopped:
                        stream.reason = "stop"
                if stream.reason is not None:
                    self.decoding.end(number)
        for stream in self.streams:
            yield stream, self._add(stream, stream.pieces.finish())
            if stream.pieces.stopped:  # the last characters were held back, and stop
                stream.reason = "stop"

    def _add(self, stream: _Stream, piece: str) -> str:
        stream.text.append(piece)
        return piece

    def completions(self) -> list[Completion]:
        """All of them; after the iteration."""
        return [
            Completion(
                self.prompt.text,
                "".join(stream.text),
                stream.reason or "length",
                stream.seed,
                stream.n_tokens,
                (*self.prompt.notes, *self._notes(stream)),
            )
            for stream in self.streams
        ]

    def _notes(self, stream: _Stream) -> Iterator[str]:
        """What the end of the context meant for one sample."""
        limit = self.limit
        if stream.reason == "context":
            yield tr("the context of {limit} tokens (block_size) is full", limit=limit)
        # The last token is never read again, so it may stand one place beyond.
        elif min(len(self.prompt.ids), limit) + stream.n_chosen > limit + 1:
            yield tr(
                "longer than the context of {limit} tokens (block_size); "
                "the model saw only the latest",
                limit=limit,
            )


def _streamed(writing: _Writing) -> Iterator[str | Completion]:
    for _, piece in writing:
        if piece:
            yield piece
    yield from writing.completions()


def _in_batches(first: _Writing, others: Iterator[_Writing]) -> Iterator[Completion]:
    """All samples, batch by batch; the first one is there, so that its errors have been told."""
    for writing in chain([first], others):
        for _ in writing:
            pass
        yield from writing.completions()


def _request(
    n: int, max_tokens: int | None, seed: int | None, stop: str | Sequence[str], unknown: str
) -> _Request:
    stops = (stop,) if isinstance(stop, str) else tuple(stop)
    return _Request.checked(n=n, max_tokens=max_tokens, seed=seed, stop=stops, unknown=unknown)


def load(folder: str | Path, *, device: str = "auto") -> Writer:
    """The writer of a run folder, or of any transformers folder of a known family.

    ``device`` "auto" is CUDA where there is one, else the CPU.

    Raises:
        UserError: the folder is none, or is damaged (see ``interop.run_folder.load_model``).
    """
    if device == "auto":
        import torch

        device = "cuda" if torch.cuda.is_available() else "cpu"
    return Writer(*load_model(folder, device))
