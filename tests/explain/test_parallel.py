"""One pass equals T passes, and where it does not, the exhibit says so."""

import numpy as np
import pytest
import torch

from mingyue.explain.exhibits.parallel import EXHIBIT, ParallelKnobs
from mingyue.explain.measures import turns
from mingyue.explain.measures.racing import runners
from mingyue.explain.panels import Curves, Strip, Table
from mingyue.model.config import ModelConfig
from mingyue.model.recurrent import Recurrent
from tests.explain.helpers import subject
from tests.model.configs import POSITIONS


@pytest.mark.parametrize("position", POSITIONS)
@pytest.mark.parametrize("n_layer", [0, 1, 3])
def test_one_pass_equals_separate_ones(position: str, n_layer: int):
    seen = subject(position=position, n_layer=n_layer)
    exhibit = EXHIBIT.show(seen, ParallelKnobs(repeats=1))
    assert exhibit.verdicts[0].holds is True
    strip, table, curves = exhibit.panels[:3]
    assert isinstance(strip, Strip) and isinstance(table, Table) and isinstance(curves, Curves)
    T = seen.ids.shape[1]
    with torch.no_grad():
        once = seen.model(seen.ids).logits[0]
        for t in (0, T // 2, T - 1):
            alone = seen.model(seen.ids[:, : t + 1]).logits[0, -1]
            assert abs(float((once[t] - alone).abs().max()) - strip.values[t]) < 1e-4
    assert [row[1:3] for row in table.rows] == [[1, T], [T, sum(range(1, T + 1))]]
    lines = list(curves.lines.values())
    np.testing.assert_allclose(lines[0][-1], float(table.rows[1][3]))
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


def test_an_rnn_beside_it():
    exhibit = EXHIBIT.show(subject(n_layer=1), ParallelKnobs(repeats=2))
    assert exhibit.verdicts[2].holds is True
    curves, table = exhibit.panels[3:]
    assert isinstance(curves, Curves) and isinstance(table, Table)
    assert list(curves.lines) == ["GPT", "LSTM"]
    assert all((line > 0).all() and len(line) == len(curves.x) for line in curves.lines.values())
    for T, row in zip(curves.x, table.rows, strict=True):
        assert row[0] == T and row[3:] == [1, T], "one layer: T steps in a row against one"


@pytest.mark.parametrize(("layers", "T"), [(1, 1), (1, 9), (3, 1), (3, 9)])
def test_how_many_steps_wait_for_each_other(layers: int, T: int):
    """The longest way through what needs what, found from its beginning."""
    waits: dict[tuple[int, int], int] = {}
    for layer in range(layers):
        for t in range(T):
            before = [waits.get((layer - 1, t), 0), waits.get((layer, t - 1), 0)]
            waits[layer, t] = 1 + max(before)
    assert turns.chains(layers, T) == (layers, max(waits.values()))


def test_a_pass_that_is_no_row_of_steps_is_found_out():
    lstm = runners(ModelConfig.checked(vocab_size=9, d_model=64, n_layer=2), 32)["LSTM"]
    assert isinstance(lstm, Recurrent) and lstm.blocks.num_layers == 2
    assert lstm.config.d_model == 64 and turns.stepwise_gap(lstm, 32) < turns.ROUNDING
    honest = lstm.hidden
    lstm.hidden = lambda ids, cache=None: honest(ids, cache) + ids.float().mean()  # of all at once
    assert turns.stepwise_gap(lstm, 32) > 1e-2
