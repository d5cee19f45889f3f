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
- A quick look takes the first so many tokens of the held-out text and no more: the document in
  which they run out is scored as far as they go. Its windows lie side by side (``stride`` is the
  whole block), which is half the work of the usual stride and lets each token be guessed from as
  much text as in training, not more; only longer documents notice.
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
from mingyue.model.language_model import LanguageModel
from mingyue.model.loss import IGNORED


@dataclass(frozen=True, slots=True)
class Loss:
    """What was found, over ``n_tokens`` tokens of ``n_documents`` documents.

    Of a document that ``max_tokens`` cuts, ``n_characters`` and ``n_bytes`` are the share that
    its scored tokens have in it: exact where tokens are characters or bytes, else an estimate.
    """

    nats_per_token: float
    n_tokens: int  # the scored ones, end tokens included
    n_documents: int  # the last one may be scored in part
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
    def nats_per_character(self) -> float:
        """The same in nats."""
        return self.bits_per_character * math.log(2)

    @property
    def bits_per_byte(self) -> float:
        """The same per byte of UTF-8."""
        return self._bits / max(1, self.n_bytes)

    @property
    def _bits(self) -> float:
        return self.nats_per_token * self.n_tokens / math.log(2)


@torch.no_grad()
def evaluate(
    model: LanguageModel,
    tokens: Tokens,
    *,
    end_id: int,
    batch_size: int = 32,
    stride: int | None = None,
    max_tokens: int | None = None,
    own_terms: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Loss:
    """Score held-out documents.

    ``batch_size`` times ``block_size`` tokens, padding included, are computed at once.
    ``max_tokens`` scores only so many, the first ones, at least one. ``stride`` is half the block
    unless given, with ``max_tokens`` the whole block. ``progress`` hears the part done, 0 to 1.
    With ``own_terms`` a model that predicts no next token is measured by what it learns instead,
    masked tokens or Word2Vec's pairs, and its nats are those of one of them.

    Raises:
        UserError: there is no document, the stride is not between 1 and ``block_size``, or the
            model predicts no next token.
    """
    block_size = model.config.block_size
    if stride is None:
        stride = block_size if max_tokens is not None else max(1, block_size // 2)
    if not (own_terms or model.predicts):
        raise UserError(silent(model))
    _check(model, tokens, batch_size, stride)
    lengths = lengths_within(tokens, max_tokens)
    rows = windows(lengths, block_size, stride)
    total, done = int(lengths.sum()), 0
    losses: list[Tensor] = []
    with evaluating(model):
        for batch in _batches(rows, batch_size * block_size):
            losses.append(model.nats(*_to_device(model, *_load(tokens, batch, end_id))))
            done += int(batch[:, 3].sum())
            if progress is not None:
                progress(done / total)
    nats = torch.stack(losses).cpu().double().sum().item()
    return Loss(nats / total, total, len(lengths), *_text_sizes(tokens, lengths))


def lengths_within(tokens: Tokens, max_tokens: int | None) -> np.ndarray:
    """How many tokens are scored of each of the first documents; int64 [n_documents].

    All of all documents, or the first ``max_tokens`` of them (at least one), so that the last
    document may be cut.
    """
    offsets = np.asarray(tokens.offsets)
    if max_tokens is None or max_tokens >= offsets[-1]:
        return np.diff(offsets)
    within = max(1, max_tokens)
    whole = int(np.searchsorted(offsets, within, side="left"))
    return np.diff(np.append(offsets[:whole], within))


def _text_sizes(tokens: Tokens, lengths: np.ndarray) -> tuple[int, int]:
    """Characters and bytes of the text that is scored."""
    n = len(lengths)
    _, characters, size = tokens.sizes(0, n)
    whole, last_characters, last_size = tokens.sizes(n - 1, n)
    if (missing := whole - int(lengths[-1])) > 0:
        share = missing - 1, whole - 1  # without the end token, which is missing too
        characters -= round(last_characters * share[0] / max(1, share[1]))
        size -= round(last_size * share[0] / max(1, share[1]))
    return characters, size


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


def _to_device(model: LanguageModel, *arrays: np.ndarray) -> list[Tensor]:
    return [torch.from_numpy(array).to(model.device) for array in arrays]


def silent(model: LanguageModel) -> str:
    """Why a model that predicts no next token has no loss."""
    if model.config.kind == "word2vec":
        return tr("Word2Vec learns what stands near what, so it has no next-token loss")
    return tr("this model sees both directions (causal is off), so it has no next-token loss")


def _check(model: LanguageModel, tokens: Tokens, batch_size: int, stride: int) -> None:
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
