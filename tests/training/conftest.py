"""A small text, a small model, and a cache of prepared texts that is nobody's."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mingyue.training.observe import EvalInfo, Observer, RunInfo, RunResult, StepInfo

CHARACTERS = "春江花月夜山水云风雨人家一二三"
MODEL = {"d_model": 32, "n_layer": 2, "n_head": 2, "block_size": 16}
SETTINGS: dict[str, Any] = {
    "model": MODEL,
    "data": {"documents": "line"},
    "precision": "fp32",
    "batch_size": 8,
}


class Notes(Observer):
    """Remembers everything it hears; ``at_step`` is called at each step."""

    def __init__(self, at_step: Callable[[int], None] = lambda step: None):
        self.messages: list[str] = []
        self.runs: list[RunInfo] = []
        self.steps: list[StepInfo] = []
        self.evals: list[EvalInfo] = []
        self.results: list[RunResult] = []
        self.at_step = at_step

    def on_message(self, text: str) -> None:
        self.messages.append(text)

    def on_start(self, run: RunInfo) -> None:
        self.runs.append(run)

    def on_step(self, step: StepInfo) -> None:
        self.steps.append(step)
        self.at_step(step.step)

    def on_eval(self, evaluation: EvalInfo) -> None:
        self.evals.append(evaluation)

    def on_end(self, result: RunResult) -> None:
        self.results.append(result)


@pytest.fixture
def improves_no_more(monkeypatch):
    """Each look at held-out text finds one of these losses."""
    losses = iter([3.0, 2.0, 2.1, 2.2, 2.3, 2.4])

    class Fixed:
        bits_per_character = 1.0

        def __init__(self):
            self.nats_per_token = next(losses)

    monkeypatch.setattr("mingyue.training.look.score", lambda session: Fixed())


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="session")
def poems(tmp_path_factory) -> Path:
    """120 couplets of five characters, one a line."""
    draw = random.Random(0)
    lines = ["，".join("".join(draw.choices(CHARACTERS, k=5)) for _ in "ab") for _ in range(120)]
    path = tmp_path_factory.mktemp("text") / "poems.txt"
    path.write_text("。\n".join(lines) + "。\n", encoding="utf-8")
    return path
