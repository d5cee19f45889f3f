"""A bar on the error stream while many texts are written: how many there are, and how long the
rest will take. Where the texts go to the same terminal, it makes room for them."""

import time
from typing import Any

from mingyue.cli.screen import console, is_live, is_terminal, number, visible
from mingyue.cli.waiting import Barred
from mingyue.language import tr

_EVERY = 0.25  # seconds between two drawings


class Pace(Barred):
    """A context; nothing is shown of a single text, nor where nobody looks."""

    def __init__(self, total: int):
        self.total, self._last, self._shown = total, time.monotonic(), False
        err = console(errors=True)
        if total > 1 and is_live(err, errors=True):
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = TextColumn("{task.description}", markup=False), BarColumn()
            left: Any = TimeRemainingColumn(compact=True)
            self._bar = Progress(*columns, left, console=err, transient=True, auto_refresh=False)
            self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> "Pace":
        return self  # it comes into view once there is something to tell

    def told(self, written: float) -> None:
        """So many texts are there, those in hand in part."""
        now = time.monotonic()
        if not self._bar or now - self._last < _EVERY:
            return
        of = tr("{n} of {total} texts", n=number(int(written)), total=number(self.total))
        self._bar.update(self._task, description=visible(of), completed=written)
        if self._shown:
            self._bar.refresh()
        else:
            self._bar.start()
        self._last, self._shown = now, True

    def hide(self) -> None:
        """A text is about to be printed."""
        if self._shown and is_terminal():
            self._bar.stop()
            self._shown = False
