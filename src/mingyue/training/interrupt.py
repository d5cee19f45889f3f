"""Ctrl-C and SIGTERM ask; the loop finishes its step, saves and answers.

The first signal only sets a flag. The handlers that were there before come back at once, so a
second Ctrl-C does what Ctrl-C always does: it ends the program where it stands. The last
checkpoint is whole then too, since a checkpoint comes into being by a rename.

A program that a script starts with ``&`` begins with Ctrl-C ignored. Whoever sends it the signal
nevertheless means it: the first one asks here too. A second one is ignored again, as before.
"""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """A context in which ``asked`` becomes true when somebody wants the program to end.

    Outside the main thread Python allows no handlers; there nothing is caught.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {which: signal.signal(which, self._note) for which in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.asked = True
        self._restore()

    def _restore(self) -> None:
        for which, handler in self._before.items():
            # None: the handler was not installed by Python and cannot be put back by it.
            signal.signal(which, handler if handler is not None else signal.SIG_DFL)
        self._before = {}
