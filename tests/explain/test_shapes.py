"""D7: shapes, numbers and lines of code are those of the model itself."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import mingyue
from mingyue.errors import UserError
from mingyue.explain.exhibits.shapes import ShapesKnobs, _sorted_anew, show
from mingyue.explain.subject import Subject
from tests.explain.helpers import in_bytes, subject
from tests.explain.recomputed import attended, stream
from tests.model.configs import configs


@settings(max_examples=40)
@given(configs(), st.booleans(), st.data())
@torch.no_grad()
def test_shapes_and_numbers_are_the_model_s(config, causal, data) -> None:
    looked = in_bytes(config, "abc dab", causal=causal)
    layer = data.draw(st.integers(0, config.n_layer - 1))
    head = data.draw(st.integers(0, config.kv_heads - 1))
    exhibit = show(looked, ShapesKnobs(layer=layer, head=head, at=3))
    assert [verdict.holds for verdict in exhibit.verdicts] == [True] * 4, exhibit.verdicts
    steps, rows, _, table = exhibit.panels
    C, D, H, Hkv = config.d_model, config.head_width, config.n_head, config.kv_heads
    assert [step.shape for step in steps.steps] == [
        [1, 8, C],
        [1, 8, (H + 2 * Hkv) * D],
        [1, 8, H + 2 * Hkv, D],
        [1, H + Hkv, 8, D],
        [1, H, 8, D],
        [1, 8, H, D],
        [1, 8, H * D],
        [1, 8, C],
    ]
    block = looked.model.blocks[layer]
    x = block.norm_1(stream(looked, layer))
    z = attended(looked, layer)[3].z[0]  # [H, T, D]
    cards = block.attention.qkv(x)[0, 3]
    expected = {
        0: x[0, 3],
        1: cards,
        2: cards[head * D : (head + 1) * D],
        4: z[head, 3],
        5: z[head, 3],
        6: z[:, 3].flatten(),
        7: block.attention(x, looked.model.view(0, 8))[0, 3],
    }
    for i, vector in expected.items():
        n = min(64, len(vector))
        np.testing.assert_allclose(rows.values[i, :n], vector[:n], rtol=1e-3, atol=1e-3)
        assert np.isnan(rows.values[i, n:]).all()
    scores = [row for row in table.rows if row[1] == "pattern"]
    assert scores[0][2] == str([1, H, 8, 8])


def test_the_code_is_the_source_s() -> None:
    """Each line shown stands in the file, at the line, that is named with it."""
    for config in ({}, {"position": "alibi", "n_head": 4, "n_kv_head": 2}, {"causal": False}):
        steps = show(subject(**config), ShapesKnobs(layer=1)).panels[0].steps
        for step in steps:
            file, line = step.note.split(" · ")[0].split(":")
            source = Path(mingyue.__file__).parent.joinpath(file).read_text(encoding="utf-8")
            rest = " ".join(source.splitlines()[int(line) - 1 :])
            assert re.sub(r"\s+", " ", rest).find(step.code) in range(100), step
        assert len(steps) == 8


def test_nothing_is_left_changed() -> None:
    looked = subject()
    show(looked, ShapesKnobs())
    assert not any(block.attention.readable for block in looked.model.blocks)


def test_a_matrix_that_is_no_matrix_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = subject()
    qkv = looked.model.blocks[0].attention.qkv
    monkeypatch.setattr(qkv, "forward", lambda x: F.linear(x, qkv.weight) * 1.01)
    assert [v.holds for v in show(looked, ShapesKnobs()).verdicts] == [True, False, True, True]


def test_numbers_in_the_wrong_place_are_found_out() -> None:
    wide = torch.randn(1, 3, 4 * 2)  # H = 2, no keys or values: 4 heads of width 2
    z = torch.randn(1, 2, 3, 2)
    right = [wide, wide, wide.view(1, 3, 4, 2), wide, z, z.mT.mT.transpose(1, 2)]
    joined = right[-1].flatten(2)
    assert _sorted_anew([*right, joined, z], 2)[1] is True
    wrong = z.reshape(1, 3, 2, 2)  # a view where a transposition is due
    assert _sorted_anew([*right[:5], wrong, joined, z], 2)[1] is False
    assert _sorted_anew([*right, wrong.flatten(2), z], 2)[1] is False


def test_another_output_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = subject()
    seen = Subject.see

    def see(self, names):
        return {n: v + ("attn_out" in n) for n, v in seen(self, names).items()}

    monkeypatch.setattr(Subject, "see", see)
    assert show(looked, ShapesKnobs()).verdicts[3].holds is False


@pytest.mark.parametrize("knobs", [{"layer": 2}, {"head": 9}, {"at": 99}])
def test_what_is_not_there_is_refused(knobs) -> None:
    with pytest.raises(UserError):
        show(subject(), ShapesKnobs(**knobs))
