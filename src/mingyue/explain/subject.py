"""Who is looked at: a model, its tokenizer, and a text put into ids."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.generation.decode import evaluating
from mingyue.generation.prompt import Prompt, prepare
from mingyue.generation.writer import Writer
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.hooks import NamesFilter, run_with_cache
from mingyue.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset

Found = TypeVar("Found")


@dataclass(frozen=True)
class Subject:
    """A model and the text it reads.

    ``ids`` begins with the end token, after which every document began in training; ``labels``
    are what each token looks like, the end token as ⏎ would mislead, so it is ``▷``. Nothing that
    is kept here is in anybody's language: one subject serves a page in two.
    """

    writer: Writer
    text: str  # as far as the model knows it
    ids: Tensor  # [1, T]
    labels: Sequence[str]  # T of them
    given: str  # the text as it was typed
    dataset: "Dataset | None" = field(default=None)  # the model's own text, where it is at hand
    folder: Path | None = None  # the run's, where it is one
    _found: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        writer: Writer,
        text: str,
        dataset: "Dataset | None" = None,
        folder: Path | None = None,
    ) -> "Subject":
        """Put ``text`` before the model.

        Characters that the vocabulary lacks in every form are left out, and a text longer than
        the context is cut at its end; the notes say so.

        Raises:
            UserError: nothing of the text is left, or the model is no Transformer.
        """
        if not isinstance(writer.model, GPT):
            raise UserError(
                tr(
                    "this run is a model of the kind {kind}; exhibits look inside a GPT",
                    kind=writer.model.config.kind,
                )
            )
        ids = _prompt(writer, text).ids
        if len(ids) < 2:
            raise UserError(
                tr(
                    "the model knows no character of {text}; give another text",
                    text=repr(text[:20]),
                )
            )
        ids = ids[: writer.model.config.block_size]
        labels = [label(writer.tokenizer, i) for i in ids]
        shown = writer.tokenizer.decode(ids[1:])
        return cls(writer, shown, torch.tensor([ids]), labels, text, dataset, folder)

    @property
    def notes(self) -> list[str]:
        """What was done to the text, in the language now in force."""
        prompt, room = _prompt(self.writer, self.given), self.model.config.block_size
        if len(prompt.ids) <= room:
            return prompt.notes
        return [
            *prompt.notes,
            tr(
                "only the first {n} tokens are shown: the model's context holds no more",
                n=room - 1,
            ),
        ]

    def once(self, compute: Callable[..., Found], *given: Any) -> Found:
        """``compute(self, *given)``, computed the first time and remembered.

        For what takes long: a page asks once for each of its languages. So no words may be in it.
        """
        if (compute, *given) not in self._found:
            self._found[compute, *given] = compute(self, *given)
        return self._found[compute, *given]

    @property
    def model(self) -> GPT:
        assert isinstance(self.writer.model, GPT)
        return self.writer.model

    @property
    def tokenizer(self) -> Tokenizer:
        return self.writer.tokenizer

    @torch.no_grad()
    def see(self, names: NamesFilter = None, ids: Tensor | None = None) -> dict[str, Tensor]:
        """Activations of the text (or of other ``ids`` [B, T]) by name; see ``model.observed``."""
        with evaluating(self.model):
            return run_with_cache(self.model, self.ids if ids is None else ids, names)[1]

    @cached_property
    def logits(self) -> Tensor:
        """Scores of the next token at every position, [T, V]."""
        with torch.no_grad(), evaluating(self.model):
            logits = self.model(self.ids).logits
        assert logits is not None
        return logits[0]

    def read(self, text: str) -> Tensor:
        """Ids [1, T] of another text, end token in front.

        Raises:
            UserError: it has characters that the model has never seen.
        """
        return torch.tensor([prepare(text, self.tokenizer, self.model.config, "refuse").ids])

    def knows(self, text: str) -> bool:
        """Whether the vocabulary has every character of it, in some form."""
        try:
            self.read(text)
        except UserError:
            return False
        return True


def _prompt(writer: Writer, text: str) -> Prompt:
    """The text in ids, of any length, without what the vocabulary lacks."""
    assert isinstance(writer.model, GPT)
    room = 8 * writer.model.config.block_size
    config = writer.model.config.changed(position="none", block_size=room + 1)
    return prepare(text[:room], writer.tokenizer, config, "drop")


def label(tokenizer: Tokenizer, id: int) -> str:
    """How a token is written in a figure."""
    if id == tokenizer.end_id:
        return "▷"
    return {"\n": "↵", " ": "␣", "\t": "⇥"}.get(text := tokenizer.token_text(id), text)


def bare(label: str) -> str:
    """A label within a sentence: without the blank that belongs to a word in BPE."""
    return label.strip(" ") or label
