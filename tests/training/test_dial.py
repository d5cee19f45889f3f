"""The dial on machines made of numbers: what it chooses, and what it leaves alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.model.config import ModelConfig
from mingyue.training import law
from mingyue.training.dial import MEASURING, Dial
from mingyue.training.ladder import RUNGS, ladder
from mingyue.training.trial import Speed, Way

ONE, TWO = Way(1, "fp32"), Way(2, "fp32")


def machine(flops, overhead=0.002, two=1.0):
    """Steps take an overhead and their operations; two threads ``two`` times as long as one."""

    def measure(model, rows, ways):
        work = model.flops_per_token(model.block_size) * rows * model.block_size
        return [Speed((overhead + work / flops) * (two if w == TWO else 1.0), w) for w in ways]

    return measure


def turn(seconds, flops=1e11, unique=3_000_000, vocab=9045, fixed=None, **more):
    dial = Dial(unique, lambda: seconds, machine(flops), [ONE], **more)
    seen = dial.climb(ladder(fixed or {}, vocab, 64))
    return min(seen, key=lambda rung: rung.loss)


@settings(max_examples=40, deadline=None)
@given(st.floats(10, 3600), st.floats(1e10, 1e13), st.sampled_from([68, 9045]))
def test_more_time_or_a_faster_machine_never_promises_a_worse_loss(seconds, flops, vocab):
    usual = turn(seconds, flops, vocab=vocab)
    assert turn(2 * seconds, flops, vocab=vocab).loss <= usual.loss + 1e-9
    assert turn(seconds, 2 * flops, vocab=vocab).loss <= usual.loss + 1e-9


def test_hours_train_a_larger_model_than_a_minute():
    small, large = turn(30), turn(36_000, unique=10**9)
    assert small.model.d_model <= 96 < large.model.d_model


def test_what_is_fixed_stays():
    best = turn(300, fixed={"d_model": 128, "n_head": 4}, rows=5)
    assert (best.model.d_model, best.model.n_head, best.rows) == (128, 4, 5)


def test_heads_that_fit_no_rung_leave_an_empty_ladder():
    assert list(ladder({"d_model": 30, "n_head": 7}, 100, 64)) == []


def test_the_quicker_way_is_taken_and_the_slow_one_is_not_tried_again():
    asked = []

    def measure(model, rows, ways):
        asked.append(list(ways))
        return machine(1e11, two=4.0)(model, rows, ways)

    dial = Dial(10**6, lambda: 100.0, measure, [TWO, ONE])
    assert all(rung.way == ONE for rung in dial.climb(ladder({}, 68, 64)))
    assert asked[0] == [TWO, ONE] and asked[1:] == [[ONE]] * (len(asked) - 1)


def test_measuring_ends_when_it_has_cost_enough():
    left = [100.0]

    def measure(model, rows, ways):
        left[0] -= 100 * MEASURING
        return [Speed(1e-6 * rows, ways[0])]

    assert len(Dial(10**12, lambda: left[0], measure, [ONE]).climb(ladder({}, 68, 64))) == 1


@pytest.mark.parametrize("unique", [5_000, 50_000])
def test_a_tiny_text_is_not_read_until_it_is_known_by_heart(unique):
    best = turn(3600, unique=unique)
    assert best.capped
    assert best.tokens == unique * law.most_epochs(best.model.products, unique)
    assert best.tokens < turn(3600, unique=unique, epochs=50).tokens <= 50 * unique
    assert best.model.products <= 100 * unique or best.model.d_model == 32


def test_a_text_read_twice_is_worth_less_than_twice():
    once, twice, fresh = (law.worth(n, 512, u) for n, u in ((1e6, 1e6), (2e6, 1e6), (2e6, 2e6)))
    assert once < twice < fresh


def test_the_ladder_goes_up():
    sizes = [model.products for model in ladder({}, 1000, 64)]
    assert sizes == sorted(sizes) and len(sizes) == len(RUNGS)
    assert isinstance(next(ladder({}, 10, 16)), ModelConfig)
