"""What a training run tells whoever watches: a progress bar, TensorBoard, a test.

The loop calls these methods and waits for them; it never depends on what they do.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mingyue.model.config import ModelConfig
from mingyue.training.config import TrainConfig

Reason = Literal["done", "interrupted", "patience", "diverged"]


@dataclass(frozen=True)
class Choice:
    """Something that was not asked for and so was chosen, or that was asked for. Translated."""

    name: str
    value: str
    why: str


@dataclass(frozen=True)
class RunInfo:
    """What is about to happen."""

    out: Path
    config: TrainConfig
    model: ModelConfig
    parameters: int
    device: str
    precision: str
    compiled: bool
    train_tokens: int
    val_tokens: int
    documents: int  # in training
    first_step: int  # 0, or where a resumed run goes on
    total_steps: int | None  # None: not known yet (minutes)
    tokens_per_step: int


@dataclass(frozen=True)
class StepInfo:
    """One step made. ``step`` counts from 1: it is how many steps there have been."""

    step: int
    total_steps: int | None
    loss: float  # nats per token, of this step's batch
    rate: float  # share of the full learning rate
    gradient_norm: float
    epoch: float  # how often the text has been read
    tokens_per_second: float
    seconds: float  # of the whole run so far
    seconds_left: float | None


@dataclass(frozen=True)
class EvalInfo:
    """A look at unseen text."""

    step: int
    total_steps: int | None
    train_loss: float  # nats per token, mean since the last look
    val_loss: float | None  # None: there is no held-out text
    bits_per_character: float | None
    best: bool  # the lowest validation loss so far
    tokens_per_second: float  # training only, since the last look
    flops_per_second: float
    sample: str | None
    seconds: float
    notes: list[str] = field(default_factory=list)  # warnings, translated


@dataclass(frozen=True)
class RunResult:
    """What came of it. The weights in ``out`` are the best ones seen."""

    out: Path
    model: ModelConfig
    reason: Reason
    message: str  # one line, translated
    steps: int
    total_steps: int | None
    best_step: int | None
    best_loss: float | None  # validation, nats per token
    train_loss: float | None
    seconds: float
    notes: list[str] = field(default_factory=list)  # warnings, translated


class Observer:
    """Override what you want to see; the rest does nothing."""

    def on_message(self, text: str) -> None:
        """A line for the reader, translated: a choice made, or a warning."""

    def on_progress(self, phase: str, fraction: float) -> None:
        """Before training: ``phase`` (preparing the text) is done to ``fraction`` (0 … 1)."""

    def on_choices(self, choices: Sequence[Choice]) -> None:
        """What the dial chose, before training."""

    def on_start(self, run: RunInfo) -> None: ...

    def on_step(self, step: StepInfo) -> None: ...

    def on_eval(self, evaluation: EvalInfo) -> None: ...

    def on_end(self, result: RunResult) -> None: ...


class Observers(Observer):
    """Several as one."""

    def __init__(self, *observers: Observer):
        self.all = observers

    def on_message(self, text: str) -> None:
        for observer in self.all:
            observer.on_message(text)

    def on_progress(self, phase: str, fraction: float) -> None:
        for observer in self.all:
            observer.on_progress(phase, fraction)

    def on_choices(self, choices: Sequence[Choice]) -> None:
        for observer in self.all:
            observer.on_choices(choices)

    def on_start(self, run: RunInfo) -> None:
        for observer in self.all:
            observer.on_start(run)

    def on_step(self, step: StepInfo) -> None:
        for observer in self.all:
            observer.on_step(step)

    def on_eval(self, evaluation: EvalInfo) -> None:
        for observer in self.all:
            observer.on_eval(evaluation)

    def on_end(self, result: RunResult) -> None:
        for observer in self.all:
            observer.on_end(result)
