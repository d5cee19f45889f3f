"""Small models trained for some seconds, to see what becomes of an idea.

They learn from an excerpt that has a vocabulary of its own: the fewer tokens there are to choose
from, the quicker a small model is. Several are trained on the same batches, so that none has more
time or luckier text than another, and the same seed gives the same models again.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.data.batches import Batches
from mingyue.data.tokens import Tokens
from mingyue.explain.measures.unembed import token_losses
from mingyue.explain.progress import tell
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.language_model import LanguageModel
from mingyue.model.loss import cross_entropy
from mingyue.training.config import TrainConfig
from mingyue.training.optimizer import build_optimizer
from mingyue.training.precision import LossScale
from mingyue.training.step import learn

ROWS, BLOCK, WARMUP = 8, 32, 10
PIECE, PIECES = 128, 256
"""An excerpt is so many documents or, of long ones, pieces of so many tokens."""

CONFIG = TrainConfig(steps=1, matrix_rate=0.03, learning_rate=0.01)
"""High rates: there are few steps."""

Documents = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Excerpt:
    """Documents, each with an end token, in ids of their own; ``held`` ones are not learned from.

    Hashable, so that what was trained on it can be remembered.
    """

    known: tuple[int, ...]  # which of the subject's ids each of the own ids is
    end_id: int
    train: Documents
    held: Documents
    apart: bool  # False: too little text to hold any back, ``held`` is what was learned from

    @classmethod
    def of(cls, subject: Subject) -> "Excerpt":
        """From all over the text the model learned from, or, for want of it, the text given."""
        end = subject.tokenizer.end_id
        if subject.dataset is not None and subject.dataset.train.n_documents:
            documents = [[*ids[ids != end], end] for ids in _pieces(subject.dataset.train)]
        else:
            documents = [[*subject.ids[0, 1:].tolist(), end]]
        known, own = np.unique(np.concatenate(documents), return_inverse=True)
        cuts = np.cumsum([len(document) for document in documents])[:-1]
        ids = tuple(tuple(part.tolist()) for part in np.split(own, cuts))
        apart = len(ids) >= 16
        return cls(
            known=tuple(known.tolist()),
            end_id=int(np.searchsorted(known, end)),
            train=tuple(d for i, d in enumerate(ids) if i % 8) if apart else ids,
            held=ids[::8] if apart else ids,
            apart=apart,
        )

    def batches(self, documents: Documents, rows: int, seed: int, block: int = BLOCK) -> Batches:
        """Rows of ``block`` tokens; a text too short for one is repeated."""
        times = -(-block // sum(map(len, documents)))
        return Batches(
            Tokens.from_documents(documents * times),
            batch_size=rows,
            block_size=block,
            seed=seed,
            end_id=self.end_id,
        )

    def check(self, block: int = BLOCK) -> Tensor:
        """Rows of the held text, each with the token that follows, [≤ 32, block + 1]."""
        rows = min(32, self.batches(self.held, 1, 0, block).rows_per_epoch)
        x, y = self.batches(self.held, rows, 0, block).batch(0)
        return torch.from_numpy(np.concatenate([x, y[:, -1:]], axis=1))

    def about(self) -> str:
        """What the small models learned from, in words."""
        n, kinds = f"{sum(map(len, self.train)):,}", f"{len(self.known):,}"
        if not self.apart:
            return tr("the small models learned {n} tokens, again and again", n=n)
        return tr(
            "the small models learned from {n} tokens of this model's text, {kinds} different ones",
            n=n,
            kinds=kinds,
        )


def _pieces(tokens: Tokens) -> list[np.ndarray]:
    """About ``PIECES`` of them at even distances, none overlapping."""
    offsets = tokens.offsets
    at = np.linspace(0, tokens.n_tokens - 1, PIECES).astype(np.int64)
    begin = offsets[np.searchsorted(offsets, at, side="right") - 1]  # of the document there
    begin = np.unique(begin + (at - begin) // PIECE * PIECE)
    end = offsets[np.searchsorted(offsets, begin, side="right")]
    return [tokens.slice(int(a), int(min(a + PIECE, b))) for a, b in zip(begin, end, strict=True)]


def small(excerpt: Excerpt, seed: int, **changed: object) -> GPT:
    """A fresh model of a size that learns something within seconds; ``changed``: its config."""
    sizes = {"block_size": BLOCK, "n_layer": 2, "n_head": 1, "d_model": 64, "tie_embeddings": True}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return GPT(ModelConfig.checked(vocab_size=len(excerpt.known), **{**sizes, **changed}))


@torch.enable_grad()
def rehearse(
    models: Sequence[LanguageModel], excerpt: Excerpt, steps: int, seed: int
) -> np.ndarray:
    """Train each for so many steps; the loss of every step, [models, steps]."""
    losses = np.zeros((len(models), steps))
    for n, (model, curve) in enumerate(zip(models, losses, strict=True)):
        optimizer = build_optimizer(model.train(), CONFIG)
        batches = excerpt.batches(excerpt.train, ROWS, seed)
        for step in range(steps):
            tell(tr("training small models"), (n + step / steps) / len(models))
            x, y = (torch.from_numpy(part) for part in batches.batch(step))  # [B, T] each
            curve[step] = learn(
                lambda ids, targets, model=model: _loss(model, ids, targets),
                optimizer,
                x,
                y,
                share=min(1.0, (step + 1) / WARMUP, 2 * (steps - step) / steps),
                clip=CONFIG.clip,
                scale=LossScale(),
                micro_batch=None,
                autocast=nullcontext,
            ).loss
        model.eval()
    return losses


def _loss(model: LanguageModel, ids: Tensor, targets: Tensor) -> Tensor:
    """Of the next tokens, with mask or without (``GPT.forward`` would hide some in a model that
    sees both ways, and ask for those)."""
    hidden = model.hidden(ids).flatten(0, 1)  # [B·T, C]
    return cross_entropy(hidden, model.unembedding, targets.flatten())


@torch.no_grad()
def at_once(model: LanguageModel, ids: Tensor) -> Tensor:
    """-ln p of each next token, the whole row being there as in training: [B, T + 1] → [B, T]."""
    ids = ids.to(model.device)
    return token_losses(model.hidden(ids[:, :-1]), model.unembedding, ids[:, 1:])


@torch.no_grad()
def left_to_right(model: GPT, ids: Tensor) -> Tensor:
    """-ln p of each next token when those before it are all there is: [B, T + 1] → [B, T]."""
    losses = []
    for t in range(1, ids.shape[1]):
        logits = model(ids[:, :t], last_only=True).logits  # [B, 1, V]
        assert logits is not None
        losses.append(F.cross_entropy(logits[:, 0], ids[:, t], reduction="none"))
    return torch.stack(losses, dim=1)


@torch.no_grad()
def written(model: GPT, excerpt: Excerpt, n: int, seed: int) -> list[int]:
    """``n`` tokens drawn one after another from an end token on, in the subject's ids; no end."""
    generator = torch.Generator().manual_seed(seed)
    ids = torch.tensor([[excerpt.end_id]])
    for _ in range(n):
        logits = model(ids[:, -BLOCK:], last_only=True).logits
        assert logits is not None
        logits[..., excerpt.end_id] = -torch.inf
        drawn = torch.multinomial(logits[0, 0].softmax(dim=-1), 1, generator=generator)
        ids = torch.cat([ids, drawn[None]], dim=1)
    return [excerpt.known[i] for i in ids[0, 1:].tolist()]
