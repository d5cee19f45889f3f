"""Single neurons: which of them move a prediction, and where it goes when one is turned.

The first token, as a rule the end token ▷, is left as it is: it is the same in front of every
text, and what a neuron makes of it is no reaction to the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.sample import AT_ONCE
from mingyue.explain.numbers import deviation, percent
from mingyue.explain.panels import Bars, Curves, Panel
from mingyue.explain.subject import Subject, label
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.hooks import Hook, HookPoint, run_with_hooks

FACTORS = np.linspace(0.0, 5.0, 11)
"""By which a neuron is multiplied, from switched off to boosted."""


@dataclass(frozen=True)
class Neuron:
    """By its layer and its number there."""

    layer: int
    number: int

    def __str__(self) -> str:
        return f"{self.layer}.{self.number}"

    @property
    def hook(self) -> str:
        return f"blocks.{self.layer}.mlp.hook_post"


@torch.no_grad()
def predictions(subject: Subject, turned: Sequence[tuple[Neuron, float]]) -> Tensor:
    """Log-probabilities [n, V] after the text's last token: in each row one neuron is multiplied
    by a factor, 0 to switch it off."""
    T, found = subject.ids.shape[1], []
    rows = max(1, AT_ONCE // T)
    with evaluating(subject.model):
        for start in range(0, len(turned), rows):
            part = turned[start : start + rows]
            hooks = [
                (neuron.hook, times(factor, neuron.number, row))
                for row, (neuron, factor) in enumerate(part)
            ]
            logits = run_with_hooks(subject.model, subject.ids.expand(len(part), T), hooks)
            found.append(logits[:, -1].log_softmax(dim=-1))
    return torch.cat(found)


def times(factor: float, number: int, row: int) -> Hook:
    """A hook for ``hook_post`` [B, T, F]: one neuron in one row, multiplied but at the start."""

    def multiply(post: Tensor, hook: HookPoint) -> Tensor:
        post = post.clone()
        post[row, 1:, number] *= factor
        return post

    return multiply


def promising(subject: Subject, layers: Sequence[int], n: int) -> list[Neuron]:
    """The n neurons that, to first order, move the log-probability of the likeliest token most.

    A neuron's value times the slope there is about what would be lost without it; one backward
    pass gives this for all neurons, so that few need to be tried.
    """
    values: list[Tensor] = []
    added: list[Tensor] = []

    def listen(post: Tensor, hook: HookPoint) -> Tensor:
        values.append(post.detach())
        added.append(torch.zeros_like(post, requires_grad=True))
        return post + added[-1]

    with torch.enable_grad(), evaluating(subject.model):
        names = [f"blocks.{layer}.mlp.hook_post" for layer in layers]
        logits = run_with_hooks(subject.model, subject.ids, [(names, listen)])[0, -1]
        slopes = torch.autograd.grad(logits.log_softmax(dim=-1).max(), added)
    gain = torch.stack(values)[:, 0, 1:] * torch.stack(slopes)[:, 0, 1:]  # [layers, T - 1, F]
    gain = gain.sum(dim=1).abs()  # [layers, F]
    best = gain.flatten().topk(min(n, gain.numel())).indices.tolist()
    return [Neuron(layers[i // gain.shape[1]], i % gain.shape[1]) for i in best]


def divergence(before: Tensor, after: Tensor) -> Tensor:
    """How far predictions moved, KL in nats: log-probabilities [V], [n, V] → [n]."""
    return F.kl_div(after, before.expand_as(after), reduction="none", log_target=True).sum(dim=-1)


def moved_to(
    subject: Subject, neuron: Neuron, factor: float, before: Tensor, turned: Tensor
) -> list[Panel]:
    """The prediction at ``factor`` beside what it is, and along all ``FACTORS``."""
    shown = torch.cat((before.topk(6).indices, turned[0].topk(6).indices)).unique()
    shown = shown[before[shown].argsort(descending=True)]
    names = [label(subject.tokenizer, i) for i in shown.tolist()]
    most = shown[:5].tolist()
    return [
        Bars(
            title=tr(
                "probability of the next token, with neuron {neuron} × {f}",
                neuron=neuron,
                f=f"{factor:g}",
            ),
            names=names,
            values=turned[0, shown].exp().numpy(),
            unit=tr("switched off") if factor == 0 else tr("multiplied by {f}", f=f"{factor:g}"),
            beside={tr("as it is"): before[shown].exp().numpy()},
        ),
        Curves(
            title=tr("the next token, with neuron {neuron} turned down and up", neuron=neuron),
            x=FACTORS,
            lines={name: turned[1:, i].exp().numpy() for name, i in zip(names, most, strict=False)},
            x_label=tr("multiplied by"),
            y_label=tr("probability"),
            marks={tr("as it is"): 1.0},
        ),
    ]


def moves(neuron: Neuron, factor: float, before: Tensor, after: Tensor) -> Verdict:
    """Whether the prediction [V] is another with the neuron multiplied."""
    best, moved = int(before.argmax()), float(divergence(before, after))
    return Verdict(
        tr("one neuron moves the prediction by 0.01 nats or more"),
        tr(
            "neuron {neuron} × {f}: KL {kl} nats; the likeliest token goes from {p} to {q}",
            neuron=neuron,
            f=f"{factor:g}",
            kl=deviation(moved),
            p=percent(float(before[best].exp())),
            q=percent(float(after[best].exp())),
        ),
        moved >= 0.01 if factor != 1 else None,
    )
