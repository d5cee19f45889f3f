"""D4: one token asks, all tokens answer: q·k, /√d, mask, softmax, v (article: 三张名片)."""

import math

import torch
from pydantic import Field
from torch import Tensor

from mingyue.explain.choosing import Place, place, window, window_note, within
from mingyue.explain.exhibit import Definition, Exhibit, Verdict
from mingyue.explain.measures.by_hand import head_by_hand
from mingyue.explain.measures.reference import looks
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Matrix, Table
from mingyue.explain.subject import Subject, bare
from mingyue.language import tr

DRAWN = 64
"""Numbers of a card that are drawn."""
TOLERANCE = 1e-4


EXAMPLES = {"它": "猫", "牠": "猫", "it": "animal"}
"""Of the article: who asks, and whom it should find."""


class QkvKnobs(Place):
    layer: int | None = Field(default=None, description="whose attention; -1 is the last layer")
    head: int | None = Field(default=None, description="which head of it")
    start: int = Field(default=0, ge=0, description="the first token drawn")


def show(subject: Subject, knobs: QkvKnobs) -> Exhibit:
    """Every number between a query and what it brings home, in one head."""
    config = subject.model.config
    T = len(subject.labels)
    t = place(subject, knobs, prefer=[asks for asks in EXAMPLES if asks in _words(subject)])
    layer, head = _best_head(subject, knobs, t)
    found = head_by_hand(subject, layer, head)
    part = window(knobs.start, T)
    labels, scores = list(subject.labels[part]), list(found.scores)[1:-1]
    asks, shares = bare(subject.labels[t]), found.shares[t]  # [T]
    most = int(shares.argmax())
    weighted = shares[:, None] * found.values  # [T, D]
    worst = max(found.difference, key=lambda step: found.difference[step])
    largest = max(1.0, float(found.values.abs().max()), float(found.scores["q·k"].abs().max()))
    numbers = [str(d) for d in range(min(config.head_width, DRAWN))]
    return Exhibit(
        name="qkv",
        title=EXHIBIT.title(),
        see=tr(
            "Each token has three cards: a query, what it looks for; a key, what it offers; a "
            "value, what it hands over. {asks} holds its query against every key: the products "
            "are divided by √d, a causal model masks the future, and softmax makes shares of them. "
            "The values, each times its share, add up to what the head brings home for {asks}.",
            asks=asks,
        ),
        verdicts=[
            Verdict(
                tr("computed by hand from the weights, each step gives the model's own numbers"),
                tr(
                    "largest difference {n}, at {step}",
                    n=deviation(found.difference[worst]),
                    step=worst,
                ),
                found.difference[worst] <= TOLERANCE * largest,
            ),
            *_reference(subject, t),
        ],
        panels=[
            Table(
                title=tr(
                    "{asks} asks (position {t}, layer {layer}, head {head})",
                    asks=asks,
                    t=t,
                    layer=layer,
                    head=head,
                ),
                columns=[tr("position"), tr("key of"), *found.scores],
                rows=[
                    [s, subject.labels[s], *(_cell(step[t, s]) for step in found.scores.values())]
                    for s in range(part.start, part.stop)
                ],
            ),
            Matrix(
                title=tr("the same for every query: scores; rows ask, columns answer"),
                values=torch.stack([found.scores[s][part, part] for s in scores]).numpy(),
                rows=labels,
                columns=labels,
                row_label=tr("query"),
                column_label=tr("key"),
                scale="signed",
                pages={"score": scores},  # [steps, T, T]: all but q·k, which would dwarf the others
                page=[len(scores) - 1],
            ),
            Matrix(
                title=tr("softmax: each row shares out 1"),
                values=found.shares[part, part].numpy(),  # [T, T]
                rows=labels,
                columns=labels,
                row_label=tr("query"),
                column_label=tr("key"),
                scale="share",
            ),
            Matrix(
                title=tr("the query of {asks}, step by step", asks=asks),
                values=torch.stack([q[t, :DRAWN] for q in found.queries.values()]).numpy(),
                rows=list(found.queries),
                columns=numbers,
                column_label=tr("dimension"),
                scale="signed",
            ),
            Matrix(
                title=tr("the keys it is held against (key head {n})", n=found.kv_head),
                values=list(found.keys.values())[-1][part, :DRAWN].numpy(),
                rows=labels,
                columns=numbers,
                row_label=tr("key of"),
                column_label=tr("dimension"),
                scale="signed",
            ),
            Matrix(
                title=tr("value times share; the last row is the sum over all tokens"),
                values=torch.cat((weighted[part], found.z[t][None]))[:, :DRAWN].numpy(),
                rows=[*labels, "Σ"],
                columns=numbers,
                row_label=tr("value of"),
                column_label=tr("dimension"),
                scale="signed",
            ),
            Table(
                title=tr("by hand against the model"),
                columns=[tr("step"), tr("largest difference")],
                rows=[[step, deviation(apart)] for step, apart in found.difference.items()],
            ),
        ],
        notes=[
            *subject.notes,
            tr(
                "{asks} gives most to {token}: {share}",
                asks=asks,
                token=f"{bare(subject.labels[most])} ({most})",
                share=f"{float(shares[most]):.3f}",
            ),
            *_sharing(config.n_head, config.kv_heads, found.kv_head),
            *window_note(part, T),
        ],
    )


def _best_head(subject: Subject, knobs: QkvKnobs, t: int) -> tuple[int, int]:
    """The layer and head that the knobs name; left open, where the article's look is clearest."""
    config, meant = subject.model.config, _meant(subject, t)
    layers, heads = range(config.n_layer), range(config.n_head)
    if knobs.layer is not None:
        layers = [within(tr("layer"), knobs.layer, config.n_layer)]
    if knobs.head is not None:
        heads = [within(tr("head"), knobs.head, config.n_head)]
    every = [(layer, head) for layer in layers for head in heads]
    if meant is None:
        return every[0]
    clear = subject.once(looks, t, meant).clear  # [L, H]
    return max(every, key=lambda at: float(clear[at]))


def _meant(subject: Subject, t: int) -> int | None:
    """The article's examples, where they are the text: 它 means 猫, it the animal."""
    words = _words(subject)
    meant = EXAMPLES.get(words[t])
    return words.index(meant) if meant in words[:t] else None


def _reference(subject: Subject, t: int) -> list[Verdict]:
    if (meant := _meant(subject, t)) is None:
        return []
    found = subject.once(looks, t, meant)
    best = divmod(int(found.clear.argmax()), found.clear.shape[1])
    own, others, instead = (float(each[best]) for each in (found.own, found.others, found.instead))
    words = {"asks": _words(subject)[t], "meant": subject.labels[meant].strip("␣ ")}
    claim = tr(
        "as in the article, {asks} looks at {meant}: in some head it gives it more than half of "
        "its attention, and at least twice as much as other tokens do",
        **words,
    )
    if not found.compared:
        return [Verdict(claim, tr("there is no other token to compare with"), None)]
    measured = tr(
        "head {best}: {asks} gives {meant} {own}; on average the other tokens that see {meant} "
        "give {others}, other tokens in the place of {asks} {instead}",
        **words,
        best=f"{best[0]}.{best[1]}",
        own=f"{own:.3f}",
        others=f"{others:.3f}",
        instead=f"{instead:.3f}",
    )
    return [Verdict(claim, measured, bool(found.clear.max() > 0))]


def _words(subject: Subject) -> list[str]:
    """The tokens without blanks, the cat in simplified characters."""
    return [label.strip("␣ ").replace("貓", "猫") for label in subject.labels]


def _sharing(H: int, Hkv: int, kv_head: int) -> list[str]:
    if Hkv == H:
        return []
    first = kv_head * (H // Hkv)
    return [
        tr(
            "heads {first} to {last} share key and value head {n} (grouped-query attention)",
            first=first,
            last=first + H // Hkv - 1,
            n=kv_head,
        )
    ]


def _cell(value: Tensor) -> float | str:
    return "-∞" if value == -math.inf else float(value)


EXHIBIT = Definition(
    name="qkv",
    spec="D4",
    title=lambda: tr("Query, key, value: one token asks, all answer"),
    brief=lambda: tr("q·k, /√d, mask, softmax and weighted values of one query, as numbers"),
    texts=(
        "猫喜欢吃鱼，它很聪明。",
        "床前明月光",
        "The animal didn't cross the street because it was too tired.",
    ),
    show=show,
    knobs=QkvKnobs,
    pages=("score",),
)
