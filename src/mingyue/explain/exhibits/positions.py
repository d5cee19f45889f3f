"""D10: three ways to say where a token stands (article: 位置编码)."""

import math
from collections.abc import Sequence

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from mingyue.explain.choosing import within
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.cards import queries_and_keys
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Curves, Matrix, Panel, Table
from mingyue.explain.subject import Subject, bare
from mingyue.language import tr
from mingyue.model.attention import alibi_bias
from mingyue.model.position import LearnedPosition, RotaryPosition, sinusoid

ROUNDING = 1e-4
Part = tuple[Sequence[Verdict], Sequence[Panel]]


class PositionKnobs(Knobs):
    positions: int = Field(default=48, ge=4, le=256, description="how many positions are drawn")
    layer: int = Field(default=0, ge=0, description="whose query and key are moved about")
    head: int = Field(default=0, ge=0, description="whose query and key are moved about")


@torch.no_grad()
def show(subject: Subject, knobs: PositionKnobs) -> Exhibit:
    """This model's scheme first, then the clock and the rotation at this model's width."""
    config, n = subject.model.config, knobs.positions
    within(tr("layer"), knobs.layer, config.n_layer)
    within(tr("head"), knobs.head, config.n_head)
    own = config.position
    parts: dict[str, Part] = {}
    if own == "learned":
        parts[own] = _learned(subject, n)
    if own == "alibi":
        parts[own] = _alibi(subject, n)
    parts["sinusoidal"] = _clock(config.d_model, n)
    notes = list(subject.notes)
    if config.rotary_width >= 2:
        parts["rope"] = _rotation(subject, knobs)
    else:
        notes.append(tr("the heads of this model are too narrow for RoPE, which turns pairs"))
    ordered = sorted(parts, key=lambda name: name != own)  # the own one first
    return Exhibit(
        name="positions",
        title=EXHIBIT.title(),
        see=_own_words(own),
        verdicts=[verdict for name in ordered for verdict in parts[name][0]],
        panels=[panel for name in ordered for panel in parts[name][1]],
        notes=notes,
    )


def _own_words(scheme: str) -> str:
    return {
        "learned": tr(
            "This model learned a table: each position has a row, which is added to the token "
            "that stands there. Beside it, two schemes that are computed, at this model's width: "
            "the clock of sines and cosines, and RoPE, which turns queries and keys."
        ),
        "sinusoidal": tr(
            "This model adds a clock: the row of a position is where hands of many speeds stand. "
            "Nothing of it is learned. To move by k is to turn each hand by its own fixed angle. "
            "RoPE, at this model's width, turns queries and keys by such angles instead."
        ),
        "rope": tr(
            "This model uses RoPE: nothing is added to a token, but its queries and keys are "
            "turned, the farther on it stands the more. What is left of two turns in a product "
            "is their difference. The older clock, at this model's width, adds rows instead."
        ),
        "alibi": tr(
            "This model uses ALiBi: a distant key loses points, in some heads more than in "
            "others. Beside it, two other computed schemes at this model's width: the clock of "
            "sines and cosines, and RoPE, which turns queries and keys."
        ),
        "none": tr(
            "This model is told nothing of positions. Two schemes that could tell it, at this "
            "model's width: the clock of sines and cosines, and RoPE, which turns queries and keys."
        ),
    }[scheme]


def _learned(subject: Subject, n: int) -> Part:
    """The table's own rows, beside each other."""
    table = subject.model.position
    assert isinstance(table, LearnedPosition)
    rows = F.normalize(table.weight[:n], dim=-1)  # [n, C]
    alike = (rows @ rows.T).numpy()  # [n, n]
    n = len(alike)
    near = float(np.diagonal(alike, 1).mean())
    far = float(np.concatenate([np.diagonal(alike, k) for k in range(n // 2, n)]).mean())
    verdict = Verdict(
        tr("the table has learned that neighbours are alike"),
        tr(
            "cosine {near} next to each other, {far} far apart",
            near=f"{near:.2f}",
            far=f"{far:.2f}",
        ),
        near > far + 0.1,
    )
    return [verdict], [
        _similarity(tr("this model's table: how alike two rows are (cosine)"), alike)
    ]


def _alibi(subject: Subject, n: int) -> Part:
    """What each head takes off a score."""
    config, labels = subject.model.config, [str(p) for p in range(n)]
    panel = Matrix(
        title=tr("points that this model takes off for distance"),
        values=alibi_bias(subject.model.slopes, n, n, config.causal).numpy(),  # [H, n, n]
        rows=labels,
        columns=labels,
        row_label=tr("query at"),
        column_label=tr("key at"),
        scale="signed",
        pages={"head": [str(h) for h in range(config.n_head)]},
    )
    return [], [panel]


def _clock(d_model: int, n: int) -> Part:
    """Hands of many speeds, and the law of moving on."""
    width = d_model // 2 * 2
    table = sinusoid(n, width).double()  # [n, C]
    sin, cos = table[:, 0::2], table[:, 1::2]  # [n, C/2]: where each hand points
    gap = 0.0
    for k in range(1, n):  # the turn by k is the same wherever one stands: made of row k alone
        moved_sin = sin[:-k] * cos[k] + cos[:-k] * sin[k]
        moved_cos = cos[:-k] * cos[k] - sin[:-k] * sin[k]
        gaps = (moved_sin - sin[k:]).abs().max(), (moved_cos - cos[k:]).abs().max()
        gap = max(gap, *map(float, gaps))
    hands = sorted({round(i) for i in np.linspace(0, width // 2 - 1, 6)})
    speeds = [10_000.0 ** (-2 * hand / width) for hand in hands]
    verdict = Verdict(
        tr("clock: row p + k is row p turned by angles that depend on k alone"),
        tr("largest deviation {gap}, over all p and k below {n}", gap=deviation(gap), n=n),
        gap <= ROUNDING,
    )
    return [verdict], [
        Curves(
            title=tr("clock: the sine of some of its {n} hands", n=width // 2),
            x=np.arange(n, dtype=float),
            lines={tr("hand {i}", i=hand): sin[:, hand].numpy() for hand in hands[:3]},
            x_label=tr("position"),
            y_label="sin",
        ),
        Table(
            title=tr("clock: the speeds of its hands"),
            columns=[tr("hand"), tr("radians a token"), tr("tokens for a whole turn")],
            rows=[
                [hand, speed, 2 * math.pi / speed]
                for hand, speed in zip(hands, speeds, strict=True)
            ],
        ),
        _similarity(
            tr("clock: how alike two rows are (cosine)"), (table @ table.T / (width / 2)).numpy()
        ),
    ]


def _rotation(subject: Subject, knobs: PositionKnobs) -> Part:
    """One query and one key of this model, put at all pairs of positions."""
    config, n = subject.model.config.changed(position="rope"), knobs.positions
    q, k = queries_and_keys(subject, turned=False)  # [L, H, T, D]
    last, first = q.shape[2] - 1, 1  # the query of the last token, the key of the first
    turn = RotaryPosition(config)(0, n).turn
    spread = (config.n_layer, config.n_head, n, config.head_width)
    queries = turn(q[:, :, last, None].expand(spread).contiguous())  # [L, H, n, D]
    keys = turn(k[:, :, first, None].expand(spread).contiguous())
    scores = queries @ keys.mT / math.sqrt(config.head_width)  # [L, H, n, n]
    lengths = q[:, :, last].norm(dim=-1) * k[:, :, first].norm(dim=-1)  # [L, H]
    size = float(lengths.max()) / math.sqrt(config.head_width)
    gap = max(_range(scores.diagonal(away, -2, -1)) for away in range(1 - n, n))
    layer, labels = knobs.layer, [str(p) for p in range(n)]
    pair = {"query": bare(subject.labels[last]), "key": bare(subject.labels[first])}
    verdict = Verdict(
        tr("RoPE: the score of a query and a key depends on their distance alone"),
        tr(
            "largest deviation {gap} among scores up to {size}, all heads, all pairs below {n}",
            gap=deviation(gap),
            size=f"{float(scores.abs().max()):.2f}",
            n=n,
        ),
        gap <= ROUNDING * max(1.0, size),
    )
    return [verdict], [
        Matrix(
            title=tr("RoPE: {query} asks {key}, put at other positions; q·k/√D", **pair),
            values=scores[layer, knobs.head].numpy(),
            rows=labels,
            columns=labels,
            row_label=tr("query at"),
            column_label=tr("key at"),
            scale="signed",
        ),
        Curves(
            title=tr("RoPE: the same by distance, heads of layer {layer}", layer=layer),
            x=np.arange(n, dtype=float),
            lines={
                tr("head {i}", i=head): scores[layer, head, :, 0].numpy()
                for head in sorted({*range(min(3, config.n_head)), knobs.head})
            },
            x_label=tr("the query stands so many tokens after the key"),
            y_label="q·k/√D",
        ),
    ]


def _range(values: Tensor) -> float:
    """Largest less smallest along the last dimension, at its largest."""
    return float((values.amax(dim=-1) - values.amin(dim=-1)).max())


def _similarity(title: str, alike: np.ndarray) -> Matrix:
    labels = [str(p) for p in range(len(alike))]
    return Matrix(
        title=title,
        values=alike,
        rows=labels,
        columns=labels,
        row_label=tr("position"),
        column_label=tr("position"),
        scale="signed",
    )


EXHIBIT = Definition(
    name="positions",
    spec="D10",
    title=lambda: tr("Positions: a table, a clock, a rotation"),
    brief=lambda: tr("how a token is told its place, and the laws of the clock and of RoPE"),
    texts=("床前明月光", "To be, or not to be"),
    show=show,
    knobs=PositionKnobs,
    pages=("head",),
)
