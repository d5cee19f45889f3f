"""Who is looked at: a model, its tokenizer, and a text put into ids."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.generation.decode import evaluating
from mingyue.generation.prompt import prepare
from mingyue.generation.writer import Writer
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.hooks import NamesFilter, run_with_cache
from mingyue.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from mingyue.data.dataset import Dataset


@dataclass(frozen=True)
class Subject:
    """A model and the text it reads.

    ``ids`` begins with the end token, after which every document began in training; ``labels``
    are what each token looks like, the end token as ⏎ would mislead, so it is ``▷``.
    """

    writer: Writer
    text: str
    ids: Tensor  # [1, T]
    labels: Sequence[str]  # T of them
    notes: Sequence[str]  # what was done to the text
    dataset: "Dataset | None" = field(default=None)  # the model's own text, where it is at hand

    @classmethod
    def of(cls, writer: Writer, text: str, dataset: "Dataset | None" = None) -> "Subject":
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
        tokenizer, config = writer.tokenizer, writer.model.config
        prompt = prepare(
            text[: 8 * config.block_size], tokenizer, config.changed(position="none"), "drop"
        )
        ids, notes = list(prompt.ids), list(prompt.notes)
        if len(ids) < 2:
            raise UserError(
                tr(
                    "the model knows no character of {text}; give another text",
                    text=repr(text[:20]),
                )
            )
        if len(ids) > config.block_size:
            notes.append(
                tr(
                    "only the first {n} tokens are shown: the model's context holds no more",
                    n=config.block_size - 1,
                )
            )
            ids = ids[: config.block_size]
        labels = [label(tokenizer, i) for i in ids]
        shown = tokenizer.decode(ids[1:])
        return cls(writer, shown, torch.tensor([ids]), labels, notes, dataset)

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


def label(tokenizer: Tokenizer, id: int) -> str:
    """How a token is written in a figure."""
    if id == tokenizer.end_id:
        return "▷"
    return {"\n": "↵", " ": "␣", "\t": "⇥"}.get(text := tokenizer.token_text(id), text)
