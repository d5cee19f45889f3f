"""D14: scores become shares, and temperature bends them (article: 化腐朽为神奇：Softmax 激活)."""

import math

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.choosing import Place, place, window, window_note, within
from mingyue.explain.exhibit import Definition, Exhibit, Verdict
from mingyue.explain.numbers import deviation, number, percent
from mingyue.explain.panels import Bars, Curves, Matrix, Table
from mingyue.explain.subject import Subject, bare, label
from mingyue.generation.sampling import heat
from mingyue.language import tr

TEMPERATURES = np.geomspace(0.1, 10, 41)
OTHERS = (0.5, 1.0, 2.0)
"""Temperatures shown beside the chosen one."""
TOLERANCE = 1e-5


class SoftmaxKnobs(Place):
    temperature: float = Field(default=1.0, ge=0.01, le=100, description="what divides the scores")
    layer: int = Field(default=0, description="whose attention; -1 is the last layer")
    head: int = Field(default=0, description="which head of it")
    k: int = Field(default=10, ge=1, le=50, description="how many next tokens are drawn")
    start: int = Field(default=0, ge=0, description="the first token drawn")


def show(subject: Subject, knobs: SoftmaxKnobs) -> Exhibit:
    """Softmax where it is used twice: over the keys of each query, and over the next tokens."""
    config = subject.model.config
    layer = within(tr("layer"), knobs.layer, config.n_layer)
    head = within(tr("head"), knobs.head, config.n_head)
    t, T = place(subject, knobs), len(subject.labels)
    seen = subject.see(lambda name: name.endswith("hook_pattern"))
    patterns = [pattern[0] for pattern in seen.values()]  # [H, T, T] each
    off = [float((p.double().sum(dim=-1) - 1).abs().max()) for p in patterns]
    future = [float(p.triu(1).max()) for p in patterns]
    part = window(knobs.start, T)
    labels = list(subject.labels[part])
    logits = subject.logits[t].double()  # [V]
    entropy, top = np.array([spread(logits, T) for T in TEMPERATURES]).T
    now = shares(logits, knobs.temperature)  # [V]
    best = now.argsort(descending=True, stable=True)[: knobs.k]
    others = [other for other in OTHERS if other != knobs.temperature]
    chosen = {"T": knobs.temperature} if 0.1 <= knobs.temperature <= 10 else {}
    return Exhibit(
        name="softmax",
        title=EXHIBIT.title(),
        see=tr(
            "Softmax makes shares of scores: e to the power of each, divided by their sum. A score "
            "of -∞, which the mask gives to the future, becomes exactly 0. Attention uses it "
            "for what each token looks at, and the end of the model for what comes next. There the "
            "scores may first be divided by a temperature: below 1 the likely become likelier, "
            "above 1 all become more equal."
        ),
        verdicts=[
            Verdict(
                tr("every row sums to 1, in all layers and heads"),
                tr("largest deviation {n}", n=deviation(max(off))),
                max(off) <= TOLERANCE,
            ),
            Verdict(
                tr("the future gets exactly 0"),
                tr("largest share of a later token {n}", n=deviation(max(future)))
                if config.causal
                else tr("this model has no mask: every token may look at later ones"),
                max(future) == 0 if config.causal else None,
            ),
            Verdict(
                tr("the higher the temperature, the more even the choice"),
                tr(
                    "from T = 0.1 to T = 10: entropy {a} to {b} nats, top probability {c} to {d}",
                    a=number(entropy[0]),
                    b=number(entropy[-1]),
                    c=percent(top[0]),
                    d=percent(top[-1]),
                ),
                bool(np.diff(entropy).min() >= -1e-9 and np.diff(top).max() <= 1e-9)
                if float(logits.max() - logits.min()) > 0
                else None,
            ),
        ],
        panels=[
            Matrix(
                title=tr(
                    "what each token looks at (layer {layer}, head {head})", layer=layer, head=head
                ),
                values=patterns[layer][head][part, part].numpy(),  # [T, T]
                rows=labels,
                columns=labels,
                row_label=tr("query"),
                column_label=tr("key"),
                scale="share",
            ),
            Table(
                title=tr("all rows of each layer"),
                columns=[tr("layer"), tr("rows"), tr("sum - 1, at most"), tr("future, at most")],
                rows=[
                    [i, config.n_head * T, deviation(a), deviation(b)]
                    for i, (a, b) in enumerate(zip(off, future, strict=True))
                ],
            ),
            Bars(
                title=tr(
                    "what comes after {token} (position {t}), by temperature",
                    token=bare(subject.labels[t]),
                    t=t,
                ),
                names=[label(subject.tokenizer, i) for i in best.tolist()],
                values=now[best].numpy(),
                unit=f"T = {knobs.temperature:g}",
                beside={f"T = {T:g}": shares(logits, T)[best].numpy() for T in others},
            ),
            Curves(
                title=tr("how open the choice is: entropy over temperature"),
                x=TEMPERATURES,
                lines={
                    tr("entropy"): entropy,
                    tr("all tokens alike (ln V)"): np.full(41, math.log(len(logits))),
                },
                x_label=tr("temperature"),
                y_label="nats",
                log_x=True,
                marks=chosen,
            ),
            Curves(
                title=tr("probability of the likeliest token over temperature"),
                x=TEMPERATURES,
                lines={label(subject.tokenizer, int(logits.argmax())): top},
                x_label=tr("temperature"),
                y_label="p",
                log_x=True,
                marks=chosen,
            ),
        ],
        notes=[*subject.notes, *window_note(part, T)],
    )


def shares(logits: Tensor, temperature: float) -> Tensor:
    """Probabilities [V] at a temperature, made as the writer makes them."""
    return heat(logits[None], temperature)[0].softmax(dim=-1)


def spread(logits: Tensor, temperature: float) -> tuple[float, float]:
    """Entropy in nats, and the largest probability."""
    p = shares(logits, temperature)
    return float(torch.special.entr(p).sum()), float(p.max())


EXHIBIT = Definition(
    name="softmax",
    spec="D14",
    title=lambda: tr("Softmax: scores become shares"),
    brief=lambda: tr("rows that sum to 1, a future of exactly 0, and the temperature"),
    texts=("床前明月光", "猫喜欢吃鱼，它很聪明。", "To be, or not to be"),
    show=show,
    knobs=SoftmaxKnobs,
)
