"""The law on random vectors; the model's numbers from its weights, gradients by autograd."""

import math

import numpy as np
import pytest
import torch

from mingyue.explain.exhibits.scaling import EXHIBIT, KEYS, WIDTHS, ScalingKnobs
from mingyue.explain.measures.rehearsal import Excerpt, at_once, rehearse, small
from mingyue.explain.measures.unscaled import unscale
from mingyue.explain.panels import Curves, Matrix, Table
from mingyue.model.attention import attend_readably
from mingyue.model.block import Block
from mingyue.model.gpt import GPT
from mingyue.model.position import RotaryPosition
from tests.explain.corpora import with_text
from tests.explain.helpers import said_number, subject
from tests.model.configs import POSITIONS

LAWS = ScalingKnobs(steps=0)


def gradient(scores: torch.Tensor) -> float:
    """The length of softmax's Jacobian, the long way."""
    jacobian = torch.autograd.functional.jacobian(lambda s: s.softmax(-1), scores.double())
    return float(torch.as_tensor(jacobian).norm())


def test_random_vectors():
    variance, share, entropy, slope = EXHIBIT.show(subject(), LAWS).panels[:4]
    assert all(isinstance(panel, Curves) for panel in (variance, share, entropy, slope))
    np.testing.assert_allclose(variance.lines["q·k"], WIDTHS, rtol=0.2)
    np.testing.assert_allclose(variance.lines["q·k/√d"], 1, rtol=0.2)
    generator = torch.Generator().manual_seed(7)  # other vectors, the same law
    for i in (0, 4, 8):
        d = WIDTHS[i]
        scores = torch.randn(400, 1, d, generator=generator) * torch.randn(
            400, KEYS, d, generator=generator
        )
        scores = scores.sum(-1).double()
        for line, divisor in (("without 1/√d", 1), ("with 1/√d", math.sqrt(d))):
            p = (scores / divisor).softmax(-1)
            assert share.lines[line][i] == pytest.approx(float(p.amax(-1).mean()), rel=0.15)
            wanted = float(torch.distributions.Categorical(p).entropy().mean())
            assert entropy.lines[line][i] == pytest.approx(wanted, rel=0.15, abs=0.02)
            wanted = np.mean([gradient(row / divisor) for row in scores[:200]])
            assert slope.lines[line][i] == pytest.approx(wanted, rel=0.2, abs=0.02)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("changed", [{}, {"n_kv_head": 1, "qk_norm": False}, {"causal": False}])
@torch.no_grad()
def test_this_models_numbers(position: str, changed: dict):
    seen = subject(position=position, n_layer=1, **changed)
    exhibit = EXHIBIT.show(seen, ScalingKnobs(head=1, steps=0))
    table, matrix = exhibit.panels[4:]
    assert isinstance(table, Table) and isinstance(matrix, Matrix)
    model, block, T = seen.model, seen.model.blocks[0], seen.ids.shape[1]
    assert isinstance(block, Block)
    x = model.embedding(seen.ids)
    if position in ("learned", "sinusoidal"):
        x = x + model.position(0, T)  # type: ignore[misc]
    rotation = model.position(0, T) if isinstance(model.position, RotaryPosition) else None
    q, k, v = block.attention.project(block.norm_1(x), rotation)
    scaled = attend_readably(q, k, v, model.view(0, T))
    plain = attend_readably(q * math.sqrt(q.shape[-1]), k, v, model.view(0, T))
    for page, attended in enumerate((scaled, plain)):
        np.testing.assert_allclose(matrix.values[page], attended.pattern[0, 1], atol=1e-4)
    products = (q @ k.repeat_interleave(2 // k.shape[1], dim=1).mT)[0]  # [H, T, T]
    seen_pairs = torch.ones(T, T).tril().bool() if model.config.causal else torch.ones(T, T).bool()
    row = table.rows[0]
    assert row[1] == pytest.approx(float(products[:, seen_pairs].var()), rel=1e-3)
    for column, attended in ((2, scaled), (3, plain)):
        p = attended.pattern[0].double()
        assert row[column] == pytest.approx(float(p.amax(-1).mean()), abs=1e-4)
        wanted = float(torch.special.entr(p).sum(-1).mean())
        assert row[column + 2] == pytest.approx(wanted, abs=1e-3)
        wanted = np.mean([[gradient(s) for s in head] for head in attended.scores[0]])
        assert row[column + 4] == pytest.approx(wanted, abs=1e-3)


def test_the_laws_verdicts_hold_and_the_models_own_may_not():
    flat = subject(qk_norm=False)
    for block in flat.model.blocks:
        assert isinstance(block, Block)
        with torch.no_grad():
            block.attention.qkv.weight.mul_(1e-3)  # as good as untrained: all scores near 0
    assert [v.holds for v in EXHIBIT.show(flat, LAWS).verdicts] == [
        True, True, False, False,
    ]  # fmt: skip
    lively = EXHIBIT.show(subject(d_model=128, qk_norm=False), LAWS)
    assert lively.verdicts[3].holds is True


def test_long_texts_are_windowed():
    text = "".join(chr(ord("一") + i) for i in range(100))
    for start, first in ((20, 20), (500, 37)):  # no further than its last 64 tokens
        exhibit = EXHIBIT.show(subject(text, block_size=128), ScalingKnobs(start=start, steps=0))
        matrix = exhibit.panels[-1]
        assert isinstance(matrix, Matrix) and matrix.values.shape == (2, 64, 64)
        assert matrix.rows[0] == text[first - 1] and f"tokens {first} to" in exhibit.notes[0]


def test_two_small_models_are_measured_before_and_after():
    """Numbers of the table once more, from models trained anew and attention done by hand."""
    random = np.random.default_rng(0)
    train = ["".join(random.choice(list("床前明月光疑是地上霜"), 12)) for _ in range(60)]
    seen = with_text(subject(), train=train)
    exhibit = EXHIBIT.show(seen, ScalingKnobs(steps=40))
    table, curves = exhibit.panels[-2:]
    assert isinstance(table, Table) and isinstance(curves, Curves)
    assert [row[1] for row in table.rows] == [0, 40, 0, 40]
    excerpt = Excerpt.of(seen)
    rows = excerpt.check()
    models = [small(excerpt, 0, qk_norm=False) for _ in range(2)]
    factors = [1 / math.sqrt(64), 1.0]
    unscale(models[1])
    for step in (0, 40):
        if step:
            losses = rehearse(models, excerpt, 40, 0)
            np.testing.assert_allclose(list(curves.lines.values()), losses, atol=1e-4)
        for i, (model, factor) in enumerate(zip(models, factors, strict=True)):
            row = table.rows[2 * i + bool(step)]
            share, entropy = attention_by_hand(model, rows[:, :-1], factor)
            assert row[2] == pytest.approx(share, abs=1e-3)
            assert row[3] == pytest.approx(entropy, abs=1e-3)
    loss = [float(at_once(model, rows).mean()) for model in models]
    assert [float(row[5]) for row in table.rows[1::2]] == pytest.approx(loss, abs=1e-3)
    sharper, worse = exhibit.verdicts[4:]
    shares = [float(table.rows[i][2]) for i in (1, 3)]
    assert sharper.holds is (shares[1] > shares[0] + 0.05)
    told, rounded = said_number(worse.measured)
    assert told == pytest.approx(loss[1] - loss[0], abs=rounded + 1e-4)
    fresh = EXHIBIT.show(seen, ScalingKnobs(steps=1)).verdicts[4]
    assert fresh.holds is False, "as long as nothing is learned, scores are small either way"


@torch.no_grad()
def attention_by_hand(model: GPT, ids: torch.Tensor, factor: float) -> tuple[float, float]:
    """Mean largest share and entropy of all rows, from the weights."""
    x, T, shares, entropies = model.embedding(ids), ids.shape[1], [], []
    assert isinstance(model.position, RotaryPosition)
    for block in model.blocks:
        assert isinstance(block, Block)
        q, k, v = (block.attention.qkv(block.norm_1(x))[:, None]).chunk(3, dim=-1)
        q, k = model.position(0, T).turn(q), model.position(0, T).turn(k)
        scores = (q @ k.mT * factor).masked_fill(torch.ones(T, T).triu(1).bool(), -torch.inf)
        p = scores.softmax(dim=-1)
        shares.append(float(p.amax(-1).mean()))
        entropies.append(float(torch.special.entr(p).sum(-1).mean()))
        x = x + block.attention.out((p @ v)[:, 0])
        x = x + block.ffn(block.norm_2(x))
    return float(np.mean(shares)), float(np.mean(entropies))
