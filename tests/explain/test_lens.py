"""D17: streams, patches and parts are those of the modules, and all parts make the score."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch import Tensor
from torch.nn import functional as F

from mingyue.errors import UserError
from mingyue.explain.exhibits.lens import LensKnobs, show
from mingyue.explain.measures import patching
from mingyue.explain.measures.attribution import take_apart
from mingyue.explain.measures.patching import corrupted
from mingyue.explain.subject import label
from mingyue.model.gpt import GPT
from mingyue.model.hooks import HookPoint, run_with_hooks
from tests.explain.corpora import with_text
from tests.explain.helpers import in_bytes, subject
from tests.model.configs import POSITIONS, configs

TEXT = "床前明月光，疑是地上霜。"


@torch.no_grad()
def streams(model: GPT, ids: Tensor) -> list[Tensor]:
    """By the modules, without hooks: L + 1 of [B, T, C]."""
    x, view = model.embedding(ids), model.view(0, ids.shape[1])
    if model.config.position in ("learned", "sinusoidal"):
        x = x + model.position(0, ids.shape[1])
    found = [x]
    for block in model.blocks:
        found.append(block(found[-1], view))
    return found


@torch.no_grad()
def onward(model: GPT, stream: Tensor, layer: int) -> Tensor:
    """Log-probabilities [B, T, V] from the stream before ``layer`` on."""
    view = model.view(0, stream.shape[1])
    for block in model.blocks[layer:]:
        stream = block(stream, view)
    return (model.norm(stream) @ model.unembedding.T).log_softmax(dim=-1)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
def test_the_guess_at_each_layer(position: str, norm: str) -> None:
    looked = subject(TEXT, position=position, norm=norm, n_layer=3)
    model, ids = looked.model, looked.ids
    exhibit = show(looked, LensKnobs())
    drawn, table, curve = exhibit.panels[:3]
    for layer, stream in enumerate(streams(model, ids)):
        logs = (model.norm(stream) @ model.unembedding.T).log_softmax(dim=-1)[0].detach()
        true = logs[range(12), ids[0, 1:]]
        np.testing.assert_allclose(drawn.values[layer], true.exp().numpy(), atol=1e-5)
        assert curve.lines["loss"][layer] == pytest.approx(-float(true.mean()), abs=1e-4)
        for t, row in enumerate(table.rows):
            best = int(logs[t].argmax())
            assert (
                row[2 + layer]
                == f"{label(looked.tokenizer, best)} {float(logs[t, best].exp()):.0%}"
            )
    assert exhibit.verdicts[0].holds is True


@pytest.mark.parametrize("position", POSITIONS)
@torch.no_grad()
def test_patches_equal_whole_runs_with_one_vector_put_in(position: str) -> None:
    looked = subject(TEXT, position=position)
    model, other = looked.model, "床前明月地，疑是地上霜。"
    exhibit = show(looked, LensKnobs(other=other, at=8))
    back = exhibit.panels[3].values  # [L + 1, 0 … 8]
    assert back.shape == (3, 9) and list(exhibit.panels[3].columns) == list(looked.labels[:9])
    token = int(looked.logits[8].argmax())
    there = looked.read(other)
    worse = onward(model, streams(model, there)[0], 0)[0, 8, token]
    clean = streams(model, looked.ids)
    names = ["blocks.0.hook_resid_pre", "blocks.0.hook_resid_post", "blocks.1.hook_resid_post"]
    for layer, name in enumerate(names):
        for place in range(9):

            def put(value: Tensor, hook: HookPoint, layer=layer, place=place) -> Tensor:
                mixed = value.clone()
                mixed[0, place] = clean[layer][0, place]
                return mixed

            logits = run_with_hooks(model, there, [(name, put)])[0, 8]
            gain = float(logits.log_softmax(dim=-1)[token] - worse)
            assert back[layer, place] == pytest.approx(gain, abs=2e-4)
    assert (back[:, :5] == 0).all()  # before the change nothing differs
    assert exhibit.verdicts[2].holds is True


@settings(max_examples=60)
@given(configs())
def test_all_parts_make_the_score(config) -> None:
    looked = in_bytes(config, "ab ba!")
    parts = take_apart(looked, 4, torch.tensor([97, 98, 7]))
    size = float(parts.neurons.abs().sum() + parts.heads.abs().sum())
    off = (parts.total() - looked.logits[4, [97, 98, 7]].double()).abs().max()
    assert float(off) <= 1e-5 * max(1.0, size)
    groups = parts.groups()
    assert len(groups) >= 2 * config.n_layer
    exhibit = show(looked, LensKnobs(at=4))
    assert exhibit.verdicts[-1].holds is True and exhibit.verdicts[0].holds is True


@pytest.mark.parametrize("norm", ["rmsnorm", "layernorm"])
def test_heads_and_neurons_drawn_are_what_they_add(norm: str) -> None:
    """Each part is what the score loses when the part is taken from the last stream and the
    division stays."""
    looked = subject(TEXT, norm=norm, bias=True, n_layer=1)
    model, ids, t = looked.model, looked.ids, len(TEXT)
    best = int(looked.logits[t].argmax())
    exhibit = show(looked, LensKnobs())
    _, heads, neurons = exhibit.panels[4:]
    with torch.no_grad():
        block, view = model.blocks[0], model.view(0, t + 1)
        x = model.embedding(ids)
        q, k, v = block.attention.project(block.norm_1(x), view.rotation)
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)[0, :, t]
        middle = x + block.attention(block.norm_1(x), view)
        post = block.ffn.bend(block.ffn.up(block.norm_2(middle)))[0, t]
        last = block(x, view)[0, t]

        def score(stream: Tensor) -> Tensor:
            if norm == "layernorm":
                full, here = last - last.mean(), stream - stream.mean()
            else:
                full, here = last, stream
            size = (full.square().mean() + model.config.norm_eps).sqrt()
            return (here / size * model.norm.weight) @ model.unembedding[best]

        for head in range(2):
            out = block.attention.out.weight[:, 8 * head : 8 * head + 8] @ z[head]
            lost = score(last) - score(last - out)
            assert heads.values[0, head] == pytest.approx(float(lost), abs=1e-4)
        for name, reaction, added, _ in neurons.rows:
            number = int(name.removeprefix("0."))
            assert reaction == pytest.approx(float(post[number]), abs=1e-4)
            out = block.ffn.down.weight[:, number] * post[number]
            assert added == pytest.approx(float(score(last) - score(last - out)), abs=1e-4)


def test_the_text_compared_with_is_the_costliest_single_change() -> None:
    looked = subject(TEXT)
    t = 12
    token = int(looked.logits[t].argmax())
    other = corrupted(looked, t, token)
    changed = (other != looked.ids)[0].nonzero().flatten().tolist()
    assert len(changed) == 1 and changed[0] not in (0, 6, 12)  # no sign, not the place itself
    cost = {}
    for place in (1, 2, 3, 4, 5, 7, 8, 9, 10, 11):
        likely = looked.logits[place - 1].argsort(descending=True).tolist()
        texts = [looked.tokenizer.token_text(i) for i in likely]
        new = next(
            i
            for i, s in zip(likely, texts, strict=True)
            if len(s) == 1 and s not in (looked.labels[place], "，", "。")
        )
        tried = looked.ids.clone()
        tried[0, place] = new
        cost[place] = float(onward(looked.model, streams(looked.model, tried)[0], 0)[0, t, token])
    assert changed[0] == min(cost, key=lambda place: cost[place])


def test_losses_come_from_held_out_text_and_verdicts_can_say_no() -> None:
    blank = with_text(subject(TEXT), val=[TEXT, TEXT[:5]])
    blank.model.initialise()
    exhibit = show(blank, LensKnobs())
    assert exhibit.verdicts[1].holds is False and "held-out" in exhibit.verdicts[1].measured
    assert exhibit.verdicts[3].holds is False  # no change matters to it
    total = 0.0
    for text in (TEXT, TEXT[:5]):
        row = torch.tensor([0, *blank.tokenizer.encode(text), 0])
        with torch.no_grad():
            logits = blank.model(row[None, :-1]).logits[0]
        total += float(F.cross_entropy(logits, row[1:], reduction="sum"))
    assert exhibit.panels[2].lines["loss"][-1] == pytest.approx(total / 19, abs=1e-4)
    assert show(subject(TEXT, causal=False), LensKnobs()).verdicts[1].holds is None


def test_where_few_places_can_be_tried_the_change_is_among_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patching, "affordable", lambda model, passes, least, most: 4 * 13)
    exhibit = show(subject(TEXT), LensKnobs(other="床前地月光，疑是地上霜。"))
    back, undone = exhibit.panels[3], exhibit.verdicts[2]
    assert list(back.columns) == ["明", *"地上霜。"]
    lost = float(back.values[0, 0])
    assert lost == pytest.approx(float(back.values[-1, -1]), abs=1e-4) and undone.holds is True


def test_wrong_knobs_are_refused() -> None:
    looked = subject(TEXT)
    with pytest.raises(UserError, match="equally many"):
        show(looked, LensKnobs(other="床前"))
    with pytest.raises(UserError, match="differs nowhere"):
        show(looked, LensKnobs(other=TEXT[:11] + "月", at=4))
    with pytest.raises(UserError, match="position 0"):
        show(looked, LensKnobs(at=0))
    with pytest.raises(UserError, match="no layers"):
        show(subject(TEXT, n_layer=0), LensKnobs())


def test_long_and_short_texts() -> None:
    looked = subject(TEXT * 10, block_size=256)
    exhibit = show(looked, LensKnobs(start=30))
    assert list(exhibit.panels[0].columns) == list(looked.labels[31:95])
    assert exhibit.panels[3].values.shape == (3, 64)
    assert list(exhibit.panels[3].columns) == list(looked.labels[-64:])
    exhibit.to_json()
    deep = show(subject(TEXT, n_layer=12), LensKnobs())  # of 13 streams 7 are in the table
    words = [f"layer {layer}" for layer in (1, 3, 5, 7, 9, 11)]
    assert list(deep.panels[1].columns) == ["x", "y", "embedding", *words]
    assert len(deep.panels[0].rows) == len(deep.panels[3].rows) == 13
    show(subject("床"), LensKnobs()).to_json()
    show(subject("，，"), LensKnobs()).to_json()
