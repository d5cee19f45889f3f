"""Steps that fit into minutes, on a clock made of numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.training.budget import Budget, evaluation_interval


def simulate(limit, step_seconds, eval_seconds, start, interval=None):
    """A run on an ideal machine whose speed may change; when it ends, and its totals."""
    budget = Budget(limit)
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
)
def test_ends_on_time_on_a_steady_machine(limit, step_seconds, eval_seconds, start):
    end, _ = simulate(limit, lambda step: step_seconds, eval_seconds, start)
    slack = 3 * step_seconds + eval_seconds + 0.2
    assert end <= limit + slack
    assert end >= 0.9 * limit - slack - eval_seconds


def test_a_machine_that_slows_down_early_still_ends_on_time():
    end, totals = simulate(300, lambda step: 0.1 if step < 300 else 0.2, 1.0, 5)
    assert totals[-1] < totals[0]
    assert end <= 310


def test_a_machine_that_slows_down_late_still_ends_on_time():
    end, totals = simulate(300, lambda step: 0.1 if step < 2000 else 0.15, 1.0, 5)
    assert totals[-1] < totals[0]
    assert end <= 305


def test_a_run_at_its_end_is_not_prolonged():
    budget = Budget(100)
    for _ in range(12):
        budget.note_step(1.0)
    total = budget.estimate(12, 20.0, None)
    budget.note_step(0.1)  # the machine has become faster, and half of the time is left
    assert budget.revise(total, 50.0, 10) == total
    assert budget.revise(total - 1, 50.0, 10) > total


def test_no_time_left_ends_at_once():
    budget = Budget(1.0)
    budget.note_step(0.1)
    assert budget.ready(5.0)
    assert budget.estimate(1, 5.0, None) == 1


@pytest.mark.parametrize(("total", "every"), [(1, 1), (9, 1), (10, 1), (11, 2), (1000, 100)])
def test_about_ten_evaluations(total, every):
    assert evaluation_interval(total, None) == every
    assert evaluation_interval(total, 7) == 7
