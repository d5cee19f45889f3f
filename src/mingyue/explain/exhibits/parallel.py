"""D15: all predictions of a text in one pass (article: 并行)."""

import time
from collections.abc import Callable
from statistics import median

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.turns import beside
from mingyue.explain.numbers import deviation, number
from mingyue.explain.panels import Curves, Strip, Table
from mingyue.explain.subject import Subject
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.gpt import GPT

ROUNDING = 1e-4
"""Two ways of adding up the same fp32 numbers may differ by so much of the largest of them."""


class ParallelKnobs(Knobs):
    tokens: int = Field(
        default=48, ge=2, le=512, description="how many tokens of the text are predicted"
    )
    repeats: int = Field(default=3, ge=1, le=50, description="how often the time is taken")


@torch.no_grad()
def show(subject: Subject, knobs: ParallelKnobs) -> Exhibit:
    """One pass over T tokens beside T passes, over one token, over two, and so on."""
    rounds = subject.once(_rounds, knobs.tokens, knobs.repeats)
    T = len(rounds[0].each)
    once, apart = rounds[0].once, rounds[0].apart  # [T, V] each
    gaps = (once - apart).abs().amax(dim=-1).numpy()  # [T]
    largest, size = float(gaps.max()), float(apart.abs().max())
    together = median(taken.together for taken in rounds)
    each = np.median([taken.each for taken in rounds], axis=0)  # [T]
    times = each.sum() / together
    in_turn, beside_panels, about = beside(subject, knobs.repeats)
    return Exhibit(
        name="parallel",
        title=EXHIBIT.title(),
        see=tr(
            "No position sees what comes after it. So what it computes does not depend on whether "
            "the rest is there yet, and one pass over a text answers the questions of all its "
            "positions at once. That is why a text is learned in one go. Writing is different: "
            "there the next token must be known before the one after it can be asked for. An RNN "
            "has no such pass: it makes each state from the one before, so T tokens are T steps "
            "one after the other, in training too."
        ),
        verdicts=[
            Verdict(
                tr("one pass gives the predictions of as many separate passes"),
                tr(
                    "largest difference {gap} among scores up to {size}",
                    gap=deviation(largest),
                    size=f"{size:.1f}",
                ),
                largest <= ROUNDING * max(1.0, size),
            ),
            Verdict(
                tr("one pass is faster than {n} separate ones", n=T),
                tr("{times} times as fast on this machine", times=f"{times:.1f}"),
                bool(times > 1),
            ),
            in_turn,
        ],
        panels=[
            Strip(
                title=tr("largest difference of a score, at each position"),
                tokens=subject.labels[:T],
                values=gaps,
                below=[number(gap) for gap in gaps.tolist()],
            ),
            Table(
                title=tr("what it takes"),
                columns=["", tr("passes"), tr("tokens computed"), tr("milliseconds")],
                rows=[
                    [tr("all at once"), 1, T, together * 1e3],
                    [tr("one after another"), T, T * (T + 1) // 2, float(each.sum()) * 1e3],
                ],
            ),
            Curves(
                title=tr("time until so many questions are answered"),
                x=np.arange(1, T + 1, dtype=float),
                lines={
                    tr("one after another"): each.cumsum() * 1e3,
                    tr("all at once"): np.full(T, together * 1e3),
                },
                x_label=tr("questions"),
                y_label=tr("milliseconds"),
            ),
            *beside_panels,
        ],
        notes=[
            *subject.notes,
            tr(
                "times are medians of {n} runs; they depend on the machine and on what else it "
                "does. The tokens computed do not",
                n=knobs.repeats,
            ),
            about,
        ],
    )


class _Round:
    """Both ways once, with the seconds they took."""

    def __init__(self, once: Tensor, apart: Tensor, together: float, each: list[float]):
        self.once, self.apart = once, apart  # [T, V] each
        self.together, self.each = together, each


def _rounds(subject: Subject, tokens: int, repeats: int) -> list[_Round]:
    model, ids = subject.model, subject.ids[:, :tokens]  # [1, T]
    with evaluating(model):
        model(ids)  # what is made only once, tables of positions say, is made now
        return [_round(model, ids) for _ in range(repeats)]


def _round(model: GPT, ids: Tensor) -> _Round:
    once, together = _timed(lambda: model(ids).logits[0])
    passes = [  # each computes only what it is asked for: the scores of its last token
        _timed(lambda n=n: model(ids[:, :n], last_only=True).logits[0, 0])
        for n in range(1, ids.shape[1] + 1)
    ]
    return _Round(once, torch.stack([one for one, _ in passes]), together, [s for _, s in passes])


def _timed(compute: Callable[[], Tensor]) -> tuple[Tensor, float]:
    start = time.perf_counter()
    return compute(), time.perf_counter() - start


EXHIBIT = Definition(
    name="parallel",
    spec="D15",
    title=lambda: tr("Parallel: all predictions in one pass"),
    brief=lambda: tr(
        "T predictions from one pass equal T separate ones, and how much faster; an RNN beside it"
    ),
    texts=("床前明月光，疑是地上霜。", "To be, or not to be"),
    show=show,
    knobs=ParallelKnobs,
)
