"""How many steps fit into the minutes given.

"Five minutes" means: from the moment the command was given until the model lies on the disk.
So the time before the first step, the evaluations, the checkpoints and the last write are paid
from the same purse. The first steps are timed, after a few that only warm the machine up, and
the number of steps follows. It is corrected at each evaluation and fifty times in between, to the
end: a machine that is given other work to do makes fewer steps, and still ends on time. Where the
rate is falling already, it then falls a little faster or slower, which does no harm. With a fixed
number of steps nothing here looks at the clock, and a resumed run keeps the number it had.
"""

from dataclasses import dataclass, field

COLD_STEPS = 3
"""The first steps are slower (memory, caches, kernels chosen); they do not count."""
TIMED_STEPS = 8
"""So many must have been timed before the number of steps is set …"""
TIMED_SHARE = 0.02
"""… or so much of the whole time used on them, if that comes first (but at least two). Later, how
much of it lies between two corrections."""
MARGIN = 0.01
"""Share of the time that is left unplanned: machines do not run evenly."""
EVALUATIONS = 10
"""In one run, unless ``eval_every`` says otherwise …"""
LOOKING = 0.06
"""… or they would take more than this share of the time (but at least two) …"""
LONGEST = 600.0
"""… or be more than so many seconds apart: what was learned since would be lost with the power."""


def evaluation_interval(total: int, wanted: int | None, evaluations: int = EVALUATIONS) -> int:
    """Steps between evaluations."""
    return wanted or max(1, -(-total // evaluations))


@dataclass
class Budget:
    """Keeps time and turns it into a number of steps. All times are seconds of the whole run,
    that of earlier sessions included."""

    limit: float  # seconds in all
    most: int | None = None  # steps, however much time there is
    total: int | None = None
    evaluation: float = 0.0  # the latest one and its checkpoint; a guess until one was seen
    closing: float = 0.2  # after the last evaluation
    _per_step: float = field(default=0.0)  # seconds, of late
    _per_step_then: float = field(default=0.0)  # at the latest evaluation
    _corrected: float = field(default=0.0)  # when
    _steps: int = field(default=0)  # timed since the last correction
    _stepping: float = field(default=0.0)  # seconds they took
    _cold: int = field(default=COLD_STEPS)

    def note_step(self, seconds: float) -> None:
        """One step took so long."""
        if self._cold > 0:
            self._cold -= 1
        else:
            self._steps, self._stepping = self._steps + 1, self._stepping + seconds

    def note_evaluation(self, seconds: float) -> None:
        """One evaluation took so long, its checkpoint included."""
        self.evaluation, self._per_step_then = seconds, self._per_step

    @property
    def evaluations(self) -> int:
        """How many there should be in the whole run."""
        affordable = EVALUATIONS
        if self.evaluation > 0:
            affordable = round(LOOKING * self.limit / self.evaluation)
        return max(2, min(EVALUATIONS, affordable), int(self.limit / LONGEST))

    @property
    def next_evaluation(self) -> float:
        """Seconds that the next one will take: when steps have become slower, so has it."""
        slower = self._per_step / self._per_step_then if self._per_step_then else 1.0
        return self.evaluation * max(1.0, slower)

    def due(self, now: float) -> bool:
        """Whether enough has been timed to set the number of steps, or to correct it."""
        if now >= self._last_moment:
            return True
        if self.total is None and self._steps >= TIMED_STEPS:
            return True
        passed = self._stepping if self.total is None else now - self._corrected
        return passed >= TIMED_SHARE * self.limit and self._steps >= 2

    def correct(self, step: int, now: float, interval: int | None) -> int:
        """Set ``total`` from what has been timed, ``step`` steps being done at ``now``.

        ``interval`` is the number of steps between evaluations; None: not decided yet. A run that
        has reached its end stays there: its rate has come down, and time that is left over does
        not bring it up again.
        """
        if self.total is not None and step >= self.total:
            return self.total
        if self._steps:
            of_late = self._stepping / self._steps
            self._per_step = (self._per_step + of_late) / 2 if self._per_step else of_late
            self._steps, self._stepping = 0, 0.0
        self._corrected = now
        self.total = max(1, step + max(0, int(self._more(step, now, interval))))
        if self.most is not None:
            self.total = max(step, min(self.total, self.most))
        return self.total

    def _more(self, step: int, now: float, interval: int | None) -> float:
        """Steps that still fit in, evaluations between them and one at the end included."""
        left = self._last_moment - now
        if self._per_step <= 0 or left <= 0:
            return 0.0
        if interval is None:
            looks = self.evaluations - 1
        else:  # none comes within half an interval of the end
            about = step + left / (self._per_step + self.next_evaluation / interval)
            looks = max(0.0, (about - interval / 2) // interval - step // interval)
        return max(1.0, (left - looks * self.next_evaluation) / self._per_step)

    @property
    def _last_moment(self) -> float:
        """When the last step must have been made."""
        return self.limit * (1 - MARGIN) - self.closing - self.next_evaluation
