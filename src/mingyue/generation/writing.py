"""One batch of samples on its way from ids to text.

Each sample is a stream of the ``Decoding`` below, with the pieces of text that it has become so
far, and the reason why it ended once it has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import Field

from mingyue.generation.choosing import Likelihood
from mingyue.generation.decode import Decoding
from mingyue.generation.pieces import Pieces
from mingyue.generation.prompt import Prompt, Unknown
from mingyue.generation.sampling import Sampling
from mingyue.generation.stream import Guide
from mingyue.interop.run_folder import never_written
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel
from mingyue.model.step import Step
from mingyue.settings import Settings
from mingyue.text.tokenizer import Tokenizer

Reason = Literal["end", "length", "context", "stop", "form"]

_TOKENS = 1024
"""New tokens at most, unless asked for more or the context is shorter."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of what was written, as the model itself saw it: without temperature or filters."""

    text: str
    logprob: float  # ln p
    others: tuple[tuple[str, float], ...]  # the likeliest tokens there with their ln p, best first


@dataclass(frozen=True, slots=True)
class Completion:
    """What was written.

    ``reason`` says why it ended: "end" the model ended the text, "stop" a stop string came,
    "length" ``max_tokens`` were written, "context" the model has no position for more, "form"
    the verse asked for is complete. ``seed`` writes the same text again, as the only sample.
    """

    prompt: str  # as the model saw it: adapted
    text: str  # what follows the prompt
    reason: Reason
    seed: int
    n_tokens: int  # new ones, without the end token
    notes: tuple[str, ...] = ()  # what was done to the prompt or the context, translated
    logprob: float | None = None  # mean ln p of the chosen tokens, the end token too, if asked for
    tokens: tuple[Token, ...] = ()  # if asked for


class Request(Settings):
    """What the caller asks for besides the sampling."""

    n: Annotated[int, Field(ge=1, le=100_000)] = 1
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    unknown: Unknown = "refuse"
    probabilities: Annotated[int, Field(ge=0, le=1000)] | None = None
    """So many alternatives are told of each token, and its own probability."""

    @classmethod
    def of(cls, *, stop: str | Sequence[str] = (), **values: object) -> Self:
        """Checked; one stop text may come without a list around it."""
        return cls.checked(stop=(stop,) if isinstance(stop, str) else tuple(stop), **values)


@dataclass(frozen=True)
class Start:
    """A prompt, and the seeds of the samples that go on from it, each with its guide if any."""

    prompt: Prompt
    seeds: Sequence[int]
    guides: Sequence[Guide] | None = None


@dataclass
class _Stream:
    """One sample being written."""

    prompt: Prompt
    seed: int
    pieces: Pieces
    guide: Guide | None
    text: list[str] = field(default_factory=list)
    n_chosen: int = 0  # tokens, with the end token if it came
    reason: Reason | None = None
    chosen: list[tuple[int, Likelihood]] = field(default_factory=list)

    @property
    def n_tokens(self) -> int:
        return self.n_chosen - (self.reason == "end")


class Writing:
    """Samples being written; iterating advances them and gives each new (stream, piece)."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        fast: Step | None,
        starts: Sequence[Start],
        sampling: Sampling,
        request: Request,
    ):
        self.tokenizer, self.end_id, self.limit = tokenizer, tokenizer.end_id, model.context
        self.max_tokens = request.max_tokens or min(model.config.block_size, _TOKENS)
        self.told = request.probabilities
        self.streams = [
            _Stream(
                start.prompt,
                seed,
                Pieces(tokenizer.decode_stream(), request.stop),
                start.guides[i] if start.guides else None,
            )
            for start in starts
            for i, seed in enumerate(start.seeds)
        ]
        self.decoding = Decoding(
            model,
            never=never_written(model.config, tokenizer),
            unpenalised=[self.end_id],  # else a text would shun its end from the beginning
            fast=fast,
            watch=self.told,
        )
        for start in starts:
            self.decoding.begin(start.prompt.ids, sampling, start.seeds, start.guides)
        self._share = 0.0  # of ``max_tokens``, how many steps have been made

    def __iter__(self) -> Iterator[tuple[_Stream, str]]:
        for step in range(self.max_tokens):
            self._share = step / self.max_tokens
            for number in self.decoding.full:
                self._end(number, "context")
            if not self.decoding.alive:
                break
            for number, id in self.decoding.step().items():
                stream = self.streams[number]
                stream.n_chosen += 1
                if self.told is not None:
                    stream.chosen.append((id, self.decoding.likelihoods[number]))
                if id == self.end_id:
                    self._end(number, "end")
                    continue
                yield stream, self._add(stream, stream.pieces.push(id))
                if stream.pieces.stopped:
                    self._end(number, "stop")
                elif stream.guide is not None and stream.guide.done:
                    self._end(number, "form")
        for stream in self.streams:
            yield stream, self._add(stream, stream.pieces.finish())
            if stream.pieces.stopped:  # the last characters were held back, and stop
                stream.reason = "stop"

    def pieces(self) -> Iterator[str | Completion]:
        """What becomes of a single sample: its text piece by piece, last the ``Completion``."""
        for _, piece in self:
            if piece:
                yield piece
        yield from self.completions()

    @property
    def written(self) -> float:
        """How many samples are written; those in hand count in part."""
        alive = len(self.decoding.alive)
        return len(self.streams) - alive * (1 - self._share)

    def _end(self, number: int, reason: Reason) -> None:
        self.streams[number].reason = reason
        self.decoding.end(number)

    def _add(self, stream: _Stream, piece: str) -> str:
        stream.text.append(piece)
        return piece

    def completions(self) -> list[Completion]:
        """All of them; after the iteration."""
        return [
            Completion(
                stream.prompt.text,
                "".join(stream.text),
                stream.reason or "length",
                stream.seed,
                stream.n_tokens,
                (*stream.prompt.notes, *self._notes(stream)),
                _mean(stream) if self.told is not None else None,
                tuple(map(self._token, stream.chosen)) if self.told else (),
            )
            for stream in self.streams
        ]

    def _token(self, chosen: tuple[int, Likelihood]) -> Token:
        id, (logprob, others) = chosen
        piece = self.tokenizer.token_text
        return Token(piece(id), logprob, tuple((piece(other), p) for other, p in others))

    def _notes(self, stream: _Stream) -> Iterator[str]:
        """What the end of the context meant for one sample."""
        limit = self.limit
        if stream.reason == "context":
            yield tr("the context of {limit} tokens (block_size) is full", limit=limit)
        # The last token is never read again, so it may stand one place beyond.
        elif min(len(stream.prompt.ids), limit) + stream.n_chosen > limit + 1:
            yield tr(
                "longer than the context of {limit} tokens (block_size); "
                "the model saw only the latest",
                limit=limit,
            )


def _mean(stream: _Stream) -> float:
    return sum(likelihood.logprob for _, likelihood in stream.chosen) / max(1, stream.n_chosen)
