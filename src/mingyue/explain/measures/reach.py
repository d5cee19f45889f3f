"""How far back a model reaches: what moves its prediction, and how far a gradient comes.

Both are asked of the prediction after the last token of each row, and told by distance: 0 is the
last token itself, 1 the one before it. The first token of a row, an end token as a rule, is left
out: many heads look there when they look for nothing.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.generation.decode import evaluating
from mingyue.model.language_model import LanguageModel


def distances(T: int, most: int) -> np.ndarray:
    """At most ``most`` distances in a row of ``T`` tokens, even ones from last to second."""
    return np.unique(np.linspace(0, T - 2, max(2, min(most, T - 1))).round().astype(int))


@torch.no_grad()
def influence(model: LanguageModel, rows: Tensor, back: np.ndarray, seed: int) -> Tensor:
    """How much probability changes hands if another token stands there: rows [B, T] → [B, n].

    Half the sum of all changes (total variation): 0 nothing, 1 everything. The other tokens are
    drawn as they come in the rows.
    """
    B, T = rows.shape
    often = torch.bincount(rows.flatten(), minlength=model.config.vocab_size).float()  # [V]
    generator = torch.Generator().manual_seed(seed)
    found = []
    with evaluating(model):
        before = _next(model, rows)  # [B, V]
        for distance in back.tolist():
            at = T - 1 - distance
            chances = often.repeat(B, 1).scatter(1, rows[:, at : at + 1], 0.0)  # never the same
            changed = rows.clone()
            changed[:, at] = torch.multinomial(chances, 1, generator=generator)[:, 0]
            found.append((_next(model, changed) - before).abs().sum(dim=-1) / 2)
    return torch.stack(found, dim=1).cpu()


def _next(model: LanguageModel, rows: Tensor) -> Tensor:
    """Probabilities of the token after each row, [B, V]."""
    logits = model(rows.to(model.device), last_only=True).logits
    assert logits is not None
    return logits[:, 0].softmax(dim=-1)


@torch.enable_grad()
def gradient(model: LanguageModel, rows: Tensor, targets: Tensor) -> Tensor:
    """How strongly the last loss answers to each token's vector: rows [B, T], targets [B] → [B, T].

    The length of the gradient by the row that was looked up, column k for the token k back.
    """
    looked_up: list[Tensor] = []

    def keep(_module: object, _ids: object, vectors: Tensor) -> Tensor:
        looked_up.append(vectors.detach().requires_grad_())
        return looked_up[0]

    handle = model.embedding.register_forward_hook(keep)
    try:  # cuDNN goes back through an RNN only in training
        with evaluating(model), torch.backends.cudnn.flags(enabled=False):
            logits = model(rows.to(model.device), last_only=True).logits
            assert logits is not None
            loss = F.cross_entropy(logits[:, 0], targets.to(model.device), reduction="sum")
            (slope,) = torch.autograd.grad(loss, looked_up)  # [B, T, C]
    finally:
        handle.remove()
    return slope.norm(dim=-1).flip(1).cpu()


def kept(reach: Tensor, back: np.ndarray, far: int) -> tuple[float, float]:
    """What is left, ``far`` tokens back and more, of the last token's part, and its error.

    ``reach`` [B, n] at the distances ``back`` [n]; a ratio of two means over the rows.
    """
    last, distant = reach[:, 0].double(), reach[:, torch.from_numpy(back >= far)].double().mean(1)
    size = float(last.mean().clamp(min=1e-12))
    ratio = float(distant.mean()) / size
    if len(reach) == 1:
        return ratio, float("inf")
    return ratio, float((distant - ratio * last).std()) / (size * len(reach) ** 0.5)
