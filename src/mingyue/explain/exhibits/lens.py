"""D17: how a prediction comes about, layer by layer, place by place, part by part."""

import numpy as np
import torch
from pydantic import Field

from mingyue.errors import UserError
from mingyue.explain.choosing import WINDOW, Place, place, window, window_note
from mingyue.explain.exhibit import Definition, Exhibit, Verdict
from mingyue.explain.measures.attribution import adds_up, made, take_apart
from mingyue.explain.measures.patching import corrupted, patch, read_other, streams
from mingyue.explain.measures.sample import Sample, affordable, layers, sample
from mingyue.explain.measures.unembed import lens
from mingyue.explain.numbers import deviation, percent
from mingyue.explain.panels import Curves, Matrix, Panel, Table
from mingyue.explain.subject import Subject, bare, label
from mingyue.language import tr
from mingyue.model.loss import cross_entropy

COLUMNS = 7
"""Layers in the table of guesses, at even distances if the model has more."""


class LensKnobs(Place):
    other: str = Field(default="", description="a text as long, to compare with; else one changed")
    start: int = Field(default=0, ge=0, description="the first token drawn")


@torch.no_grad()
def show(subject: Subject, knobs: LensKnobs) -> Exhibit:
    """The stream read at every layer, patched at every place, and the score taken apart."""
    L, t = layers(subject), place(subject, knobs)
    if t == 0:
        raise UserError(tr("position 0 sees nothing but ▷; choose a later one"))
    best, second = subject.logits[t].topk(2).indices.tolist()
    word = bare(label(subject.tokenizer, best))
    rows = [tr("embedding"), *(tr("layer {n}", n=layer) for layer in range(L))]
    text = subject.once(sample, "val", affordable(subject.model, 1, 256, 2048))
    losses = subject.once(_losses, text)
    parts = take_apart(subject, t, subject.ids.new_tensor([best, second]))
    other = read_other(subject, knobs.other, t) if knobs.other else corrupted(subject, t, best)
    matrix, verdicts = patch(subject, other, t, best, rows)
    cut = max(1, t + 1 - WINDOW)
    read = ["…"] * (cut > 1) + [label(subject.tokenizer, i) for i in other[0, cut:].tolist()]
    part = window(knobs.start, len(subject.labels))
    guesses, last = _guesses(subject, rows, part)
    return Exhibit(
        name="lens",
        title=EXHIBIT.title(),
        see=tr(
            "Each layer adds to the stream, and what is in it can be read at any layer as if it "
            "were the last: so one sees the guess form. Then a second text is run, one token "
            "apart, and one vector of the first run is put into it: where the first text's "
            "prediction comes back, that vector carries what makes the difference. Last, the "
            "score of the chosen token is a sum with a term for each head and each neuron."
        ),
        verdicts=[
            last,
            _forms(losses, text.source, subject.model.config.causal),
            *verdicts,
            adds_up(subject, t, parts, [best, second]),
        ],
        panels=[
            *guesses,
            Curves(
                title=tr("loss if the stream were read there ({source})", source=text.source),
                x=np.arange(L + 1),
                lines={tr("loss"): np.array(losses)},
                x_label=tr("layers read"),
                y_label=tr("nats a token"),
            ),
            matrix,
            *made(parts, word, bare(label(subject.tokenizer, second))),
        ],
        notes=[
            *subject.notes,
            *window_note(part, len(subject.labels)),
            tr(
                "chosen: {word}, the likeliest after {before}, at {p}",
                word=word,
                before=bare(subject.labels[t]),
                p=percent(float(subject.logits[t].softmax(dim=-1)[best])),
            ),
            tr("compared with: {text}", text="".join(read[: WINDOW + 1])),
        ],
    )


def _guesses(subject: Subject, rows: list[str], part: slice) -> tuple[list[Panel], Verdict]:
    """What each stream in the window says if it is read as the last one would be."""
    model, labels, ids = subject.model, subject.labels, subject.ids[0]
    seen = [stream[0] for stream in subject.see(streams(len(rows) - 1)).values()]  # [T, C] each
    came = slice(part.start, min(part.stop, len(ids) - 1))
    next_ids = ids[came.start + 1 : came.stop + 1, None]
    true, said = [], []
    for stream in seen:
        logs = lens(model, stream[part])  # [window, V]
        true.append(logs[: len(next_ids)].gather(1, next_ids)[:, 0])
        best = zip(logs.argmax(dim=-1).tolist(), logs.amax(dim=-1).exp().tolist(), strict=True)
        said.append([f"{label(subject.tokenizer, id)} {p:.0%}" for id, p in best])
    off = float((lens(model, seen[-1]) - subject.logits.log_softmax(dim=-1)).abs().max())
    after = [*labels[1:], "?"]
    listed = np.linspace(0, len(seen) - 1, min(len(seen), COLUMNS)).round().astype(int).tolist()
    panels: list[Panel] = [
        Matrix(
            title=tr("probability of what really came next, if the stream were read there"),
            values=torch.stack(true).exp().numpy(),  # [L + 1, window]
            rows=rows,
            columns=labels[came.start + 1 : came.stop + 1],
            row_label=tr("read after"),
            column_label=tr("what came next"),
            scale="share",
        ),
        Table(
            title=tr("the likeliest next token, if the stream were read there"),
            columns=["x", "y", *(rows[i] for i in listed)],
            rows=[
                [x, y, *(said[layer][i] for layer in listed)]
                for i, (x, y) in enumerate(zip(labels[part], after[part], strict=True))
            ],
        ),
    ]
    claim = tr("read after the last layer, it is the model's own prediction")
    return panels, Verdict(claim, tr("largest difference {n} nats", n=deviation(off)), off <= 1e-3)


def _losses(subject: Subject, text: Sample) -> list[float]:
    """Nats a token if the stream were read before the first layer, after it, and so on."""
    model, targets = subject.model, text.targets.flatten()
    seen = subject.see(streams(model.config.n_layer), text.ids)
    return [
        float(cross_entropy(model.norm(stream).flatten(0, 1), model.unembedding, targets))
        for stream in seen.values()
    ]


def _forms(losses: list[float], source: str, causal: bool) -> Verdict:
    better = losses[-1] == min(losses) and losses[-1] < losses[0] - 0.1
    return Verdict(
        tr("the guess forms on the way: the loss is least after the last layer"),
        " → ".join(f"{loss:.2f}" for loss in losses) + f" ({source})",
        better if causal else None,
    )


EXHIBIT = Definition(
    name="lens",
    spec="D17",
    title=lambda: tr("Lens: how a prediction comes about"),
    brief=lambda: tr(
        "the guess at every layer, where it came from, which heads and neurons made it"
    ),
    texts=(
        "床前明月光，疑是地上霜。举头望明",
        "猫喜欢吃鱼，它很",
        "To be, or not to",
    ),
    show=show,
    knobs=LensKnobs,
    needs_dataset=True,
)
