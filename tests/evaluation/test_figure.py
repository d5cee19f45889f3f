"""Shares with errors that are right: many draws from a known origin scatter by that much."""

import random
from statistics import mean as average
from statistics import stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.evaluation.figure import NOTHING, Figure, mean, share

PARTS = st.integers(0, 9).flatmap(lambda whole: st.tuples(st.integers(0, whole), st.just(whole)))


@given(st.lists(PARTS, max_size=20))
def test_a_share_is_one(parts: list[tuple[int, int]]):
    found, whole = share(parts), sum(whole for _, whole in parts)
    if not whole:
        assert found == NOTHING
        return
    assert found.value == sum(part for part, _ in parts) / whole
    assert found.error is not None and found.error >= 0
    assert found.n == sum(whole > 0 for _, whole in parts)


def test_of_single_things_the_error_is_the_binomial_one():
    found = share([(1, 1)] * 30 + [(0, 1)] * 70)
    assert found.error == pytest.approx((0.3 * 0.7 / 99) ** 0.5)


@pytest.mark.parametrize("all_alike", [0, 1])
def test_where_all_agree_the_error_is_not_nothing(all_alike: int):
    assert share([(all_alike, 1)] * 99) == Figure(float(all_alike), 0.01, 99)


def test_lines_of_one_text_are_alike():
    """Each text copies all of its lines or none: ten lines are worth no more than one."""
    draw = random.Random(0)

    def texts(n: int) -> list[tuple[int, int]]:
        lines = [draw.randint(1, 10) for _ in range(n)]
        return [(line * (draw.random() < 0.3), line) for line in lines]

    found = [share(texts(80)) for _ in range(400)]
    scatter = stdev(figure.value for figure in found if figure.value is not None)
    told = average(figure.error for figure in found if figure.error is not None)
    assert told == pytest.approx(scatter, rel=0.1)


def test_a_mean():
    assert mean([]) == NOTHING
    assert mean([5]) == Figure(5, 0, 1)
    assert mean([1, 3]) == Figure(2, 1, 2)
