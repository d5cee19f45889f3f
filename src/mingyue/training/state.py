"""Where a run stands: all that the loop carries from step to step besides tensors.

Saved as JSON in every checkpoint. Floats survive JSON exactly, so a resumed run has the very
numbers of the one that was interrupted.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from mingyue.training.precision import LossScale, Precision
from mingyue.training.watch import Watch


@dataclass
class TrainState:
    """``step`` is the number of steps made, so also the index of the next batch."""

    precision: Precision = "fp32"
    compiled: bool = False
    step: int = 0
    total_steps: int | None = None  # None: not known yet
    eval_every: int | None = None  # known as soon as total_steps is
    seconds: float = 0.0  # of all sessions
    loss_sum: float = 0.0  # of the steps since the last evaluation
    loss_count: int = 0
    watch: Watch = field(default_factory=Watch)
    scale: LossScale = field(default_factory=LossScale)

    @property
    def train_loss(self) -> float | None:
        """The mean training loss since the last evaluation."""
        return self.loss_sum / self.loss_count if self.loss_count else None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Raises TypeError for what ``to_json`` of this version did not write."""
        return cls(
            **{
                **saved,
                "watch": Watch(**saved["watch"]),
                "scale": LossScale(**saved["scale"]),
            }
        )
