"""What is noted is what the code made, with the code that made it."""

import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor

from mingyue.explain.measures.walk import watching


def chained(x: Tensor, turned: bool = False) -> Tensor:
    y = x.double().mul(
        2,
    )
    z = y.neg() if turned else y
    return z.abs().sum(dim=0)


def pair(x: Tensor):
    for _ in range(3):
        x = x + 1
    return x, x.clone()


class Twice:
    def forward(self, x: Tensor) -> Tensor:
        width = x.shape[0]
        return chained(x.view(width, 1))


X = torch.tensor([1.0, -2.0])


def seen(made):
    return [(m.function, m.name, m.call, m.code) for m in made]


def test_names_pieces_and_code_in_order() -> None:
    with watching([chained]) as made:
        result = chained(X)
    assert seen(made) == [
        ("chained", "", "double", "x.double()"),
        ("chained", "y", "mul", "y = x.double().mul( 2, )"),
        ("chained", "", "abs", "z.abs()"),
        ("chained", "return", "sum", "return z.abs().sum(dim=0)"),
    ]
    assert made[-1].tensor is result and torch.equal(made[1].tensor, 2 * X.double())
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    for m in made:
        file, line = m.place.split(":")
        assert file == "explain/test_walk.py" and m.code[:8] in lines[int(line) - 1]


def test_what_did_not_run_is_not_noted() -> None:
    with watching([chained]) as made:
        chained(X, turned=True)
    assert ("chained", "z", "", "z = y.neg() if turned else y") in seen(made)
    assert torch.equal(next(m for m in made if m.name == "z").tensor, -2 * X.double())
    with watching([chained]) as made:
        chained(X)
    assert "z" not in [m.name for m in made]  # it is y, made before


def test_loops_tuples_and_methods() -> None:
    with watching([pair, Twice.forward]) as made:
        first, second = pair(X)
        Twice().forward(X)
    assert [(m.function, m.name) for m in made if m.name] == [
        ("pair", "x"),
        ("pair", "return 0"),
        ("pair", "return 1"),
        ("Twice.forward", "return"),
    ]
    assert torch.equal(made[0].tensor, X + 1)
    assert made[2].tensor is first or made[1].tensor is first
    assert any(m.tensor is second for m in made)


def test_the_tracer_before_is_put_back() -> None:
    mine = lambda frame, event, value: None
    before = sys.gettrace()
    sys.settrace(mine)
    try:
        with pytest.raises(ZeroDivisionError), watching([pair]):
            _ = 1 / 0
        assert sys.gettrace() is mine
    finally:
        sys.settrace(before)
