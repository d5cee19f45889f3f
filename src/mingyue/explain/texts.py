"""Which text an exhibit is shown on when the reader names none."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from mingyue.generation.decode import evaluating
from mingyue.generation.prompt import listed
from mingyue.generation.writer import Writer
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.text.script import adapt

BEYOND_BLIND = 1.0
"""A model that loses so many nats a token more than a blind guess has not learned such text."""


LONG = 20
"""Characters of a text that was passed over; of a longer one only the first."""


@dataclass(frozen=True)
class Choice:
    """A text, and those before it that were passed over: what the model lacks of each, and how
    many nats a token it loses on it beyond a blind guess."""

    text: str
    passed: Sequence[tuple[str, Sequence[str], float]]

    @property
    def notes(self) -> list[str]:
        """What to say about it, in the language in force."""
        notes = [tr("text: {text} (give another after RUN)", text=self.text)]
        passed = []
        for text, missing, beyond in self.passed:
            short = text if len(text) <= LONG else text[: LONG - 1] + "…"
            if missing:
                never = listed(list(dict.fromkeys(missing)))
                passed.append(tr("{text} (never seen: {characters})", text=short, characters=never))
            elif beyond > BEYOND_BLIND:
                passed.append(
                    tr(
                        "{text} ({more} nats a token worse than a blind guess)",
                        text=short,
                        more=f"{beyond:.1f}",
                    )
                )
        if passed:
            notes.append(tr("texts that this model cannot read: {texts}", texts=" · ".join(passed)))
        return notes


def choose(texts: Sequence[str], writer: Writer) -> Choice:
    """The first of ``texts`` that the model can read.

    It can if it has all characters, has learned text of that kind, and spells no character in
    bytes. The three in this order: where none will do, the text that lacks the smallest share of
    its characters; of those alike in that, one that the model has learned the like of.
    """
    lacking = [unknown(text, writer) for text in texts]
    loss = [surprise(text, writer) for text in texts]
    rank = [
        (len(missing) / len(text), beyond > BEYOND_BLIND, in_bytes(text, writer))
        for text, missing, beyond in zip(texts, lacking, loss, strict=True)
    ]
    best = rank.index(min(rank))
    return Choice(texts[best], list(zip(texts[:best], lacking, loss, strict=False)))


def unknown(text: str, writer: Writer) -> list[str]:
    """Its characters that the vocabulary lacks in every form; blanks are not counted."""
    return [c for c in _adapted(text, writer) if writer.tokenizer.unknown(c) and not c.isspace()]


def surprise(text: str, writer: Writer) -> float:
    """Nats a token that the model loses on it beyond a blind guess; 0 where it cannot be told.

    Bytes and byte pairs spell any text, also in a language that the model has never read.
    """
    model, tokenizer = writer.model, writer.tokenizer
    if not isinstance(model, GPT) or not model.config.causal:
        return 0.0
    known = "".join(c for c in _adapted(text, writer) if tokenizer.knows(c))
    ids = torch.tensor([tokenizer.end_id, *tokenizer.encode(known)])[: model.config.block_size]
    if len(ids) < 2:
        return 0.0
    with torch.no_grad(), evaluating(model):
        logits = model(ids[None]).logits
    assert logits is not None
    loss = torch.nn.functional.cross_entropy(logits[0, :-1].float(), ids[1:])
    return float(loss) - math.log(model.config.vocab_size)


def in_bytes(text: str, writer: Writer) -> bool:
    """Whether some of its tokens are only parts of characters."""
    token_text = writer.tokenizer.token_text
    known = _adapted(text, writer)
    return any(token_text(id) not in known for id in writer.tokenizer.encode(known))


def _adapted(text: str, writer: Writer) -> str:
    return adapt(text, writer.tokenizer.knows)[0]
