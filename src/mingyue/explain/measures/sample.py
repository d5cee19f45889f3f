"""Some text to measure on: of the run's own, or, where that is not at hand, the text given.

Documents, long ones in pieces, are taken at even distances from the whole collection, so that a
sample is the same each time. Each is a row that begins with the token before it, the end token as
a rule. Short rows are filled up at the right, where no earlier token sees it; what is filled in
counts for nothing.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.loss import IGNORED

WORK = 4e11
"""Floating-point operations an exhibit may spend: some seconds on a small computer."""
AT_ONCE = 1024
"""Tokens computed at once: their scores are the largest tensor."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of tokens; a target is the token that came next, or ``IGNORED`` where none did."""

    ids: Tensor  # [B, T]
    targets: Tensor  # [B, T]
    kind: Literal["given", "train", "val"]  # where it is from: the text given, or the run's own

    @property
    def source(self) -> str:
        """Where it is from, in words."""
        n = f"{int(self.real.sum()):,}"
        match self.kind:
            case "given":
                return tr("the {n} tokens of the given text, for want of more", n=n)
            case "val":
                return tr("{n} held-out tokens", n=n)
            case "train":
                return tr("{n} tokens of its text", n=n)

    @property
    def real(self) -> Tensor:
        """Where there is text, [B, T]; the rest only fills the rows."""
        return self.targets != IGNORED

    def parts(self) -> "list[Sample]":
        """The rows in batches of about ``AT_ONCE`` tokens."""
        rows = max(1, AT_ONCE // self.ids.shape[1])
        batches = zip(self.ids.split(rows), self.targets.split(rows), strict=True)
        return [Sample(ids, targets, self.kind) for ids, targets in batches]


def sample(subject: Subject, part: Literal["train", "val"], most: int) -> Sample:
    """About ``most`` tokens of that part of the run's text; held-out ones if there are any."""
    dataset = subject.dataset
    if dataset is None or not (dataset.val.n_documents or dataset.train.n_documents):
        ids = subject.ids[0]
        return Sample(ids[None, :-1], ids[None, 1:], "given")
    held_out = part == "val" and dataset.val.n_documents > 0
    tokens = dataset.val if held_out else dataset.train
    size = subject.model.config.block_size
    lengths = np.diff(tokens.offsets)
    pieces = -(-lengths // size)  # of each document, none longer than the context
    before = np.cumsum(pieces) - pieces
    mean = tokens.n_tokens / pieces.sum()
    count = int(np.clip(most // mean, 1, pieces.sum()))
    chosen = np.linspace(0, pieces.sum() - 1, count).round().astype(int)
    documents = np.searchsorted(before, chosen, side="right") - 1
    begins = tokens.offsets[documents] + (chosen - before[documents]) * size
    ends = np.minimum(begins + size, tokens.offsets[documents + 1])
    ids = np.full((count, int((ends - begins).max())), subject.tokenizer.end_id, np.int64)
    targets = np.full(ids.shape, IGNORED, np.int64)
    for row, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        text = tokens.slice(begin, end)
        targets[row, : len(text)] = text
        ids[row, 1 : len(text)] = text[:-1]
        if begin > tokens.offsets[documents[row]]:  # within a document
            ids[row, 0] = tokens.slice(begin - 1, begin)[0]
    device, kind = subject.ids.device, "val" if held_out else "train"
    return Sample(torch.from_numpy(ids).to(device), torch.from_numpy(targets).to(device), kind)


def layers(subject: Subject) -> int:
    """How many the model has.

    Raises:
        UserError: none.
    """
    if not (n := subject.model.config.n_layer):
        raise UserError(tr("this model has no layers; there are no heads or neurons to look at"))
    return n


def affordable(model: GPT, passes: float, least: int, most: int) -> int:
    """How many tokens can go through the model ``passes`` times without a long wait."""
    return int(np.clip(WORK / (2 * model.config.products * passes), least, most))


def stretches(tokens: Tokens, rows: int, length: int, end_id: int) -> Tensor:
    """Stretches that begin with a document, spread over the text, an end token in front; short
    documents follow each other as they did in training. int64 [rows, length + 1]"""
    starts = tokens.offsets[tokens.offsets + length <= tokens.n_tokens]
    chosen = starts[np.unique(np.linspace(0, len(starts) - 1, rows).round().astype(int))]
    texts = [tokens.slice(int(start), int(start) + length).astype(np.int64) for start in chosen]
    return torch.from_numpy(np.stack([np.append(end_id, text) for text in texts]))
