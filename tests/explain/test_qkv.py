"""D4: what is drawn is what attention computes, in every kind of model."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.explain.exhibits.qkv import EXHIBIT, QkvKnobs, show
from mingyue.explain.measures.reference import Looks
from mingyue.explain.subject import Subject
from mingyue.generation.writer import Writer
from mingyue.text.tokenizer import Tokenizer
from tests.explain.helpers import in_bytes, subject
from tests.explain.recomputed import attended
from tests.model.configs import configs, lively

CAT = EXHIBIT.texts[0]


@settings(max_examples=80)
@given(configs(), st.booleans(), st.data())
@torch.no_grad()
def test_every_number_is_the_model_s(config, causal, data) -> None:
    """GQA, QK-norm, RoPE with its fractions and scalings, ALiBi, biases, with mask and without."""
    looked = in_bytes(config, "abc dab", causal=causal)
    layer = data.draw(st.integers(0, config.n_layer - 1))
    head = data.draw(st.integers(0, config.n_head - 1))
    t = data.draw(st.integers(0, 7))
    exhibit = show(looked, QkvKnobs(layer=layer, head=head, at=t))
    steps, scores, shares, query, keys, weighted, _ = exhibit.panels
    q, k, v, all_steps = attended(looked, layer)
    shared = head // (config.n_head // config.kv_heads)
    scale = max(1.0, float((q @ q.mT).abs().max()), float((k @ k.mT).abs().max()))
    close = lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4 * scale)
    close(query.values[-1], q[0, head, t])
    close(keys.values, k[0, shared])
    product = (q[0, head] @ k[0, shared].T)[t]
    close([row[2] for row in steps.rows], product)
    close(scores.values[0], q[0, head] @ k[0, shared].T / math.sqrt(config.head_width))
    np.testing.assert_allclose(shares.values, all_steps.pattern[0, head], atol=1e-3)
    np.testing.assert_allclose(
        scores.values[-1], all_steps.scores[0, head], rtol=1e-3, atol=1e-4 * scale
    )
    close(weighted.values[:-1], all_steps.pattern[0, head, t][:, None] * v[0, shared])
    close(weighted.values[-1], all_steps.z[0, head, t])
    for s, row in enumerate(steps.rows):  # the table says what the matrix says
        shown = [-math.inf if cell == "-∞" else cell for cell in row[3:]]
        drawn = [*scores.values[:, t, s], shares.values[t, s]]
        np.testing.assert_allclose(shown, drawn, rtol=1e-6)
    assert ("-∞" in [row[-2] for row in steps.rows]) == (causal and t < 7)
    assert exhibit.verdicts[0].holds is True, exhibit.verdicts[0]


@pytest.mark.parametrize(
    ("config", "steps", "cards"),
    [
        ({"position": "learned", "qk_norm": False}, ["q·k", "/√d", "+ mask"], ["q"]),
        ({"position": "alibi"}, ["q·k", "/√d", "- distance", "+ mask"], ["q", "QK-norm"]),
        ({"causal": False}, ["q·k", "/√d"], ["q", "QK-norm", "RoPE"]),
    ],
)
def test_the_steps_are_those_the_model_has(config, steps, cards) -> None:
    exhibit = show(subject(CAT, **config), QkvKnobs())
    assert exhibit.panels[0].columns[2:] == [*steps, "softmax"]
    assert exhibit.panels[3].rows == cards


def test_the_query_is_it_by_default_and_may_be_chosen() -> None:
    assert show(subject(CAT), QkvKnobs()).panels[0].title.startswith("它 asks (position 7,")
    chosen = show(subject(CAT), QkvKnobs(character="鱼", layer=-1, head=1))
    assert chosen.panels[0].title == "鱼 asks (position 5, layer 1, head 1)"
    assert "光 asks (position 5" in show(subject("床前明月光"), QkvKnobs()).panels[0].title


def test_a_model_that_computes_otherwise_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = subject(CAT)
    norm = looked.model.blocks[0].attention.k_norm
    monkeypatch.setattr(norm, "forward", lambda x: 1.1 * x)
    verdict = show(looked, QkvKnobs(layer=0)).verdicts[0]
    assert verdict.holds is False


@torch.no_grad()
def compared(looked: Subject, t: int, key: int) -> list[torch.Tensor]:
    """What each head gives to ``key``: from t, from other tokens that see it on average, and from
    other tokens at t on average; [L, H] each, from the attention that a layer computes."""

    def given(ids: torch.Tensor) -> torch.Tensor:
        text = replace(looked, ids=ids)
        return torch.stack([attended(text, layer)[3].pattern[0, :, :, key] for layer in (0, 1)])

    ids, own = looked.ids, given(looked.ids)  # [L, H, T]
    others = [own[:, :, s] for s in range(key + 1, ids.shape[1]) if s != t]
    instead = []
    for id in dict.fromkeys(ids[0, 1:].tolist()):
        if id not in (int(ids[0, t]), int(ids[0, key])):
            changed = ids.clone()
            changed[0, t] = id
            instead.append(given(changed)[:, :, t])
    return [own[:, :, t], torch.stack(others).mean(0), torch.stack(instead).mean(0)]


def test_whether_it_looks_at_the_cat_is_measured() -> None:
    holds = set()
    for seed in range(24):
        looked = subject(CAT)
        looked = Subject.of(Writer(lively(looked.model.config, seed), looked.tokenizer), CAT)
        exhibit = show(looked, QkvKnobs())
        verdict = exhibit.verdicts[1]
        own, others, instead = compared(looked, 7, 1)
        fit = (own > 0.5) & (own > 2 * others) & (own > 2 * instead)
        assert verdict.holds == bool(fit.any())
        said = re.match(
            r"head (.)\.(.): 它 gives 猫 (.*); .* see 猫 give (.*), other .* 它 (.*)$",
            verdict.measured,
        )
        assert said
        at = int(said[1]), int(said[2])
        assert fit[at] or not fit.any()
        for number, each in zip(said.groups()[2:], (own, others, instead), strict=True):
            assert float(number) == pytest.approx(float(each[at]), abs=6e-4)
        assert exhibit.panels[0].title.endswith(f"layer {at[0]}, head {at[1]})")
        holds.add(verdict.holds)
    assert holds == {True, False}
    assert len(show(subject("床前明月光"), QkvKnobs()).verdicts) == 1


@pytest.mark.parametrize(
    ("own", "others", "instead", "clear"),
    [
        (0.9, 0.2, 0.1, True),
        (0.9, 0.8, 0.1, False),  # the head looks at 猫 from everywhere
        (0.9, 0.1, 0.8, False),  # whoever stands in that place looks at 猫
        (0.4, 0.0, 0.0, False),
    ],
)
def test_half_of_the_attention_is_not_enough(own, others, instead, clear) -> None:
    found = Looks(*(torch.tensor([[each]]) for each in (own, others, instead)))
    assert bool(found.clear > 0) == clear


def test_without_anybody_to_compare_with_nothing_is_claimed() -> None:
    assert show(subject("猫它"), QkvKnobs(character="它")).verdicts[1].holds is None


def test_whether_it_looks_at_the_animal_is_measured_and_the_best_head_named() -> None:
    text = EXHIBIT.texts[-1]
    tokenizer = Tokenizer.train_bpe([f"{text} the animal"] * 9, 400)
    config = subject().model.config.changed(vocab_size=tokenizer.vocab_size)
    looked = Subject.of(Writer(lively(config), tokenizer), text)
    animal, it = looked.labels.index(" animal"), looked.labels.index(" it")
    exhibit = show(looked, QkvKnobs())
    assert exhibit.panels[0].title.startswith(f"it asks (position {it},")
    own, others, instead = compared(looked, it, animal)
    clear = torch.minimum(own - 0.5, own / 2 - torch.maximum(others, instead))
    layer, head = divmod(int(clear.argmax()), config.n_head)
    assert exhibit.panels[0].title.endswith(f"layer {layer}, head {head})")
    verdict = exhibit.verdicts[1]
    assert "it looks at animal" in verdict.claim
    assert f"head {layer}.{head}: it gives animal" in verdict.measured
    assert verdict.holds == bool(clear.max() > 0)


def test_shared_heads_are_named() -> None:
    exhibit = show(subject(CAT, n_head=4, n_kv_head=2), QkvKnobs(head=3))
    assert any("heads 2 to 3 share key and value head 1" in note for note in exhibit.notes)


def test_long_texts_are_windowed() -> None:
    text = "".join(chr(0x4E00 + i) for i in range(150))
    exhibit = show(subject(text, block_size=200), QkvKnobs(start=50))
    assert len(exhibit.panels[0].rows) == 64 and exhibit.panels[1].values.shape == (2, 64, 64)


@pytest.mark.parametrize("knobs", [{"layer": 2}, {"head": -3}, {"layer": 0, "head": 9}])
def test_what_is_not_there_is_refused(knobs) -> None:
    with pytest.raises(UserError, match="this model has 2 of them"):
        show(subject(CAT), QkvKnobs(**knobs))
