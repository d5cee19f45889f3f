"""Steps that fit into minutes, on a clock made of numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.training.budget import Budget, evaluation_interval
from mingyue.training.schedule import decay_start


def simulate(limit, step_seconds, eval_seconds, start, kind="wsd", interval=None):
    """A run on an ideal machine whose speed may change; when it ends, and its totals."""
    budget = Budget(limit, kind, warmup=20, decay_fraction=0.4)
    now, step, totals = start, 0, []
    while budget.total is None or step < budget.total:
        took = step_seconds(step) * (5 if step < 3 else 1)  # cold
        now, step = now + took, step + 1
        budget.note_step(took)
        if budget.ready(now):
            budget.note_evaluation(eval_seconds, 0.1)
            every = evaluation_interval(budget.estimate(step, now, interval), interval)
            totals.append(budget.total)
        if budget.total is not None and step < budget.total and step % every == 0:
            now += eval_seconds + 0.1
            budget.note_evaluation(eval_seconds, 0.1)
            budget.revise(step, now, every)
            totals.append(budget.total)
    return now + eval_seconds + 0.1 + budget.closing, totals


@settings(max_examples=60, deadline=None)
@given(
    st.floats(60, 3600),
    st.floats(0.01, 1.5),
    st.floats(0, 2),
    st.floats(0, 20),
    st.sampled_from(["wsd", "cosine"]),
)
def test_ends_on_time_on_a_steady_machine(limit, step_seconds, eval_seconds, start, kind):
    end, _ = simulate(limit, lambda step: step_seconds, eval_seconds, start, kind)
    slack = 3 * step_seconds + eval_seconds + 0.2
    assert end <= limit + slack
    assert end >= 0.9 * limit - slack - eval_seconds


def test_a_machine_that_slows_down_early_still_ends_on_time():
    end, totals = simulate(300, lambda step: 0.1 if step < 300 else 0.2, 1.0, 5)
    assert totals[-1] < totals[0]
    assert end <= 310


def test_the_number_stands_once_the_decay_has_begun():
    budget = Budget(100, "wsd", warmup=0, decay_fraction=0.4)
    for _ in range(12):
        budget.note_step(0.1)
    total = budget.estimate(12, 1.2, None)
    budget.note_step(10.0)  # something disturbs the machine
    start = decay_start(total, "wsd", 0, 0.4)
    assert budget.revise(start, 50, 10) == total
    budget.note_step(10.0)
    assert budget.revise(start + 1, 60, 10) == total


def test_cosine_fixes_the_number_at_once():
    budget = Budget(100, "cosine", warmup=0, decay_fraction=0.4)
    for _ in range(12):
        budget.note_step(0.1)
    total = budget.estimate(12, 1.2, None)
    budget.note_step(5.0)
    assert budget.revise(13, 20, 10) == total


def test_no_time_left_ends_at_once():
    budget = Budget(1.0, "wsd", warmup=0, decay_fraction=0.4)
    budget.note_step(0.1)
    assert budget.ready(5.0)
    assert budget.estimate(1, 5.0, None) == 1


@pytest.mark.parametrize(("total", "every"), [(1, 1), (9, 1), (10, 1), (11, 2), (1000, 100)])
def test_about_ten_evaluations(total, every):
    assert evaluation_interval(total, None) == every
    assert evaluation_interval(total, 7) == 7
