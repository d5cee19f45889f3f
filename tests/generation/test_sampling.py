"""SPEC C1: each way of changing scores does what transformers does; drawing follows them."""

from functools import cache
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from mingyue.errors import UserError
from mingyue.generation import sampling
from mingyue.generation.sampling import NEVER, Sampling

V = 24


@cache
def processors() -> Any:
    return pytest.importorskip("transformers").generation.logits_process


@st.composite
def scores(draw: st.DrawFn) -> Tensor:
    """Logits [B, V] of all kinds: flat, steep, with ties, with forbidden entries."""
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10**6)))
    logits = torch.randn(draw(st.integers(1, 3)), V, generator=generator)
    logits *= draw(st.sampled_from([0.1, 1.0, 5.0, 30.0]))
    if draw(st.booleans()):
        logits = logits.round()
    if draw(st.booleans()):
        logits[:, ::3] = NEVER
    return logits


def same(a: Tensor, b: Tensor) -> None:
    """Equal probabilities, and the same tokens impossible."""
    assert torch.equal(a == NEVER, b == NEVER)
    torch.testing.assert_close(a.softmax(-1), b.softmax(-1), rtol=1e-5, atol=1e-7)


IDS = torch.randint(V, (3, 9), generator=torch.Generator().manual_seed(0))


@given(scores(), st.sampled_from([0.1, 0.7, 1.0, 3.0]))
def test_temperature(logits: Tensor, t: float) -> None:
    same(sampling.heat(logits, t), processors().TemperatureLogitsWarper(t)(IDS, logits))


@given(scores(), st.integers(1, V + 5))
def test_top_k(logits: Tensor, k: int) -> None:
    same(sampling.keep_top_k(logits, k), processors().TopKLogitsWarper(k)(IDS, logits))


@given(scores(), st.sampled_from([1e-9, 1e-6, 0.1, 0.5, 0.9, 0.999]))
def test_top_p(logits: Tensor, p: float) -> None:
    same(sampling.keep_top_p(logits, p), processors().TopPLogitsWarper(p)(IDS, logits))


@given(st.integers(0, 10**6), st.sampled_from([0.3, 3.0]), st.sampled_from([1e-9, 0.5, 0.9, 0.99]))
def test_top_p_of_a_large_vocabulary(seed: int, steepness: float, p: float) -> None:
    logits = torch.randn(2, 3000, generator=torch.Generator().manual_seed(seed)) * steepness
    theirs = processors().TopPLogitsWarper(p)(IDS, logits)
    ours = sampling.keep_top_p(logits, p)
    # Rounding may put the one token at the edge of the nucleus on either side.
    assert ((ours == NEVER) != (theirs == NEVER)).sum(-1).max() <= 1
    torch.testing.assert_close(ours.softmax(-1), theirs.softmax(-1), rtol=0.02, atol=0.005)


@given(scores(), st.sampled_from([0.01, 0.1, 0.5, 1.0]))
def test_min_p(logits: Tensor, p: float) -> None:
    same(sampling.keep_min_p(logits, p), processors().MinPLogitsWarper(p)(IDS, logits))


@given(scores(), st.sampled_from([0.01, 0.2, 0.5, 0.9, 0.999]))
def test_typical(logits: Tensor, p: float) -> None:
    same(sampling.keep_typical(logits, p), processors().TypicalLogitsWarper(p)(IDS, logits))


@given(scores(), st.sampled_from([0.5, 1.2, 2.0]))
def test_repetition_penalty(logits: Tensor, penalty: float) -> None:
    ids = IDS[: logits.shape[0]]
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(1, ids, True)
    theirs = processors().RepetitionPenaltyLogitsProcessor(penalty)(ids, logits)
    same(sampling.penalise_repetition(logits, seen, penalty), theirs)


@given(scores(), st.dictionaries(st.integers(0, V - 1), st.floats(-20, 20, width=32), min_size=1))
def test_logit_bias(logits: Tensor, bias: dict[int, float]) -> None:
    wanted = {(id,): float(amount) for id, amount in bias.items()}
    theirs = processors().SequenceBiasLogitsProcessor(wanted)(IDS, logits)
    same(sampling.add_bias(logits, bias), theirs)


@given(scores(), st.sets(st.integers(0, V - 1), min_size=1, max_size=V - 1))
def test_forbid(logits: Tensor, ids: set[int]) -> None:
    theirs = processors().SuppressTokensLogitsProcessor(sorted(ids))(IDS, logits)
    assert torch.equal(sampling.forbid(logits, sorted(ids)) == NEVER, theirs == NEVER)


@settings(deadline=None)
@given(
    scores(),
    st.sampled_from([0.5, 1.5]),
    st.sampled_from([0, 5]),
    st.sampled_from([0.6, 1.0]),
    st.sampled_from([0.0, 0.05]),
    st.sampled_from([0.8, 1.0]),
)
def test_all_in_the_order_of_transformers(
    logits: Tensor, t: float, k: int, top_p: float, min_p: float, typical_p: float
) -> None:
    p = processors()
    ids = IDS[: logits.shape[0]]
    chain = [
        p.SequenceBiasLogitsProcessor({(4,): 2.0}),
        p.RepetitionPenaltyLogitsProcessor(1.3),
        p.SuppressTokensLogitsProcessor([1, 2]),
        p.TemperatureLogitsWarper(t),
        *([p.TopKLogitsWarper(k)] if k else []),
        *([p.TopPLogitsWarper(top_p)] if top_p < 1 else []),
        *([p.MinPLogitsWarper(min_p)] if min_p else []),
        *([p.TypicalLogitsWarper(typical_p)] if typical_p < 1 else []),
    ]
    theirs = logits
    for processor in chain:
        theirs = processor(ids, theirs)
    ours = Sampling.checked(
        temperature=t,
        top_k=k,
        top_p=top_p,
        min_p=min_p,
        typical_p=typical_p,
        repetition_penalty=1.3,
        logit_bias={4: 2.0},
    )
    seen = torch.zeros_like(logits, dtype=torch.bool).scatter(1, ids, True)
    # Rounding at the very edge of a nucleus may go either way, since we move the scores first.
    shift = ours.shift(torch.tensor([1, 2]), logits.shape[1])
    a, b = ours.apply(logits, seen, shift).softmax(-1), theirs.softmax(-1)
    torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-6)


@given(scores(), st.floats(0, 1, exclude_max=True, width=32))
def test_draw_takes_only_what_is_possible(logits: Tensor, chance: float) -> None:
    chosen = sampling.draw(logits, torch.full((logits.shape[0],), chance))
    assert (logits.gather(1, chosen[:, None]) > NEVER).all()


@pytest.mark.parametrize("chance", [0.0, 1 - 2**-24])
def test_draw_at_the_ends_of_the_line(chance: float) -> None:
    logits = torch.full((1, 1000), NEVER)
    logits[0, 300:600] = 0
    chosen = sampling.draw(logits, torch.tensor([chance])).item()
    assert chosen == (300 if chance == 0 else 599)


def test_the_end_of_the_line_is_not_overshot() -> None:
    for width in range(1, 400):
        chosen = sampling.draw(torch.zeros(1, width), torch.tensor([1 - 2**-24])).item()
        assert chosen < width


def test_draw_follows_the_probabilities() -> None:
    """Evenly spaced chances cut the line into exactly the shares of softmax."""
    logits = torch.randn(1, 8, generator=torch.Generator().manual_seed(3))
    n = 20_000
    chances = (torch.arange(n) + 0.5) / n
    shares = sampling.draw(logits.expand(n, -1), chances).bincount(minlength=8) / n
    torch.testing.assert_close(shares, logits.softmax(-1)[0], rtol=0, atol=2 / n)


def test_draw_minds_each_row_for_itself() -> None:
    logits = torch.randn(5, V, generator=torch.Generator().manual_seed(4))
    chances = torch.rand(5, generator=torch.Generator().manual_seed(5))
    together = sampling.draw(logits, chances)
    alone = [sampling.draw(logits[i : i + 1], chances[i : i + 1]).item() for i in range(5)]
    assert together.tolist() == alone


@pytest.mark.parametrize("temperature", [0, 0.0, 1e-9, 1e-300])
def test_no_temperature_is_greedy(temperature: float) -> None:
    logits = torch.randn(2, V)
    ways = Sampling.checked(temperature=temperature, top_p=0.5, top_k=3)
    assert ways.greedy
    assert torch.equal(ways.apply(logits, None, None), logits)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("temperature", float("inf")),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 0),
        ("top_p", 1.1),
        ("min_p", -0.1),
        ("min_p", 2),
        ("typical_p", 0),
        ("repetition_penalty", 0),
        ("repetition_penalty", -1),
        ("logit_bias", {1: float("inf")}),
        ("surprise", 1),
    ],
)
def test_absurd_values_are_refused(name: str, value: object) -> None:
    with pytest.raises(UserError, match=name):
        Sampling.checked(**{name: value})
