"""One batch of samples on its way from ids to text.

Each sample is a stream of the ``Decoding`` below, with the pieces of text that it has become so
far, and the reason why it ended once it has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import Field

from mingyue.generation.decode import Decoding
from mingyue.generation.pieces import Pieces
from mingyue.generation.prompt import Prompt, Unknown
from mingyue.generation.sampling import Sampling
from mingyue.interop.run_folder import never_written
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel
from mingyue.model.step import Step
from mingyue.settings import Settings
from mingyue.text.tokenizer import Tokenizer

Reason = Literal["end", "length", "context", "stop"]

_TOKENS = 1024
"""New tokens at most, unless asked for more or the context is shorter."""


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


class Request(Settings):
    """What the caller asks for besides the sampling."""

    n: Annotated[int, Field(ge=1, le=100_000)] = 1
    max_tokens: Annotated[int, Field(ge=1, le=10_000_000)] | None = None
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    unknown: Unknown = "refuse"

    @classmethod
    def of(
        cls,
        n: int,
        max_tokens: int | None,
        seed: int | None,
        stop: str | Sequence[str],
        unknown: str,
    ) -> Self:
        """Checked; one stop text may come without a list around it."""
        stops = (stop,) if isinstance(stop, str) else tuple(stop)
        return cls.checked(n=n, max_tokens=max_tokens, seed=seed, stop=stops, unknown=unknown)


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


class Writing:
    """Samples being written; iterating advances them and gives each new (stream, piece)."""

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: Tokenizer,
        fast: Step | None,
        prompt: Prompt,
        sampling: Sampling,
        seeds: Sequence[int],
        request: Request,
    ):
        self.prompt, self.end_id, self.limit = prompt, tokenizer.end_id, model.context
        self.max_tokens = request.max_tokens or min(model.config.block_size, _TOKENS)
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
            fast=fast,
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
