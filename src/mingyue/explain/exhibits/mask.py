"""D13: the future is hidden, and what becomes of a model that sees it (article: 下三角掩码)."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.choosing import window, window_note
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.cards import queries_and_keys
from mingyue.explain.measures.rehearsal import (
    Excerpt,
    at_once,
    left_to_right,
    rehearse,
    small,
    written,
)
from mingyue.explain.numbers import deviation, with_error
from mingyue.explain.panels import Curves, Matrix, Panel, Table
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.attention import alibi_bias

LAST = 10
"""Steps at the end of a training whose mean loss is called its outcome."""

WORTH = 0.05
"""Nats a token, or a share of attention, that is worth the name."""


class MaskKnobs(Knobs):
    start: int = Field(default=0, ge=0, description="the first token drawn")
    steps: int = Field(
        default=100, ge=0, le=2000, description="of the two small trainings; 0 leaves them out"
    )
    seed: int = Field(default=0, ge=0, description="of the two small trainings")


def show(subject: Subject, knobs: MaskKnobs) -> Exhibit:
    """Scores with and without the future, then two small models, one of which may cheat."""
    before, after = _scores(subject)  # [L, H, T, T] each
    part = window(knobs.start, len(subject.labels))
    labels, layers, heads = list(subject.labels[part]), *before.shape[:2]
    pages = {"layer": [str(i) for i in range(layers)], "head": [str(i) for i in range(heads)]}
    verdicts, panels, notes = _trainings(subject, knobs) if knobs.steps else ([], [], [])
    return Exhibit(
        name="mask",
        title=EXHIBIT.title(),
        see=tr(
            "In training the whole text lies before the model, the answers too: the next token "
            "stands one place to the right. The mask sets the score of everything to the right to "
            "-∞, and softmax turns that into exactly 0. Without it a model need not learn the "
            "language; it need only learn to look to the right. Its training loss dives, and where "
            "nothing stands to the right, as when it writes, it knows nothing."
        ),
        verdicts=[*_laws(subject, before, after), *verdicts],
        panels=[
            *(
                Matrix(
                    title=title,
                    values=scores[..., part, part].numpy(),
                    rows=labels,
                    columns=labels,
                    row_label=tr("asks"),
                    column_label=tr("is looked at"),
                    scale="signed",
                    pages=pages,
                )
                for title, scores in (
                    (tr("scores before the mask"), before),
                    (tr("scores after the mask; empty: -∞"), after),
                )
            ),
            *panels,
        ],
        notes=[*subject.notes, *window_note(part, len(subject.labels)), *notes],
    )


def _scores(subject: Subject) -> tuple[Tensor, Tensor]:
    """q·k/√D of all layers and heads, and what the model makes of them; [L, H, T, T] each."""
    q, k = queries_and_keys(subject, turned=True)  # [L, H, T, D]
    before = q @ k.mT / math.sqrt(q.shape[-1])
    model, T = subject.model, q.shape[2]
    if model.config.position == "alibi":  # takes off points for distance, mask or not
        before = before + alibi_bias(model.slopes, T, T, causal=False)
    seen = subject.see(lambda name: name.endswith("hook_attn_scores"))
    return before, torch.cat(list(seen.values()))


def _laws(subject: Subject, before: Tensor, after: Tensor) -> list[Verdict]:
    T = before.shape[-1]
    future = torch.ones(T, T, dtype=torch.bool).triu(1)
    hidden = int(after[..., future].isneginf().sum())
    gap = float((after - before)[..., ~future].abs().max())
    size = float(before.abs().max())
    ahead = float(before.softmax(dim=-1)[..., future].sum() / before[..., 0].numel())
    return [
        Verdict(
            tr("the mask takes away all of the future and changes nothing else"),
            tr(
                "{n} of {all} scores of the future are -∞; largest change of any other: {gap}",
                n=f"{hidden:,}",
                all=f"{after[..., future].numel():,}",
                gap=deviation(gap),
            ),
            hidden == after[..., future].numel() and gap <= 1e-4 * max(1.0, size),
        ),
        Verdict(
            tr("without it these scores would let tokens look ahead"),
            tr("{share} of all attention would go to the future", share=f"{ahead:.1%}"),
            ahead > WORTH,
        ),
    ]


@dataclass(frozen=True)
class _Outcome:
    """Of a model with mask, then of one without."""

    losses: np.ndarray  # [2, steps]
    seen: Tensor  # [2, rows, BLOCK] losses with the whole row there
    unseen: Tensor  # [2, rows, BLOCK] losses from the past alone
    written: list[list[int]]


@lru_cache(maxsize=4)
def _outcome(excerpt: Excerpt, steps: int, seed: int) -> _Outcome:
    models = small(excerpt, seed), small(excerpt, seed)
    models[1].config = models[1].config.changed(causal=False)  # with the same weights
    losses, rows = rehearse(models, excerpt, steps, seed), excerpt.check()
    return _Outcome(
        losses,
        torch.stack([at_once(model, rows) for model in models]),
        torch.stack([left_to_right(model, rows) for model in models]),
        [written(model, excerpt, 32, seed) for model in models],
    )


def _trainings(subject: Subject, knobs: MaskKnobs) -> tuple[list[Verdict], list[Panel], list[str]]:
    excerpt = Excerpt.of(subject)
    found, names = _outcome(excerpt, knobs.steps, knobs.seed), [tr("with mask"), tr("without mask")]
    masked, open_ = found.losses[:, -LAST:].mean(axis=1)  # nats a token
    worse = (found.unseen[1] - found.unseen[0]).flatten()  # nats a token
    mean, error = float(worse.mean()), float(worse.std() / math.sqrt(len(worse)))
    verdicts = [
        Verdict(
            tr("without mask the training loss falls to less than half of that with it"),
            tr(
                "after {n} steps {open} nats a token without, {masked} with",
                n=knobs.steps,
                open=f"{open_:.2f}",
                masked=f"{masked:.2f}",
            ),
            bool(open_ < masked / 2) if masked > WORTH else None,  # None: both know it by heart
        ),
        Verdict(
            tr("but reading from left to right the one without mask guesses worse"),
            tr("{change} nats a token more", change=with_error(mean, error, "+")),
            mean > WORTH and mean > 2 * error,
        ),
    ]
    panels: list[Panel] = [
        Curves(
            title=tr("training loss of two small models, alike but for the mask"),
            x=np.arange(1, knobs.steps + 1, dtype=float),
            lines=dict(zip(names, found.losses, strict=True)),
            x_label=tr("step"),
            y_label=tr("nats a token"),
        ),
        Table(
            title=tr("nats a token: in training, and on text they have not learned from")
            if excerpt.apart
            else tr("nats a token: in training, and on the same text once more"),
            columns=[
                tr("model"),
                tr("training, last {n} steps", n=min(LAST, knobs.steps)),
                tr("all of a row in sight"),
                tr("from left to right"),
            ],
            rows=[
                *(
                    [name, f"{loss:.2f}", f"{float(seen.mean()):.2f}", f"{float(past.mean()):.2f}"]
                    for name, loss, seen, past in zip(
                        names, (masked, open_), found.seen, found.unseen, strict=True
                    )
                ),
                [tr("a blind guess"), *[f"{math.log(len(excerpt.known)):.2f}"] * 3],
            ],
        ),
        Table(
            title=tr("what each writes"),
            columns=[tr("model"), tr("text")],
            rows=[
                [name, subject.tokenizer.decode(ids).replace("\n", "↵")]
                for name, ids in zip(names, found.written, strict=True)
            ],
        ),
    ]
    return verdicts, panels, [excerpt.about()]


EXHIBIT = Definition(
    name="mask",
    spec="D13",
    title=lambda: tr("Mask: why the future is hidden"),
    brief=lambda: tr("scores before and after it, and a model that cheats for want of it"),
    texts=("床前明月光", "To be, or not to be"),
    show=show,
    knobs=MaskKnobs,
    pages=("layer", "head"),
    needs_dataset="if at hand",
)
