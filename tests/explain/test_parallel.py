"""One pass equals T passes, and where it does not, the exhibit says so."""

import numpy as np
import pytest
import torch

from mingyue.explain.exhibits.parallel import EXHIBIT, ParallelKnobs
from mingyue.explain.panels import Curves, Strip, Table
from tests.explain.helpers import subject
from tests.model.configs import POSITIONS


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("n_layer", [0, 1, 3])
def test_one_pass_equals_separate_ones(position: str, n_layer: int):
    seen = subject(position=position, n_layer=n_layer)
    exhibit = EXHIBIT.show(seen, ParallelKnobs(repeats=1))
    assert exhibit.verdicts[0].holds is True
    strip, table, curves = exhibit.panels
    assert isinstance(strip, Strip) and isinstance(table, Table) and isinstance(curves, Curves)
    T = seen.ids.shape[1]
    with torch.no_grad():
        once = seen.model(seen.ids).logits[0]
        for t in (0, T // 2, T - 1):
            alone = seen.model(seen.ids[:, : t + 1]).logits[0, -1]
            assert abs(float((once[t] - alone).abs().max()) - strip.values[t]) < 1e-4
    assert [row[1:3] for row in table.rows] == [[1, T], [T, sum(range(1, T + 1))]]
    lines = list(curves.lines.values())
    np.testing.assert_allclose(lines[0][-1], table.rows[1][3])
    assert (np.diff(lines[0]) > 0).all() and (lines[1] == table.rows[0][3]).all()


@pytest.mark.parametrize("position", POSITIONS)
def test_a_model_that_sees_the_future_is_found_out(position: str):
    exhibit = EXHIBIT.show(subject(position=position, causal=False), ParallelKnobs(repeats=1))
    assert exhibit.verdicts[0].holds is False
    strip = exhibit.panels[0]
    assert isinstance(strip, Strip)
    assert strip.values[-1] < 1e-4 < strip.values[0], "the last position has no future to see"


def test_no_more_tokens_than_asked_for():
    exhibit = EXHIBIT.show(subject(), ParallelKnobs(tokens=5, repeats=2))
    strip = exhibit.panels[0]
    assert isinstance(strip, Strip) and len(strip.tokens) == len(strip.values) == 5
