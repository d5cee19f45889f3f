"""How far something long is, told to whoever waits for it.

An exhibit depends on its subject and its knobs and on nothing else, so nobody who waits is handed
down to it. Who waits listens for a while; what takes long tells, and is heard or not.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

Item = TypeVar("Item")

Listener = Callable[[str, float], None]
"""What is being done, and which part of it is done, 0 to 1."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Within the block ``listener`` is told."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell(doing: str, part: float) -> None:
    """Say how far it is, if anybody listens."""
    if listener := _listener.get():
        listener(doing, part)


def told(items: Sequence[Item], doing: str) -> Iterator[Item]:
    """One after another; before each it is told how many are done."""
    for i, item in enumerate(items):
        tell(doing, i / len(items))
        yield item
