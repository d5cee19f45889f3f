"""D8: reactions, columns and predictions are those of the model's own weights."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.explain.exhibits.ffn import FfnKnobs, show
from mingyue.explain.measures.neurons import promising
from mingyue.explain.measures.reactions import choosy, strong
from mingyue.explain.panels import page_of
from mingyue.explain.subject import Subject, label
from mingyue.model.gpt import GPT
from tests.explain.corpora import with_text
from tests.explain.helpers import subject
from tests.model.configs import POSITIONS

TEXT = "床前明月光，疑是地上霜。"
ACTIVATIONS = ["gelu", "gelu_tanh", "swiglu", "relu2"]


@torch.no_grad()
def reactions(model: GPT, ids: Tensor) -> Tensor:
    """By the modules, without hooks: [L, T, F]."""
    x, view, found = model.embedding(ids), model.view(0, ids.shape[1]), []
    if model.config.position in ("learned", "sinusoidal"):
        x = x + model.position(0, ids.shape[1])
    for block in model.blocks:
        middle = x + block.attention(block.norm_1(x), view)
        found.append(block.ffn.bend(block.ffn.up(block.norm_2(middle)))[0])
        x = block(x, view)
    return torch.stack(found)


@torch.no_grad()
def multiplied(looked: Subject, layer: int, number: int, factor: float) -> Tensor:
    """Probabilities [V] after the text from weights that were changed: a column of W_down.

    The start keeps its own reaction, so what is missing there is put back into the stream.
    """
    model, ids = copy.deepcopy(looked.model), looked.ids
    down = model.blocks[layer].ffn.down.weight
    lost = (1 - factor) * reactions(model, ids)[layer, 0, number] * down[:, number].clone()
    down[:, number] *= factor
    x, view = model.embedding(ids), model.view(0, ids.shape[1])
    if model.config.position in ("learned", "sinusoidal"):
        x = x + model.position(0, ids.shape[1])
    for i, block in enumerate(model.blocks):
        x = block(x, view)
        if i == layer:
            x[:, 0] += lost
    return (model.norm(x)[0, -1] @ model.unembedding.T).softmax(dim=-1)


def ids_of(looked: Subject, names: list[str]) -> list[int]:
    known = {label(looked.tokenizer, i): i for i in range(looked.tokenizer.vocab_size)}
    return [known[name] for name in names]


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("factor", [0.0, 3.0])
def test_the_prediction_moves_as_with_other_weights(position: str, factor: float) -> None:
    looked = subject(TEXT, position=position)
    exhibit = show(looked, FfnKnobs(layer=0, neuron=5, factor=factor))
    bars = exhibit.panels[4]
    ids = ids_of(looked, list(bars.names))
    wanted = multiplied(looked, 0, 5, factor)[ids]
    np.testing.assert_allclose(bars.values, wanted.numpy(), atol=1e-5)
    plain = looked.model(looked.ids).logits[0, -1].softmax(dim=-1)[ids]
    np.testing.assert_allclose(bars.beside["as it is"], plain.detach().numpy(), atol=1e-5)
    curves = exhibit.panels[5]  # from switched off to boosted, for the likeliest tokens
    assert len(curves.lines) == 5 and next(iter(curves.lines)) == bars.names[0]
    assert curves.x[0] == 0 and curves.x[-1] > 3
    for i, by in enumerate(curves.x):
        turned = multiplied(looked, 0, 5, float(by))[ids_of(looked, list(curves.lines))]
        drawn = [line[i] for line in curves.lines.values()]
        np.testing.assert_allclose(drawn, turned.numpy(), atol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
def test_reactions_and_what_is_written(activation: str, norm: str) -> None:
    looked = subject(TEXT, activation=activation, norm=norm, bias=norm == "layernorm")
    table, strip, contexts, writes, *_ = show(looked, FfnKnobs(layer=1, neuron=3)).panels
    own = reactions(looked.model, looked.ids)[1, :, 3]
    np.testing.assert_allclose(page_of(strip)[0], own.numpy(), rtol=1e-4, atol=1e-5)
    text = own[1:-1]  # the sample: tokens before the last, without the start
    assert contexts.rows[0][0] == pytest.approx(float(text.max()), rel=1e-4, abs=1e-5)
    place = 1 + int(text.argmax())
    assert f"【{looked.labels[place]}】" in contexts.rows[0][1]
    model = looked.model
    stream = torch.randn(16)
    column = model.blocks[1].ffn.down.weight[:, 3]

    def scores(x: Tensor) -> Tensor:  # the final norm with its division undone
        middle = x - x.mean() if norm == "layernorm" else x
        size = (middle.square().mean() + model.config.norm_eps).sqrt()
        bias = model.norm.bias if norm == "layernorm" else 0.0
        return ((model.norm(x) - bias) * size) @ model.unembedding.T

    with torch.no_grad():
        added = scores(stream + column) - scores(stream)
    allowed = [i for i in range(len(added)) if i not in looked.tokenizer.never_sampled]
    added = added - added[allowed].mean()
    ids = ids_of(looked, list(writes.names))
    np.testing.assert_allclose(writes.values, added[ids].numpy(), atol=1e-4)
    assert list(writes.values) == sorted(writes.values, reverse=True)
    assert float(writes.values[0]) == pytest.approx(float(added[allowed].max()), abs=1e-4)
    assert [row[0] for row in table.rows] == ["1.3"]


def test_the_neuron_shown_is_the_one_that_matters() -> None:
    looked = subject(TEXT, d_ff=6)
    exhibit = show(looked, FfnKnobs())
    before = looked.model(looked.ids).logits[0, -1].softmax(dim=-1).detach()
    moved = {}
    for layer in range(2):
        for number in range(6):
            after = multiplied(looked, layer, number, 0.0)
            moved[f"{layer}.{number}"] = float((before * (before / after).log()).sum())
    rows = exhibit.panels[0].rows
    assert rows[0][0] == max(moved, key=lambda name: moved[name])
    for name, kl, *_ in rows:
        assert kl == pytest.approx(moved[name], abs=1e-4)
    assert len(rows) == 12
    assert {n.layer for n in promising(looked, [1], 3)} == {1}


def test_contexts_come_from_the_runs_own_text() -> None:
    looked = with_text(subject(TEXT), train=["疑是霜。", "明月光，明月"])
    exhibit = show(looked, FfnKnobs(layer=0, neuron=1))
    found = []
    for text in ("疑是霜。", "明月光，明月"):
        ids = torch.tensor([[looked.tokenizer.end_id, *looked.tokenizer.encode(text)]])
        found += reactions(looked.model, ids)[0, 1:, 1].tolist()
    best = sorted(found, reverse=True)
    rows = exhibit.panels[2].rows
    np.testing.assert_allclose([row[0] for row in rows[:8]], best[:8], rtol=1e-4, atol=1e-5)
    assert len(rows) == len(found)
    assert not any("【▷】" in row[1] for row in rows)


def test_verdicts_can_say_no() -> None:
    blank = subject(TEXT)
    blank.model.initialise()
    assert show(blank, FfnKnobs()).verdicts[0].holds is False
    constant = with_text(subject(TEXT, activation="gelu", bias=True), train=[TEXT] * 30)
    with torch.no_grad():  # it says the same everywhere
        constant.model.blocks[1].ffn.up.weight.zero_()
        constant.model.blocks[1].ffn.up.bias.fill_(2.0)
    assert show(constant, FfnKnobs(layer=1, neuron=0)).verdicts[1].holds is False
    silent = with_text(subject(TEXT), train=[TEXT] * 30)
    with torch.no_grad():  # it never says a thing
        silent.model.blocks[1].norm_2.weight.zero_()
    exhibit = show(silent, FfnKnobs(layer=1, neuron=0))
    assert [verdict.holds for verdict in exhibit.verdicts] == [False, None, None]
    same = show(subject(TEXT), FfnKnobs(layer=0, neuron=0, factor=1.0))
    assert same.verdicts[0].holds is None and same.verdicts[2].holds is None


def test_last_layer_neurons_move_what_they_write() -> None:
    """Without layers above, and with the size of the stream nearly kept, the column is all."""
    looked = subject(TEXT)
    for number in range(4):
        moved = show(looked, FfnKnobs(layer=1, neuron=number, factor=1.5)).verdicts[2]
        assert moved.holds is True, moved
    around = [show(looked, FfnKnobs(layer=0, neuron=n)).verdicts[2].holds for n in range(12)]
    assert False in around  # the layer above turns some of it round


def test_wrong_knobs_are_refused_and_long_texts_windowed() -> None:
    with pytest.raises(UserError, match="layer 7"):
        show(subject(TEXT), FfnKnobs(layer=7))
    with pytest.raises(UserError, match="neuron 999"):
        show(subject(TEXT), FfnKnobs(neuron=999))
    with pytest.raises(UserError, match="no layers"):
        show(subject(TEXT, n_layer=0), FfnKnobs())
    looked = subject(TEXT * 10, block_size=256)
    exhibit = show(looked, FfnKnobs(start=50))
    assert list(exhibit.panels[1].tokens) == list(looked.labels[50:114])
    exhibit.to_json()


def test_choosy_is_only_what_untrained_neurons_are_not() -> None:
    """The product of a gate is rarely large by itself: that alone is no choice."""
    noise = torch.Generator().manual_seed(0)
    gated = torch.randn(2, 64, 4000, generator=noise).prod(dim=0)  # [n, tokens]
    rare = torch.randn(4000, generator=noise) * 0.1
    rare[:3] = 9.0
    flat = torch.rand(4000, generator=noise)
    assert choosy(rare, gated).holds is True
    assert choosy(gated[0], gated).holds is False and choosy(flat, gated).holds is False
    assert choosy(rare[:100], gated[:, :100]).holds is None
    assert float((gated[0].abs() >= gated[0].abs().max() / 2).float().mean()) < 0.05
    alike = sum(strong(one) <= strong(gated[0]) for one in gated)
    assert f"of 64 untrained neurons {alike} are" in choosy(gated[0], gated).measured
