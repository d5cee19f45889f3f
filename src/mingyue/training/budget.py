"""How many steps fit into the minutes given.

"Five minutes" means: from the moment the command was given until the model lies on the disk.
So the time before the first step, the evaluations, the checkpoints and the last write are paid
from the same purse. The first steps are timed, after a few that only warm the machine up, and
the number of steps follows. It is corrected at each evaluation; where the rate is falling
already, it then falls a little faster or slower, which does no harm. With a fixed number of steps
nothing here looks at the clock, and a resumed run keeps the number it had.
"""

from dataclasses import dataclass, field

COLD_STEPS = 3
"""The first steps are slower (memory, caches, kernels chosen); they do not count."""
TIMED_STEPS = 8
"""So many must have been timed before the number of steps is set …"""
TIMED_SHARE = 0.02
"""… or so much of the whole time used on them, if that comes first (but at least two)."""
MARGIN = 0.02
"""Share of the time that is left unplanned: machines do not run evenly."""
EVALUATIONS = 10
"""In one run, unless ``eval_every`` says otherwise."""


def evaluation_interval(total: int, wanted: int | None) -> int:
    """Steps between evaluations."""
    return wanted or max(1, -(-total // EVALUATIONS))


@dataclass
class Budget:
    """Keeps time and turns it into a number of steps. All times are seconds of the whole run,
    that of earlier sessions included."""

    limit: float  # seconds in all
    total: int | None = None
    evaluation: float = 0.0  # one evaluation and its checkpoint; a guess until one was seen
    closing: float = 0.2  # after the last evaluation: reading the best weights, writing them
    _steps: int = field(default=0)  # timed since the last estimate
    _stepping: float = field(default=0.0)  # seconds they took
    _cold: int = field(default=COLD_STEPS)

    def note_step(self, seconds: float) -> None:
        """One step took so long."""
        if self._cold > 0:
            self._cold -= 1
        else:
            self._steps, self._stepping = self._steps + 1, self._stepping + seconds

    def note_evaluation(self, seconds: float, saving: float) -> None:
        """One evaluation took so long, ``saving`` its checkpoint."""
        self.evaluation = seconds + saving
        self.closing = 0.2 + saving

    def ready(self, now: float) -> bool:
        """Whether enough has been timed for a first estimate."""
        if self.total is not None:
            return False
        if now >= self.limit * (1 - MARGIN) - self.closing:
            return True
        enough = self._stepping >= TIMED_SHARE * self.limit and self._steps >= 2
        return enough or self._steps >= TIMED_STEPS

    def estimate(self, step: int, now: float, interval: int | None) -> int:
        """Set ``total`` from what has been timed, ``step`` steps being done at ``now``.

        ``interval`` is the number of steps between evaluations; None: ten in the whole run.
        """
        left = self.limit * (1 - MARGIN) - self.closing - now
        step_seconds, look = self._per_step(), self.evaluation
        if step_seconds <= 0:
            more = 0.0
        elif interval is not None:
            more = left / (step_seconds + look / interval)
        else:  # ten evaluations, but never more than steps
            more = (left - EVALUATIONS * look) / step_seconds
            more = max(more, min(EVALUATIONS, left / (step_seconds + look)))
        self.total = step + max(0, int(more))
        self.total = max(1, self.total)
        return self.total

    def revise(self, step: int, now: float, interval: int) -> int | None:
        """The same again at an evaluation, from the steps since the last one.

        A run that has reached its end stays there: its rate has come down, and time that is left
        over does not bring it up again.
        """
        if self.total is not None and step < self.total and self._steps:
            self.estimate(step, now, interval)
            self._steps, self._stepping = 0, 0.0
        return self.total

    def _per_step(self) -> float:
        return self._stepping / self._steps if self._steps else 0.0
