"""Steps that fit into minutes, on a clock made of numbers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.training.budget import Budget, evaluation_interval


def simulate(limit, step_seconds, eval_seconds, start, interval=None):
    """A run on an ideal machine whose speed may change; when it ends, and its totals.

    ``eval_seconds`` is a number, or a function of the step as ``step_seconds`` is.
    """
    look = eval_seconds if callable(eval_seconds) else lambda step: eval_seconds
    budget = Budget(limit)
    now, step, totals, every = start, 0, [], interval
    while True:
        took = step_seconds(step) * (5 if step < 3 else 1)  # cold
        now, step = now + took, step + 1
        budget.note_step(took)
        if budget.due(now):
            budget.note_evaluation(budget.evaluation or look(step))
            totals.append(budget.correct(step, now, every))
            every = every or evaluation_interval(budget.total, None, budget.evaluations)
        if budget.total is not None and step >= budget.total:
            return now + look(step) + budget.closing, totals
        if budget.total is None or every is None:
            continue
        if step % every == 0 and budget.total - step >= every / 2:
            now += look(step)
            budget.note_evaluation(look(step))


@settings(max_examples=60, deadline=None)
@given(
    st.floats(60, 3600),
    st.floats(0.01, 1.5),
    st.floats(0, 2),
    st.floats(0, 20),
    st.sampled_from([None, 1, 7, 100]),
)
def test_ends_on_time_on_a_steady_machine(limit, step_seconds, eval_seconds, start, interval):
    end, _ = simulate(limit, lambda step: step_seconds, eval_seconds, start, interval)
    slack = 2 * step_seconds + eval_seconds + 0.2
    assert end <= limit + slack
    assert end >= 0.97 * limit - slack - eval_seconds


def test_a_machine_that_slows_down_early_still_ends_on_time():
    end, totals = simulate(300, lambda step: 0.1 if step < 300 else 0.2, 1.0, 5)
    assert totals[-1] < totals[0]
    assert 0.97 * 300 <= end <= 303


@pytest.mark.parametrize("when", [1500, 2000, 2500, 2800])
@pytest.mark.parametrize("slower", [0.5, 1.5, 3.0, 10.0])
def test_a_machine_that_changes_its_pace_late_still_ends_on_time(when, slower):
    """Also after the last evaluation but one, where a load once made five minutes into six."""
    end, totals = simulate(300, lambda step: 0.1 * (slower if step > when else 1), 1.0, 5)
    assert (totals[-1] < totals[0]) == (slower > 1) or totals[-1] == totals[0]
    assert 0.95 * 300 <= end <= 303


@pytest.mark.parametrize("when", [1500, 2000, 2500, 2700])
@pytest.mark.parametrize("slower", [1.5, 3.0, 5.0])
def test_the_last_look_is_slower_where_the_steps_are(when, slower):
    """It once took six seconds in place of one, and made 11 seconds into 17."""
    pace = lambda step: slower if step > when else 1
    end, _ = simulate(300, lambda step: 0.1 * pace(step), lambda step: 2.0 * pace(step), 5)
    assert 0.93 * 300 <= end <= 1.05 * 300


def test_a_run_at_its_end_is_not_prolonged():
    budget = Budget(100)
    for _ in range(12):
        budget.note_step(1.0)
    total = budget.correct(12, 20.0, None)
    budget.note_step(0.1)  # the machine has become faster, and half of the time is left
    assert budget.correct(total, 50.0, 10) == total
    assert budget.correct(total - 1, 50.0, 10) > total


def test_no_time_left_ends_at_once():
    budget = Budget(1.0)
    budget.note_step(0.1)
    assert budget.due(5.0)
    assert budget.correct(1, 5.0, None) == 1


@pytest.mark.parametrize(
    ("limit", "seconds", "count"), [(300, 0.1, 10), (10, 0.1, 6), (10, 5.0, 2), (36_000, 1.0, 60)]
)
def test_evaluations_are_affordable_and_not_too_far_apart(limit, seconds, count):
    budget = Budget(limit)
    budget.note_evaluation(seconds)
    assert budget.evaluations == count


@pytest.mark.parametrize(("total", "every"), [(1, 1), (9, 1), (10, 1), (11, 2), (1000, 100)])
def test_about_ten_evaluations(total, every):
    assert evaluation_interval(total, None) == every
    assert evaluation_interval(total, 7) == 7
