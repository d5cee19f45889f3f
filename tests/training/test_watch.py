"""What is said of the losses, and when."""

import math

from mingyue.training.watch import Watch


def follow(pairs):
    watch, best, said = Watch(), [], []
    for step, (train, val) in enumerate(pairs, 1):
        best.append(watch.note(step, train, val))
        said.append(len(watch.warnings(train, val)))
    return watch, best, said


def test_best_is_the_lowest():
    watch, best, said = follow([(5, 5.0), (4, 4.5), (3.9, 4.6), (3.8, 4.4)])
    assert best == [True, True, False, True]
    assert (watch.best_step, watch.best_loss, watch.since_best) == (4, 4.4, 0)
    assert said == [0, 0, 0, 0]


def test_not_a_number_is_never_best():
    watch, best, _ = follow([(5, math.nan), (5, 5.0), (5, math.nan), (5, math.inf)])
    assert best == [False, True, False, False]
    assert watch.best_loss == 5.0


def test_rising_while_training_falls_is_said_once():
    _, _, said = follow([(4, 4.5), (3.5, 4.6), (3, 4.8), (2.5, 5.0)])
    assert said == [0, 0, 1, 0]


def test_rising_with_training_is_something_else():
    _, _, said = follow([(4, 4.5), (4.5, 4.8), (5, 5.2)])
    assert sum(said) == 0


def test_known_by_heart_is_said_with_and_without_held_out_text():
    assert sum(follow([(2.0, None), (0.1, None), (0.05, None)])[2]) == 1
    assert sum(follow([(0.5, 4.0)])[2]) == 1
    assert sum(follow([(0.5, 0.6)])[2]) == 0  # it knows the held-out text as well: learned


def test_without_held_out_text_the_newest_is_best():
    watch, best, _ = follow([(3, None), (4, None)])
    assert best == [True, True] and watch.best_step == 2 and watch.best_loss is None
