"""D9: 狗咬人 is not 人咬狗 (article: 位置编码), and what tells a model so.

Differences are computed in float64, so that what cancels exactly is seen to do so.
"""

import copy
from collections.abc import Sequence

import torch
from pydantic import Field
from torch import Tensor

from mingyue.errors import UserError
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.numbers import deviation
from mingyue.explain.panels import Table
from mingyue.explain.subject import Subject, label
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.config import ModelConfig, Position
from mingyue.model.gpt import GPT

BLIND = 1e-9
"""Scores that differ by less are the same, added up in another order (float64)."""

SCHEMES: Sequence[Position] = ("learned", "sinusoidal", "rope", "alibi", "none")


class OrderKnobs(Knobs):
    seed: int = Field(default=0, ge=0, description="of the fresh models' random weights")


@torch.no_grad()
def show(subject: Subject, knobs: OrderKnobs) -> Exhibit:
    """The text and the text turned round, before the same last token, read by many models."""
    ask, sign = _last(subject)
    one, two = subject.ids[0, 1:].tolist(), _turned_round(subject)
    if one == two:
        raise UserError(tr("{text} reads the same both ways; give another text", text=subject.text))
    pair = torch.tensor([[*subject.ids[0, :1].tolist(), *ids, ask] for ids in (one, two)])
    pair = pair[:, : subject.model.config.block_size]  # [2, T]
    names = [subject.tokenizer.decode(ids).strip() for ids in (one, two)]
    config = subject.model.config
    twin = copy.deepcopy(subject.model).double()
    schemes: set[Position] = {config.position, "none"}
    this: dict[tuple[Position, bool], float] = {
        (position, causal): _difference(twin, pair, position, causal)
        for position in schemes
        for causal in (True, False)
    }
    shapes: list[tuple[Position, int]] = [*((scheme, 2) for scheme in SCHEMES), ("none", 1)]
    fresh: dict[tuple[Position, int, bool], float] = {
        (position, layers, causal): _fresh(config.vocab_size, position, layers, causal, pair, knobs)
        for position, layers in shapes
        for causal in (True, False)
    }
    blind, leak = this["none", False], this["none", True]
    own = this[config.position, config.causal]
    return Exhibit(
        name="order",
        title=EXHIBIT.title(),
        see=tr(
            "Attention adds up what the tokens bring, and a sum does not care about order. So "
            "without positions a model that sees both ways gives the same answer to every order "
            "of the same tokens. This is why the article gives tokens positions. But a causal "
            "mask tells order too: with two or more layers, what a token has gathered depends on "
            "what stood before it. Compared are the scores for what follows the two texts, which "
            "end with the same token: {sign}",
            sign=sign,
        ),
        verdicts=[
            Verdict(
                tr("this model tells {one} from {two}", one=names[0], two=names[1]),
                _measured(own),
                own > BLIND,
            ),
            Verdict(
                tr("its weights without positions and without mask are blind to order"),
                _measured(blind),
                blind <= BLIND,
            ),
            Verdict(
                tr("its weights without positions still tell order by the mask"),
                _measured(leak)
                if config.n_layer > 1
                else tr("{layers} layer: it takes two", layers=config.n_layer),
                leak > BLIND if config.n_layer > 1 else None,
            ),
            Verdict(
                tr("one layer without positions is blind, mask or not (a fresh model)"),
                _measured(max(fresh["none", 1, True], fresh["none", 1, False])),
                max(fresh["none", 1, True], fresh["none", 1, False]) <= BLIND,
            ),
        ],
        panels=[
            Table(
                title=tr("largest difference of a score after {one} and after {two}",
                         one=names[0] + sign, two=names[1] + sign),
                columns=[tr("model"), tr("positions"), tr("with mask"), tr("without mask")],
                rows=[
                    [tr("this one"), config.position, *_row(this, config.position)],
                    *(
                        [[tr("this one, positions taken away"), "none", *_row(this, "none")]]
                        if config.position != "none"
                        else []
                    ),
                    *(
                        [
                            tr("fresh, {n} layers", n=2),
                            scheme,
                            *(fresh[scheme, 2, causal] for causal in (True, False)),
                        ]
                        for scheme in SCHEMES
                    ),
                    [
                        tr("fresh, one layer"),
                        "none",
                        *(fresh["none", 1, causal] for causal in (True, False)),
                    ],
                ],
            ),
            _guesses(subject, pair, [name + sign for name in names]),
        ],
        notes=[
            *subject.notes,
            tr(
                "without mask these weights do what they were never trained for; it is only to "
                "see whether they can tell the order"
            ),
        ],
    )  # fmt: skip


def _last(subject: Subject) -> tuple[int, str]:
    """The token that asks what follows: a comma if there is one, else the end token."""
    for comma in ("，", ","):
        if subject.tokenizer.knows(comma) and len(ids := subject.tokenizer.encode(comma)) == 1:
            return ids[0], comma
    return subject.tokenizer.end_id, label(subject.tokenizer, subject.tokenizer.end_id)


def _turned_round(subject: Subject) -> list[int]:
    """The tokens from last to first; where there are blanks, the words."""
    ids = subject.ids[0, 1:].tolist()
    first = " " * subject.text.startswith(" ")  # BPE has the blank as part of the word after it
    words = first + " ".join(reversed(subject.text.removeprefix(" ").split(" ")))
    by_words = subject.tokenizer.encode(words)
    return by_words if " " in subject.text and sorted(by_words) == sorted(ids) else ids[::-1]


def _difference(model: GPT, pair: Tensor, position: Position, causal: bool) -> float:
    """Of the scores after the last token of two texts [2, T], the largest; ``model``'s config is
    left changed."""
    model.config = model.config.changed(position=position, causal=causal)
    place = model.position
    model.position = None if position == "none" else place
    with evaluating(model):
        last = model.hidden(pair)[:, -1]  # [2, C]
    model.position = place
    first, second = last @ model.unembedding.T  # [V] each
    return float((first - second).abs().max())


def _fresh(
    vocab_size: int, position: Position, layers: int, causal: bool, pair: Tensor, knobs: OrderKnobs
) -> float:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(knobs.seed)
        model = GPT(
            ModelConfig(
                vocab_size=vocab_size,
                block_size=pair.shape[1],
                n_layer=layers,
                n_head=2,
                d_model=32,
                position=position,
            )
        ).double()
    return _difference(model, pair, position, causal)


def _row(found: dict[tuple[Position, bool], float], position: Position) -> list[float]:
    return [found[position, True], found[position, False]]


def _measured(difference: float) -> str:
    return tr("largest difference of a score {gap}", gap=deviation(difference))


def _guesses(subject: Subject, pair: Tensor, names: Sequence[str]) -> Table:
    """What this model itself expects next."""
    with evaluating(subject.model):
        logits = subject.model(pair, last_only=True).logits
    assert logits is not None
    top = logits[:, 0].double().softmax(dim=-1).topk(min(8, logits.shape[-1]))
    return Table(
        title=tr("what this model expects next"),
        columns=[names[0], "p", names[1], "p"],
        rows=[
            [
                label(subject.tokenizer, int(top.indices[0, i])),
                float(top.values[0, i]),
                label(subject.tokenizer, int(top.indices[1, i])),
                float(top.values[1, i]),
            ]
            for i in range(top.indices.shape[1])
        ],
    )


EXHIBIT = Definition(
    name="order",
    spec="D9",
    title=lambda: tr("Order: what tells a model who bites whom"),
    brief=lambda: tr("the same tokens in two orders, by each scheme, masked and unmasked"),
    texts=("狗咬人", "明月", " dog bites man"),
    show=show,
    knobs=OrderKnobs,
)
