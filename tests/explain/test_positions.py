"""The laws of positions, on models of every scheme; the numbers drawn are the model's own."""

import math

import numpy as np
import pytest
import torch

from mingyue.errors import UserError
from mingyue.explain.exhibits.positions import EXHIBIT, PositionKnobs
from mingyue.explain.panels import Curves, Matrix, Table
from mingyue.model.attention import Attention
from mingyue.model.block import Block
from mingyue.model.position import LearnedPosition, RotaryPosition
from tests.explain.helpers import subject
from tests.model.configs import POSITIONS

KNOBS = PositionKnobs(positions=24, layer=1, head=1)


def panel(exhibit, kind, word: str):
    return next(p for p in exhibit.panels if isinstance(p, kind) and word in p.title)


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("changed", [{}, {"n_kv_head": 1}, {"qk_norm": False, "bias": True}])
def test_the_laws_hold_and_the_own_scheme_comes_first(position: str, changed: dict):
    exhibit = EXHIBIT.show(subject(position=position, **changed), KNOBS)
    holds = {v.claim.split(":")[0]: v.holds for v in exhibit.verdicts}
    assert holds["clock"] is True and holds["RoPE"] is True
    first = {"learned": "table", "alibi": "takes off", "rope": "RoPE"}.get(position, "clock")
    assert first in exhibit.panels[0].title
    word = {"learned": "a table", "sinusoidal": "a clock", "alibi": "ALiBi", "none": "nothing"}
    assert word.get(position, "RoPE") in exhibit.see.split(".")[0]


@pytest.mark.parametrize("width", [2, 6, 15, 16])
def test_the_clock_is_the_papers(width: int):
    exhibit = EXHIBIT.show(subject(d_model=width, n_head=1, d_head=4), PositionKnobs(positions=20))
    width = width // 2 * 2
    p = np.arange(20)[:, None]
    angle = p / 10_000 ** (np.arange(0, width, 2) / width)
    rows = np.concatenate([np.sin(angle), np.cos(angle)], axis=1)
    alike = rows @ rows.T / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(rows, axis=1)
    np.testing.assert_allclose(panel(exhibit, Matrix, "clock").values, alike, atol=1e-5)
    for line, values in panel(exhibit, Curves, "clock").lines.items():
        np.testing.assert_allclose(values, np.sin(angle[:, int(line.split()[1])]), atol=1e-5)
    for hand, speed, turn in panel(exhibit, Table, "clock").rows:
        assert math.isclose(speed * p[1, 0], angle[1, hand]) and math.isclose(
            turn * speed, 2 * np.pi
        )


@pytest.mark.parametrize(
    "changed", [{}, {"qk_norm": False}, {"n_kv_head": 1}, {"rope": {"fraction": 0.5}}]
)
def test_the_pair_is_the_models_own(changed: dict):
    """Put where they really stand, query and key score as in the model."""
    seen = subject(position="rope", n_layer=1, **changed)
    T = seen.ids.shape[1]
    drawn = panel(EXHIBIT.show(seen, PositionKnobs(positions=T, head=1)), Matrix, "RoPE").values
    model, block = seen.model, seen.model.blocks[0]
    assert isinstance(block, Block) and isinstance(model.position, RotaryPosition)
    with torch.no_grad():
        x = block.norm_1(model.embedding(seen.ids))
        q, k, _ = block.attention.project(x, model.position(0, T))
    k = k.repeat_interleave(2 // k.shape[1], dim=1)
    score = float(q[0, 1, T - 1] @ k[0, 1, 1]) / math.sqrt(q.shape[-1])
    assert abs(drawn[T - 1, 1] - score) < 1e-4 * max(1, abs(score))


def test_a_turn_that_is_no_rotation_breaks_the_law(monkeypatch: pytest.MonkeyPatch):
    def stretched(self, start, n):
        rotation = whole(self, start, n)
        return rotation._replace(cos=rotation.cos * torch.linspace(1, 1.1, n)[:, None])

    whole = RotaryPosition.forward
    seen = subject(position="none")
    monkeypatch.setattr(RotaryPosition, "forward", stretched)
    claims = {v.claim: v.holds for v in EXHIBIT.show(seen, KNOBS).verdicts}
    assert [holds for claim, holds in claims.items() if "RoPE" in claim] == [False]


def test_a_learned_table_is_judged_by_its_rows():
    seen = subject(position="learned", d_model=64)
    table = seen.model.position
    assert isinstance(table, LearnedPosition)
    untrained = EXHIBIT.show(seen, PositionKnobs())
    assert untrained.verdicts[0].holds is False
    drawn = untrained.panels[0]
    assert isinstance(drawn, Matrix) and len(drawn.rows) == 32, "no more rows than the table has"
    rows = table.weight.detach().numpy()
    wanted = float(rows[3] @ rows[7] / np.linalg.norm(rows[3]) / np.linalg.norm(rows[7]))
    assert abs(drawn.values[3, 7] - wanted) < 1e-5
    with torch.no_grad():
        table.weight.copy_(torch.cumsum(table.weight, dim=0))  # a walk: neighbours are alike
    assert EXHIBIT.show(seen, PositionKnobs()).verdicts[0].holds is True


def test_alibi_shows_each_heads_own_slope():
    seen = subject(position="alibi")
    drawn = EXHIBIT.show(seen, KNOBS).panels[0]
    assert isinstance(drawn, Matrix)
    for head, slope in enumerate([2**-4, 2**-8]):
        assert drawn.values[head, 9, 2] == pytest.approx(-7 * slope)
        assert drawn.values[head, 2, 9] == -np.inf
    assert isinstance(seen.model.blocks[0].attention, Attention)


def test_heads_that_are_not_there_and_heads_too_narrow():
    with pytest.raises(UserError, match="this model has 2 of them"):
        EXHIBIT.show(subject(), PositionKnobs(head=2))
    exhibit = EXHIBIT.show(subject(position="none", d_head=1), PositionKnobs())
    assert "too narrow" in " ".join(exhibit.notes)
    assert not any("RoPE" in p.title for p in exhibit.panels)
