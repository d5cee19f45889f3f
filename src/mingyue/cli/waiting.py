"""A bar on the error stream while something takes its time; nothing where nobody looks."""

from types import TracebackType
from typing import Any, Self

from mingyue.cli.screen import console, is_live, visible


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
        err = console(errors=True)
        if is_live(err, errors=True):
            from rich.progress import BarColumn, Progress, TextColumn

            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                console=err,
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)

    def phase(self, doing: str, part: float) -> None:
        """``part`` is 0 while it is unknown."""
        if self._bar:
            total = 1.0 if part else None
            self._bar.update(self._task, description=visible(doing), total=total, completed=part)
