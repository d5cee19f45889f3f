"""D12: X and Y are the same text one token apart (article: 错位时空)."""

import math

import numpy as np

from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.numbers import percent
from mingyue.explain.panels import Strip, Table
from mingyue.explain.subject import Subject, label
from mingyue.language import tr

CLEARLY = 0.1
"""Nats a token: a model that never learned may be below a blind guess by less."""


def show(subject: Subject, knobs: Knobs) -> Exhibit:
    """The text above, the text one token on below, and how likely the model found each."""
    ids = subject.ids[0]  # [T]
    x, y = subject.labels[:-1], subject.labels[1:]
    logs = subject.logits[:-1].double().log_softmax(dim=-1)  # [T-1, V]
    loss = -logs[range(len(y)), ids[1:]].numpy()  # [T-1]
    first = logs.argmax(dim=-1)  # [T-1]
    hits = int((first == ids[1:]).sum())
    chance = math.log(subject.model.config.vocab_size)
    mean = float(loss.mean())
    agreed = sum(a == b for a, b in zip(x[1:], y[:-1], strict=True))
    return Exhibit(
        name="pairs",
        title=EXHIBIT.title(),
        see=tr(
            "Each position sees its own token and those before it, and is asked for the next one. "
            "One text gives as many questions as it has tokens, all answered in one pass. The loss "
            "of a position is -ln of the probability it gave to what really came next."
        ),
        verdicts=[
            Verdict(
                tr("Y is X moved by one token"),
                tr("{agreed} of {n} places agree", agreed=agreed, n=len(y) - 1),
                agreed == len(y) - 1 if len(y) > 1 else None,
            ),
            Verdict(
                tr("the model has learned something: it loses clearly less than a blind guess"),
                tr(
                    "{mean} nats a token, blind {chance}",
                    mean=f"{mean:.3f}",
                    chance=f"{chance:.3f}",
                ),
                mean < chance - CLEARLY,
            ),
        ],
        panels=[
            Strip(
                title=tr("what came, coloured by the probability it was given"),
                tokens=y,
                values=np.exp(-loss),
                below=[percent(p) for p in np.exp(-loss).tolist()],
                scale="share",
            ),
            Table(
                title=tr("question, answer, and what the model would have said"),
                columns=["x", "y", "p(y)", tr("loss"), tr("likeliest"), "p"],
                rows=[
                    [
                        x[t],
                        y[t],
                        float(np.exp(-loss[t])),
                        float(loss[t]),
                        label(subject.tokenizer, int(first[t])),
                        float(logs[t, first[t]].exp()),
                    ]
                    for t in range(len(y))
                ],
            ),
        ],
        notes=[
            *subject.notes,
            tr("the likeliest token was the right one at {n} of {all} places", n=hits, all=len(y)),
        ],
    )


EXHIBIT = Definition(
    name="pairs",
    spec="D12",
    title=lambda: tr("Pairs: the same text one token apart"),
    brief=lambda: tr("X and Y stacked, probability and loss under each character"),
    texts=("床前明月光", "To be, or not to be"),
    show=show,
)
