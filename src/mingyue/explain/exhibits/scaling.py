"""D5: why scores are divided by √d (article: 除以 √d_k)."""

import math

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.choosing import window, window_note, within
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.cards import queries_and_keys
from mingyue.explain.measures.sharpness import ENOUGH, measures_of, words
from mingyue.explain.measures.unscaled import compared
from mingyue.explain.panels import Curves, Matrix, Table
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.attention import causal_bias

WIDTHS = [2**power for power in range(2, 11)]
"""4 to 1024."""

SAMPLES, KEYS = 4096, 32
"""Pairs of random vectors at each width, and among how many keys a softmax chooses."""


class ScalingKnobs(Knobs):
    layer: int = Field(default=0, ge=0, description="whose pattern is drawn")
    head: int = Field(default=0, ge=0, description="whose pattern is drawn")
    start: int = Field(default=0, ge=0, description="the first token of the pattern drawn")
    seed: int = Field(default=0, ge=0, description="of the random vectors")
    steps: int = Field(
        default=60, ge=0, le=2000, description="of two small trainings; 0 leaves them out"
    )


@torch.no_grad()
def show(subject: Subject, knobs: ScalingKnobs) -> Exhibit:
    """The law on random vectors, then this model's own queries and keys."""
    config = subject.model.config
    within(tr("layer"), knobs.layer, config.n_layer)
    within(tr("head"), knobs.head, config.n_head)
    variances, chances = _random(knobs.seed)  # [widths], {measure: [widths]} for each way
    slope = float(np.polyfit(np.log(WIDTHS), np.log(variances), 1)[0])
    D, layers = config.head_width, config.n_layer
    raw, bias = _own(subject)  # [L, H, T, T]: q·k as it is; what is added to it
    seen = (raw + bias).isfinite().expand_as(raw)
    spread = [float(raw[i][seen[i]].var()) for i in range(layers)]
    ways = {"/√d": raw / math.sqrt(D) + bias, "q·k": raw + bias}
    patterns = {way: scores.softmax(dim=-1) for way, scores in ways.items()}
    own = {way: measures_of(pattern) for way, pattern in patterns.items()}  # each [3, L]
    before, after = (float(own[way][0].mean()) for way in ("/√d", "q·k"))
    part = window(knobs.start, len(subject.labels))
    labels = subject.labels[part]
    verdicts, panels, notes = (
        compared(subject, knobs.steps, knobs.seed) if knobs.steps else ([], [], [])
    )
    return Exhibit(
        name="scaling",
        title=EXHIBIT.title(),
        see=tr(
            "A score adds up d products. If their terms are independent and of size 1, the sum "
            "has variance d: the wider the head, the larger the scores. Softmax then gives nearly "
            "all to one key, and hardly any gradient comes back through it. Divided by √d, the "
            "scores are of size 1 at every width."
        ),
        verdicts=[
            Verdict(
                tr("the variance of q·k grows as d (random vectors)"),
                tr("as d to the power {slope}", slope=f"{slope:.3f}"),
                abs(slope - 1) < 0.05,
            ),
            Verdict(
                tr("without 1/√d, softmax stops learning in wide heads (random vectors)"),
                tr(
                    "at d {d}: gradient {without} without, {scaled} with",
                    d=WIDTHS[-1],
                    without=f"{chances['q·k'][2][-1]:.3f}",
                    scaled=f"{chances['/√d'][2][-1]:.3f}",
                ),
                bool(chances["q·k"][2][-1] < chances["/√d"][2][-1] / 2),
            ),
            Verdict(
                tr("in this model too the variance of q·k is about d = {d}", d=D),
                tr("between {low} and {high}", low=f"{min(spread):.3g}", high=f"{max(spread):.3g}"),
                all(D / 2 <= variance <= 2 * D for variance in spread),
            ),
            Verdict(
                tr("without the scale this model's attention would be sharper"),
                tr(
                    "the largest share of a row {before} with it, {after} without",
                    before=f"{before:.2f}",
                    after=f"{after:.2f}",
                ),
                after > before + ENOUGH,
            ),
            *verdicts,
        ],
        panels=[
            Curves(
                title=tr("variance of q·k, random vectors"),
                x=np.array(WIDTHS, dtype=float),
                lines={
                    "q·k": variances,
                    tr("theory: d"): np.array(WIDTHS, dtype=float),
                    "q·k/√d": variances / WIDTHS,
                },
                x_label="d",
                y_label=tr("variance"),
                log_x=True,
                log_y=True,
            ),
            *(
                Curves(
                    title=tr("softmax over {n} keys: {what}", n=KEYS, what=what),
                    x=np.array(WIDTHS, dtype=float),
                    lines={
                        tr("without 1/√d"): chances["q·k"][i],
                        tr("with 1/√d"): chances["/√d"][i],
                    },
                    x_label="d",
                    y_label=what,
                    log_x=True,
                )
                for i, what in enumerate(words())
            ),
            Table(
                title=tr("this model's own rows, mean of each layer: with and without 1/√d"),
                columns=[
                    tr("layer"),
                    tr("variance of q·k"),
                    *(f"{what}, {way}" for what in words() for way in ("/√d", "q·k")),
                ],
                rows=[
                    [
                        str(layer),
                        spread[layer],
                        *(float(own[way][i][layer]) for i in range(3) for way in ("/√d", "q·k")),
                    ]
                    for layer in range(layers)
                ],
            ),
            Matrix(
                title=tr(
                    "attention of layer {layer}, head {head}", layer=knobs.layer, head=knobs.head
                ),
                values=torch.stack(
                    [patterns[way][knobs.layer, knobs.head][part, part] for way in ("/√d", "q·k")]
                ).numpy(),  # [2, T, T]
                rows=labels,
                columns=labels,
                row_label=tr("asks"),
                column_label=tr("is looked at"),
                scale="share",
                pages={"scores": ["q·k/√d", "q·k"]},
            ),
            *panels,
        ],
        notes=[
            *subject.notes,
            *window_note(part, len(subject.labels)),
            tr(
                "entropy: ln of among how many keys a row is shared. Gradient: the length of the "
                "matrix that says how the shares answer to the scores"
            ),
            *notes,
        ],
    )


def _random(seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Variance of q·k at each width, and what softmax makes of it with and without scale."""
    generator = torch.Generator().manual_seed(seed)
    variances: list[float] = []
    measures: dict[str, list[np.ndarray]] = {"/√d": [], "q·k": []}
    for d in WIDTHS:
        q = torch.randn(SAMPLES // KEYS, 1, d, generator=generator)
        k = torch.randn(SAMPLES // KEYS, KEYS, d, generator=generator)
        scores = (q * k).sum(dim=-1)  # [128, KEYS]
        variances.append(float(scores.var()))
        for way, divisor in (("/√d", math.sqrt(d)), ("q·k", 1.0)):
            pattern = (scores / divisor).softmax(dim=-1)
            measures[way].append(measures_of(pattern[None, None])[:, 0])
    return np.array(variances), {way: np.stack(m, axis=1) for way, m in measures.items()}


def _own(subject: Subject) -> tuple[Tensor, Tensor]:
    """q·k of all layers and heads [L, H, T, T], and what masks and distances add to it."""
    q, k = queries_and_keys(subject, turned=True)
    T = q.shape[2]
    view = subject.model.view(0, T)
    bias = causal_bias(T, T, q.device) if view.causal else view.bias
    return q @ k.mT, torch.zeros(1, T, T) if bias is None else bias


EXHIBIT = Definition(
    name="scaling",
    spec="D5",
    title=lambda: tr("Scaling: why scores are divided by √d"),
    brief=lambda: tr("q·k grows with the width, the shares sharpen, the gradient vanishes"),
    texts=("床前明月光，疑是地上霜。", "To be, or not to be"),
    show=show,
    knobs=ScalingKnobs,
    pages=("scores",),
    needs_dataset="if at hand",
)
