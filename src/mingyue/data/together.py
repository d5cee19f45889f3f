"""Some blocks at a time, shared out among the cores.

NumPy lets go of the interpreter while it works on an array, so threads are enough; but only
while no other thread has work for Python itself, which would make each of them wait for it again
and again. So reading and calculating take turns: some blocks are read, then all are worked on.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

T = TypeVar("T")
Result = TypeVar("Result")

MOST_THREADS = 4
"""More of them would hold more blocks in memory for little: reading goes on alone."""


def together(items: Iterable[T], work: Callable[[T], Result]) -> Iterator[tuple[T, Result]]:
    """Each item, in order, with what ``work`` made of it, two at a time for each core.

    ``work`` never runs while the caller has an item in hand.
    """
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    iterator = iter(items)
    with ThreadPoolExecutor(threads, "calculating") as pool:
        while some := list(islice(iterator, 2 * threads)):
            yield from zip(some, list(pool.map(work, some)), strict=True)
