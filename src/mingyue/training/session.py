"""What the loop works with, and how all of it is put on disk."""

import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from mingyue.data.batches import Batches
from mingyue.data.dataset import Dataset
from mingyue.errors import UserError
from mingyue.interop.run_folder import save_model
from mingyue.model.language_model import LanguageModel
from mingyue.training.average import Average
from mingyue.training.budget import Budget
from mingyue.training.checkpoint import Checkpoints, disk_trouble
from mingyue.training.config import TrainConfig
from mingyue.training.log import Log
from mingyue.training.observe import Observer
from mingyue.training.optimizer import Optimizer
from mingyue.training.schedule import rate
from mingyue.training.snapshots import Snapshots
from mingyue.training.state import TrainState
from mingyue.training.step import Forward


@dataclass
class Pace:
    """Tokens and seconds of training steps since the last evaluation; a smoothed speed."""

    tokens: int = 0
    seconds: float = 0.0
    smooth: float = 0.0  # seconds per step
    looking: float = 0.0  # the last evaluation and its checkpoint together

    def note(self, tokens: int, seconds: float) -> None:
        self.tokens, self.seconds = self.tokens + tokens, self.seconds + seconds
        self.smooth = seconds if not self.smooth else 0.9 * self.smooth + 0.1 * seconds


@dataclass
class Session:
    """Everything the loop works with."""

    folder: Path
    about: Mapping[str, Any]  # for mingyue.json
    config: TrainConfig
    model: LanguageModel
    forward: Forward  # the model as one function of ids and targets, perhaps compiled
    optimizer: Optimizer
    average: Average | None
    data: Dataset
    batches: Batches
    device: torch.device
    state: TrainState
    budget: Budget | None  # None: a fixed number of steps
    checkpoints: Checkpoints
    snapshots: Snapshots
    log: Log
    observer: Observer
    started: float  # time.monotonic() when this session began
    saved_step: int | None = None  # of the newest good checkpoint
    pace: Pace = field(default_factory=Pace)

    def __post_init__(self) -> None:
        self._seconds_before = self.state.seconds

    def seconds(self) -> float:
        """Of the whole run until now, earlier sessions included."""
        return self._seconds_before + time.monotonic() - self.started

    def seconds_left(self) -> float | None:
        """Until the end: what is left of the minutes, or what the steps and evaluations to come
        will take at the present pace; None while that is unknown."""
        if self.budget is not None:
            return max(0.0, self.budget.limit - self.seconds())
        if self.state.total_steps is None or self.state.eval_every is None:
            return None
        steps = self.state.total_steps - self.state.step
        looks = -(-steps // self.state.eval_every)
        return steps * self.pace.smooth + looks * self.pace.looking


def save(session: Session, *, best: bool = False) -> None:
    """A checkpoint of everything; if it is the best so far, its weights into the run folder too.

    So whatever ends the run later, a full disk or ``kill -9``, it leaves a model to write with.

    Raises:
        UserError: the disk is full or refuses.
    """
    state = session.state
    state.seconds = session.seconds()
    memory = session.optimizer.state()
    if session.average is not None:
        memory |= session.average.state()
    try:
        session.log.sync()
        session.checkpoints.save(
            state.step, session.model.state_dict(), memory, state.to_json(), best=best
        )
    except UserError as error:
        raise disk_trouble(error, session.saved_step) from error
    session.saved_step = state.step
    if best:
        try:
            with session.average.in_place() if session.average else nullcontext():
                save_model(
                    session.model, session.data.tokenizer, session.folder, about=session.about
                )
        except UserError as error:
            raise disk_trouble(error, session.saved_step) from error


def keep_snapshot(session: Session) -> None:
    """Of the weights as they are shown and exported: of their average, if there is one.

    Raises:
        UserError: the disk is full or refuses.
    """
    try:
        with session.average.in_place() if session.average else nullcontext():
            session.snapshots.take(session.model, session.state.step)
    except UserError as error:
        raise disk_trouble(error, session.saved_step) from error


def share_at(config: TrainConfig, step: int, total: int | None) -> float:
    """The schedule of ``config`` at ``step``."""
    return rate(
        step,
        total,
        schedule=config.schedule,
        warmup=config.warmup,
        decay_fraction=config.decay_fraction,
        final_rate=config.final_rate,
    )
