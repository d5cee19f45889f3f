"""D8: neurons react to contexts and write to the vocabulary (article: 前馈神经网络)."""

from pydantic import Field
from torch import Tensor

from mingyue.explain.choosing import window, window_note, within
from mingyue.explain.exhibit import Definition, Exhibit, Knobs
from mingyue.explain.measures.neurons import (
    FACTORS,
    Neuron,
    divergence,
    moved_to,
    moves,
    predictions,
    promising,
)
from mingyue.explain.measures.reactions import (
    along,
    around,
    choosy,
    reactions,
    reactions_untrained,
    spoken,
    writes,
)
from mingyue.explain.measures.sample import Sample, affordable, layers, sample
from mingyue.explain.panels import Bars, Strip, Table
from mingyue.explain.subject import Subject, label
from mingyue.language import tr

TRIED = 16
"""Neurons that are switched off in turn to find the one that matters most."""
HIGH, LOW = 8, 4
"""Contexts, and tokens, shown at either end."""


class FfnKnobs(Knobs):
    layer: int | None = Field(default=None, description="the layer of the neuron")
    neuron: int | None = Field(default=None, description="its number; else the one that matters")
    factor: float = Field(default=0.0, description="what it is multiplied by; 0 switches it off")
    start: int = Field(default=0, ge=0, description="the first token drawn")
    tokens: int = Field(default=8192, ge=2, description="how many tokens to look for contexts in")


def show(subject: Subject, knobs: FfnKnobs) -> Exhibit:
    """The neurons that matter for this prediction, and one of them from all sides."""
    neurons = _neurons(subject, knobs)
    before = subject.logits[-1].log_softmax(dim=-1)  # [V]
    moved = divergence(before, predictions(subject, [(neuron, 0.0) for neuron in neurons]))
    order = moved.argsort(descending=True).tolist()
    neurons, moved = [neurons[i] for i in order], moved[order]
    neuron = neurons[0]
    text = subject.once(sample, "train", affordable(subject.model, 1, 256, knobs.tokens))
    values = subject.once(reactions, text, tuple(neurons))  # [n, B · T]
    tokens = spoken(subject, text)  # [v]
    written = writes(subject, neurons, tokens)  # [n, v]
    turned = predictions(subject, [(neuron, f) for f in (knobs.factor, *FACTORS)])  # [1 + 11, V]
    post = subject.see(neuron.hook)[neuron.hook][0, :, neuron.number].float()  # [T]
    part = window(knobs.start, len(post))
    contexts, names = _ends(values[0]), _ends(written[0])
    return Exhibit(
        name="ffn",
        title=EXHIBIT.title(),
        see=tr(
            "An FFN neuron is one row of the first matrix, which says what it reacts to, and one "
            "column of the second, which it adds to the stream as strongly as it reacts. Read "
            "through the final norm and the unembedding, the column says which tokens it makes "
            "likelier. Later layers may turn that round, so the sure test is to switch the neuron "
            "off, or to boost it, and to see the prediction move. ▷ is left out: it stands before "
            "every text, and what a neuron makes of it is no reaction to the text."
        ),
        verdicts=[
            moves(neuron, knobs.factor, before, turned[0]),
            choosy(values[0], subject.once(reactions_untrained, text, neuron.layer)),
            along(knobs.factor, (turned[0] - before)[tokens], written[0] * post[-1]),
        ],
        panels=[
            _table(subject, text, neurons, moved, values, tokens, written),
            Strip(
                title=tr("neuron {neuron}: how strongly it reacts to each token", neuron=neuron),
                tokens=subject.labels[part],
                values=post[part].numpy(),
                below=[f"{value:.2f}" for value in post[part].tolist()],
                scale="signed",
            ),
            Table(
                title=tr(
                    "neuron {neuron}: its strongest reactions ({s})", neuron=neuron, s=text.source
                ),
                columns=[tr("reaction"), tr("where: it sees no further than 【】")],
                rows=[[float(values[0, i]), around(subject, text, i)] for i in contexts],
            ),
            Bars(
                title=tr(
                    "neuron {neuron}: what it writes, at a reaction of 1: score above the mean",
                    neuron=neuron,
                ),
                names=[label(subject.tokenizer, int(tokens[i])) for i in names],
                values=written[0, names].numpy(),
            ),
            *moved_to(subject, neuron, knobs.factor, before, turned),
        ],
        notes=[*subject.notes, *window_note(part, len(post))],
    )


def _neurons(subject: Subject, knobs: FfnKnobs) -> list[Neuron]:
    """The one asked for, or some that promise to matter, of one layer or of all."""
    L, F = layers(subject), subject.model.config.ffn_width
    if knobs.neuron is not None:
        layer = within(tr("layer"), -1 if knobs.layer is None else knobs.layer, L)
        return [Neuron(layer, within(tr("neuron"), knobs.neuron, F))]
    asked = range(L) if knobs.layer is None else [within(tr("layer"), knobs.layer, L)]
    return promising(subject, asked, TRIED)


def _ends(values: Tensor) -> list[int]:
    """Where the highest and the lowest numbers are, from high to low; nan is nowhere."""
    order = values.argsort(descending=True)
    order = order[~values[order].isnan()].tolist()
    return order if len(order) <= HIGH + LOW else order[:HIGH] + order[-LOW:]


def _table(
    subject: Subject,
    text: Sample,
    neurons: list[Neuron],
    moved: Tensor,
    values: Tensor,
    tokens: Tensor,
    written: Tensor,
) -> Table:
    rows = []
    for i, neuron in enumerate(neurons):
        place = int(values[i].abs().nan_to_num(-1.0).argmax())
        reaction = float(values[i, place])
        top = (written[i] * (1 if reaction >= 0 else -1)).topk(3).indices.tolist()
        said = " ".join(label(subject.tokenizer, int(tokens[best])) for best in top)
        rows.append([str(neuron), float(moved[i]), around(subject, text, place), reaction, said])
    return Table(
        title=tr("neurons that move this prediction: switched off one at a time"),
        columns=[
            tr("neuron"),
            tr("KL, nats"),
            tr("reacts most to"),
            tr("reaction"),
            tr("and then writes"),
        ],
        rows=rows,
    )


EXHIBIT = Definition(
    name="ffn",
    spec="D8",
    title=lambda: tr("FFN: neurons that react and write"),
    brief=lambda: tr("what a neuron reacts to, what it writes, and the prediction without it"),
    texts=("床前明月光，疑是地上", "猫喜欢吃鱼，它很", "To be, or not to"),
    show=show,
    knobs=FfnKnobs,
    needs_dataset=True,
)
