"""Each part of the model against its formula."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.model.attention import View, attend_readably, causal_bias
from mingyue.model.config import PRESETS, ModelConfig, RopeConfig, preset
from mingyue.model.embedding import Embedding
from mingyue.model.gpt import GPT
from mingyue.model.position import RotaryPosition, alibi_slopes, sinusoid
from tests.model.configs import lively


def test_looking_up_is_multiplying_with_one_hot():
    """Row 12 of the table equals one-hot(12) @ table (SPEC A1)."""
    table = Embedding(30, 7)
    torch.nn.init.normal_(table.weight)
    ids = torch.tensor([[12, 0, 29, 12]])
    assert torch.equal(table(ids)[0, 0], table.weight[12])
    assert torch.equal(table(ids), table.by_one_hot(ids))


def test_mask_and_softmax_rows():
    q, k, v = torch.randn(3, 2, 4, 5, 8).unbind(0)
    attended = attend_readably(q, k, v, View(None, True, None))
    future = torch.ones(5, 5).triu(1).bool()
    assert (attended.pattern[..., future] == 0).all()
    assert torch.isinf(attended.scores[..., future]).all()
    torch.testing.assert_close(attended.pattern.sum(-1), torch.ones(2, 4, 5))
    assert torch.equal(attended.pattern[..., 0, 0], torch.ones(2, 4))


def test_scores_by_hand():
    """One head, one query, two keys: softmax(q·k/√D) weighs the values."""
    q = torch.tensor([[[[1.0, 2.0]]]])
    k = torch.tensor([[[[3.0, 0.0], [1.0, 1.0]]]])
    v = torch.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    attended = attend_readably(q, k, v, View(None, False, None))
    a, b = math.exp(3 / math.sqrt(2)), math.exp(3 / math.sqrt(2))
    torch.testing.assert_close(attended.z.flatten(), torch.tensor([a / (a + b), b / (a + b)]))


def test_mask_for_a_continuation():
    expected = [[0, 0, 0, 0, float("-inf")], [0, 0, 0, 0, 0]]
    assert causal_bias(2, 5, torch.device("cpu"))[0].tolist() == expected


@given(st.integers(0, 200), st.integers(0, 50))
@settings(max_examples=30, deadline=None)
def test_shifted_sinusoid_is_a_fixed_rotation(p, k):
    """PE(p + k) comes from PE(p) by a matrix that depends on k only (article, §2)."""
    pe = sinusoid(300, 64).double()
    speed = 10_000.0 ** (-torch.arange(0, 64, 2, dtype=torch.float64) / 64)
    sin, cos = pe[p, 0::2], pe[p, 1::2]
    shift_sin, shift_cos = (k * speed).sin(), (k * speed).cos()
    torch.testing.assert_close(
        pe[p + k, 0::2], sin * shift_cos + cos * shift_sin, atol=1e-6, rtol=0
    )
    torch.testing.assert_close(
        pe[p + k, 1::2], cos * shift_cos - sin * shift_sin, atol=1e-6, rtol=0
    )


@given(st.integers(0, 60), st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=50, deadline=None)
def test_rope_products_depend_on_distance_only(m, n, shift):
    config = ModelConfig(vocab_size=9, d_model=32, n_head=2, rope=RopeConfig(fraction=0.5))
    rope = RotaryPosition(config)
    q, k = torch.randn(2, 1, 1, 1, 16, generator=torch.Generator().manual_seed(m * 61 + n))
    at = lambda p, x: rope(p, 1).turn(x)
    here = (at(m, q) * at(n, k)).sum()
    there = (at(m + shift, q) * at(n + shift, k)).sum()
    torch.testing.assert_close(here, there, atol=1e-4, rtol=1e-4)


def test_rope_turns_the_first_pair_by_one_radian():
    rope = RotaryPosition(ModelConfig(vocab_size=9, d_model=8, n_head=1))
    x = torch.zeros(1, 1, 1, 8)
    x[..., 0] = 1.0
    turned = rope(1, 1).turn(x).flatten()
    torch.testing.assert_close(turned[0], torch.tensor(math.cos(1.0)))
    torch.testing.assert_close(turned[4], torch.tensor(math.sin(1.0)))


@pytest.mark.parametrize("n_head", [1, 2, 3, 4, 6, 8, 12, 16])
def test_alibi_slopes_fall_and_differ(n_head):
    slopes = alibi_slopes(n_head)
    assert len(set(slopes.tolist())) == n_head and (slopes > 0).all() and (slopes < 1).all()
    if n_head == 8:
        assert slopes.tolist() == [2.0**-i for i in range(1, 9)]


def test_presets_build_and_name_what_they_promise():
    for name in PRESETS:
        GPT(ModelConfig.checked(vocab_size=11, d_model=16, n_layer=1, **preset(name)))
    config = ModelConfig.checked(vocab_size=11, d_model=16, **preset("gpt2"))
    assert config.position == "learned" and config.norm == "layernorm" and config.tie_embeddings


def test_feedforward_widths():
    assert ModelConfig(vocab_size=9, d_model=64, activation="gelu").ffn_width == 256
    swiglu = GPT(ModelConfig(vocab_size=9, d_model=192, n_layer=1, qk_norm=False))
    gelu = GPT(ModelConfig(vocab_size=9, d_model=192, n_layer=1, qk_norm=False, activation="gelu"))
    assert swiglu.count_parameters() == gelu.count_parameters()


@pytest.mark.parametrize(
    ("values", "word"),
    [
        ({"d_model": 30, "n_head": 4}, "n_head 4"),
        ({"n_head": 4, "n_kv_head": 3}, "n_kv_head 3"),
        ({"d_model": 4, "n_head": 4}, "RoPE"),
        ({"position": "sinusoidal", "d_model": 15, "n_head": 1}, "15"),
        ({"position": "rotary"}, "position"),
        ({"n_heads": 4}, "n_heads"),
        ({"n_layer": -1}, "n_layer"),
        ({"vocab_size": 0}, "vocab_size"),
        ({"dropout": float("nan")}, "dropout"),
        ({"dropout": 1.0}, "dropout"),
        ({"rope": {"base": 0.5}}, "rope.base"),
    ],
)
def test_impossible_shapes_are_refused_in_one_line(values, word):
    with pytest.raises(UserError) as refusal:
        ModelConfig.checked(**{"vocab_size": 50, **values})
    assert word in str(refusal.value) and "\n" not in str(refusal.value)


def test_dropout_only_while_training():
    model = lively(ModelConfig(vocab_size=20, block_size=8, d_model=16, dropout=0.5))
    ids = torch.arange(8)[None]
    assert torch.equal(model(ids).logits, model(ids).logits)
    model.train()
    assert not torch.equal(model(ids).logits, model(ids).logits)
