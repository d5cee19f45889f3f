"""Distinct-n beside counting by hand, its bounds, and an error that tells the scatter."""

import random
from statistics import mean, stdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.evaluation.figure import NOTHING
from mingyue.evaluation.variety import distinct, within

TEXTS = st.lists(st.lists(st.text("天地玄黄宇宙", max_size=7), max_size=6), max_size=8)


def test_pairs_do_not_go_over_the_end_of_a_line():
    found = distinct([["天地天地", "天"], ["地玄"]], 2)
    assert found.value == 3 / 4  # 天地 地天 天地 地玄
    assert distinct([["天", "地"]], 2) == NOTHING


@given(TEXTS, st.integers(1, 3))
def test_a_share_of_all_runs(texts: list[list[str]], n: int):
    runs = [line[i : i + n] for lines in texts for line in lines for i in range(len(line) - n + 1)]
    found = distinct(texts, n)
    if not runs:
        assert found == NOTHING
        return
    assert found.value == len(set(runs)) / len(runs) and 0 < found.value <= 1
    assert found.error is None or found.error >= 0


@given(TEXTS)
def test_saying_it_twice_halves_it(texts: list[list[str]]):
    once, twice = distinct(texts, 1).value, distinct([*texts, *texts], 1).value
    assert (once is None and twice is None) or once == 2 * (twice or 0)


@given(TEXTS, st.integers(0, 30))
def test_within_takes_the_first_characters(texts: list[list[str]], most: int):
    kept = list(within(texts, most))
    assert "".join(map("".join, kept)) == "".join(map("".join, texts))[:most]
    lines = [line for each in texts for line in each if line]
    assert [line for each in kept for line in each] == [
        cut
        for i, line in enumerate(lines)
        if (cut := line[: most - sum(map(len, lines[:i]))]) and most > sum(map(len, lines[:i]))
    ]


def test_the_error_is_about_the_scatter_of_sets():
    """Texts with favourite characters of their own, some frequent, many rare."""
    draw = random.Random(0)
    weights = [1 / (i + 1) for i in range(500)]

    def text() -> list[str]:
        own = draw.choices(range(500), weights, k=20)
        return ["".join(chr(0x4E00 + draw.choice(own)) for _ in range(7)) for _ in range(4)]

    found = [distinct([text() for _ in range(60)], 1) for _ in range(150)]
    scatter = stdev(figure.value for figure in found if figure.value is not None)
    told = mean(figure.error for figure in found if figure.error is not None)
    assert told == pytest.approx(scatter, rel=0.35)
