"""The laws of the schedules."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mingyue.training.schedule import decay_start, rate, warmup_steps

schedules = st.sampled_from(["wsd", "cosine"])
totals = st.integers(1, 3000)
warmups = st.integers(0, 500)
fractions = st.floats(0, 1)


@given(schedules, totals, warmups, fractions, fractions, st.data())
def test_every_step_moves_and_none_more_than_fully(kind, total, warmup, decay, final, data):
    step = data.draw(st.integers(0, total - 1))
    share = rate(step, total, schedule=kind, warmup=warmup, decay_fraction=decay, final_rate=final)
    assert 0 < share <= 1


@given(schedules, totals, warmups, fractions, fractions)
def test_rises_then_never_rises_again(kind, total, warmup, decay, final):
    shares = [
        rate(s, total, schedule=kind, warmup=warmup, decay_fraction=decay, final_rate=final)
        for s in range(total)
    ]
    warm = warmup_steps(total, warmup)
    assert all(a < b for a, b in pairwise(shares[: warm + 1]))
    assert all(a >= b for a, b in pairwise(shares[warm:]))
    assert shares[warm] == 1.0


@given(totals, warmups, fractions, st.data())
def test_the_stable_part_does_not_know_the_end(total, warmup, decay, data):
    """What lets a timed run move its end: before the decay the total makes no difference."""
    start = decay_start(total, "wsd", warmup, decay)
    step = data.draw(st.integers(warmup_steps(total, warmup), max(start, 1)))
    if step < start and step >= warmup:
        known = rate(step, total, warmup=warmup, decay_fraction=decay)
        assert known == rate(step, None, warmup=warmup) == 1.0


def test_numbers_by_hand():
    wsd = [rate(s, 10, warmup=2, decay_fraction=0.4) for s in range(10)]
    assert [round(x, 4) for x in wsd] == [0.3333, 0.6667, 1, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    assert abs(rate(5, 10, schedule="cosine") - 0.5) < 1e-12
    assert abs(rate(9, 10, decay_fraction=1, final_rate=0.5) - 0.55) < 1e-12
