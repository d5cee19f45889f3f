"""How surprised a model is by text it has not seen.

Loss is the mean of −log p over the tokens of held-out documents, in nats. For it to mean the
same thing everywhere, what is counted is fixed:

- Every token of every document is scored exactly once, its end token included: to know where a
  poem ends is part of knowing poems. The first token is predicted from an end token, as in
  training. No document sees anything of another.
- A document longer than the context is read through a window that moves by ``stride`` tokens;
  of each window only those tokens count that no window before it has scored. The smaller the
  stride, the more context they have, and the more work it is. The last window ends where the
  document ends.
- Tokens are not comparable between tokenizers: a BPE token says more than a character. Bits per
  character and per UTF-8 byte are: all nats, those of the end tokens too, over the characters or
  bytes of the text, in which end tokens have no part.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.gpt import GPT
from mingyue.model.loss import IGNORED


@dataclass(frozen=True, slots=True)
class Loss:
    """What was found, over ``n_tokens`` tokens of ``n_documents`` documents."""

    nats_per_token: float
    n_tokens: int  # end tokens included
    n_documents: int
    n_characters: int  # end tokens left out
    n_bytes: int

    @property
    def perplexity(self) -> float:
        """Among how many equally likely tokens the model hesitates: e to the nats per token."""
        return math.exp(min(self.nats_per_token, 700.0))  # e^710 is too large for a float

    @property
    def bits_per_character(self) -> float:
        """Bits to write one character of the text if the model were used to compress it."""
        return self._bits / max(1, self.n_characters)

    @property
    def bits_per_byte(self) -> float:
        """The same per byte of UTF-8."""
        return self._bits / max(1, self.n_bytes)

    @property
    def _bits(self) -> float:
        return self.nats_per_token * self.n_tokens / math.log(2)


@torch.no_grad()
def evaluate(
    model: GPT,
    tokens: Tokens,
    *,
    end_id: int,
    batch_size: int = 32,
    stride: int | None = None,
    max_tokens: int | None = None,
    progress: Callable[[float], None] | None = None,
) -> Loss:
    """Score held-out documents.

    ``batch_size`` times ``block_size`` tokens, padding included, are computed at once.
    ``stride`` is half the block unless given. ``max_tokens`` takes only the first documents, as
    many whole ones as fit in, but at least one. ``progress`` hears the part done, 0 to 1.

    Raises:
        UserError: there is no document, the stride is not between 1 and ``block_size``, or the
            model sees both directions and so predicts nothing.
    """
    block_size = model.config.block_size
    stride = max(1, block_size // 2) if stride is None else stride
    _check(model, tokens, batch_size, stride)
    n_documents = documents_within(tokens, max_tokens)
    rows = windows(np.diff(tokens.offsets[: n_documents + 1]), block_size, stride)
    total, done = int(rows[:, 3].sum()), 0
    losses: list[Tensor] = []
    with evaluating(model):
        for batch in _batches(rows, batch_size * block_size):
            ids, targets = _load(tokens, batch, end_id)
            loss = model(*_to_device(model, ids, targets)).loss
            scored = int(batch[:, 3].sum())
            losses.append(loss.float() * scored)  # a sum again; stays on the device
            done += scored
            if progress is not None:
                progress(done / total)
    n_tokens, n_characters, n_bytes = tokens.sizes(0, n_documents)
    nats = torch.stack(losses).cpu().double().sum().item()
    return Loss(nats / n_tokens, n_tokens, n_documents, n_characters, n_bytes)


def documents_within(tokens: Tokens, max_tokens: int | None) -> int:
    """How many of the first documents have ``max_tokens`` tokens together, at least one."""
    if max_tokens is None:
        return tokens.n_documents
    return max(1, int(np.searchsorted(tokens.offsets, max_tokens, side="right")) - 1)


def windows(lengths: np.ndarray, block_size: int, stride: int) -> np.ndarray:
    """Cut documents of the given lengths into rows of at most ``block_size`` targets.

    Returns int64 [rows, 4]: the document, the first target within it, how many targets the row
    reads, and how many of them, the last ones, it scores.
    """
    rows: list[np.ndarray] = []
    documents = np.flatnonzero(lengths > 0)
    n = lengths[documents]
    first = np.minimum(n, block_size)
    rows.append(np.stack([documents, np.zeros_like(n), first, first], axis=1))
    for document in documents[n > block_size]:
        length = int(lengths[document])
        ends = np.arange(block_size + stride, length + stride, stride).clip(max=length)
        new = np.diff(ends, prepend=block_size)  # [windows after the first]
        whole = np.full_like(ends, block_size)
        rows.append(np.stack([np.full_like(ends, document), ends - block_size, whole, new], axis=1))
    return np.concatenate(rows).astype(np.int64)


def _batches(rows: np.ndarray, budget: int) -> Iterator[np.ndarray]:
    """Rows of like length together, the longest first, so that little is padding."""
    rows = rows[np.argsort(-rows[:, 2], kind="stable")]
    start = 0
    while start < len(rows):
        stop = start + max(1, budget // int(rows[start, 2]))
        yield rows[start:stop]
        start = stop


def _load(tokens: Tokens, rows: np.ndarray, end_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets [B, T] of some rows, padded at the right, where no one looks back."""
    shape = (len(rows), int(rows[:, 2].max()))
    ids = np.full(shape, end_id, np.int64)
    targets = np.full(shape, IGNORED, np.int64)
    for i, (document, start, length, scored) in enumerate(rows.tolist()):
        begin = int(tokens.offsets[document]) + start
        text = tokens.slice(begin, begin + length)
        ids[i, 1:length] = text[:-1]
        if start:  # within a document the token before is its own, not an end token
            ids[i, 0] = tokens.slice(begin - 1, begin)[0]
        targets[i, length - scored : length] = text[length - scored :]
    return ids, targets


def _to_device(model: GPT, *arrays: np.ndarray) -> list[Tensor]:
    return [torch.from_numpy(array).to(model.unembedding.device) for array in arrays]


def _check(model: GPT, tokens: Tokens, batch_size: int, stride: int) -> None:
    if not model.config.causal:
        raise UserError(
            tr("this model sees both directions (causal is off), so it has no next-token loss")
        )
    if not tokens.n_documents or not tokens.n_tokens:
        raise UserError(tr("there is no held-out text to evaluate on"))
    if not 1 <= stride <= model.config.block_size:
        raise UserError(
            tr(
                "stride {stride}: must be between 1 and the block size {block_size}",
                stride=stride,
                block_size=model.config.block_size,
            )
        )
    if batch_size < 1:
        raise UserError(tr("batch size {n}: must be at least 1", n=batch_size))
