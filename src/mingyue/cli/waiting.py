"""What is seen while something takes its time: a bar on the error stream; where nobody looks, a
line there now and then."""

import time
from types import TracebackType
from typing import Any, Self

from mingyue.cli.screen import console, duration, is_live, visible
from mingyue.language import tr

EVERY, SOON = 10.0, 2.0
"""Seconds between two lines, and from when on the rest can be estimated."""


class Barred:
    """A context in which ``_bar``, if there is one, is shown; it is cleared away however the
    block ends."""

    _bar: Any = None

    def __enter__(self) -> Self:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()


class Waiting(Barred):
    """A context; ``phase`` says what is being done and which part of it is done, 0 to 1."""

    def __init__(self) -> None:
        self._err = console(errors=True)
        self._doing, self._begun, self._line = "", 0.0, time.monotonic()
        if is_live(self._err, errors=True):
            from rich.progress import BarColumn, Progress, TextColumn

            text = TextColumn("{task.description}", markup=False)
            self._bar = Progress(BarColumn(20), text, console=self._err, transient=True)
            self._task = self._bar.add_task("", total=None)

    def phase(self, doing: str, part: float, at: str = "") -> None:
        """``part`` is 0 while it is unknown; ``at``, where it stands, is shown instead."""
        now = time.monotonic()
        if doing != self._doing:
            self._doing, self._begun = doing, now
        said = visible(" · ".join([*_numbers(part, now - self._begun), at or doing]))
        if self._bar:
            total = 1.0 if part else None
            self._bar.update(self._task, description=said, total=total, completed=part)
        elif now - self._line >= EVERY:
            self._line = now
            self._err.print(said)


def _numbers(part: float, taken: float) -> list[str]:
    """How much is done, and how long the rest will take if it is like that."""
    if not part:
        return []
    left = taken * (1 - part) / part
    return [f"{part:.0%}", *([tr("{time} left", time=duration(left))] if taken >= SOON else [])]
