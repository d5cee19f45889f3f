"""D14: shares are shares, the future is nothing, and a temperature does what is said of it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from mingyue.explain.exhibits import softmax
from mingyue.explain.exhibits.softmax import SoftmaxKnobs, show
from mingyue.explain.subject import Subject
from tests.explain.helpers import in_bytes, subject
from tests.explain.recomputed import attended
from tests.model.configs import configs

TEXT = "床前明月光，疑是地上霜。"


@settings(max_examples=40)
@given(configs())
@torch.no_grad()
def test_the_laws_hold_in_every_model(config) -> None:
    """Whatever the positions, norms and heads; and the first layer's matrix is attention's own."""
    looked = in_bytes(config, "abc dab")
    exhibit = show(looked, SoftmaxKnobs(head=-1))
    assert [verdict.holds for verdict in exhibit.verdicts] == [True, True, True]
    np.testing.assert_allclose(
        exhibit.panels[0].values, attended(looked, 0)[3].pattern[0, -1], atol=1e-3
    )


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_distribution_is_the_model_s(temperature: float) -> None:
    looked = subject(TEXT)
    exhibit = show(looked, SoftmaxKnobs(temperature=temperature, k=4, at=3))
    _, _, bars, entropy, top = exhibit.panels
    with torch.no_grad():
        logits = looked.model(looked.ids).logits[0, 3].double().numpy()

    def p(T: float) -> np.ndarray:
        power = np.exp((logits - logits.max()) / T)
        return power / power.sum()

    np.testing.assert_allclose(bars.values, np.sort(p(temperature))[::-1][:4], atol=1e-6)
    best = np.argsort(-p(temperature))[:4]
    for name, other in bars.beside.items():
        np.testing.assert_allclose(other, p(float(name.removeprefix("T = ")))[best], atol=1e-6)
    for i in (0, 20, 40):
        q = p(entropy.x[i])
        assert entropy.lines["entropy"][i] == pytest.approx(-(q * np.log(q)).sum(), abs=1e-5)
        (line,) = top.lines.values()
        assert line[i] == pytest.approx(q.max(), abs=1e-6)
    assert entropy.marks == {"T": temperature}


def test_broken_rows_and_a_leaking_future_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = subject(TEXT)
    see = Subject.see
    leak = lambda self, names: {n: v + 1e-3 for n, v in see(self, names).items()}
    monkeypatch.setattr(Subject, "see", leak)
    sums, future, _ = show(looked, SoftmaxKnobs()).verdicts
    assert (sums.holds, future.holds) == (False, False) and "0.001" in future.measured


def test_a_temperature_that_works_backwards_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(softmax, "heat", lambda logits, T: logits * T)
    assert show(subject(TEXT), SoftmaxKnobs()).verdicts[2].holds is False


def test_where_nothing_can_be_told() -> None:
    both_ways = show(subject(TEXT, causal=False), SoftmaxKnobs())
    assert both_ways.verdicts[1].holds is None and "no mask" in both_ways.verdicts[1].measured
    dumb = subject(TEXT)
    with torch.no_grad():
        dumb.model.unembedding.zero_()
    assert show(dumb, SoftmaxKnobs()).verdicts[2].holds is None  # all scores equal
