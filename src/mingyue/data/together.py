"""Some blocks at a time, shared out among the cores.

NumPy lets go of the interpreter while it works on an array, so threads are enough; but only
while no other thread has much work for Python itself, which would make each of them wait for it
again and again. So reading and calculating take turns: some blocks are read, then all are worked
on, and meanwhile the caller does its part (counting, writing) for those of the turn before.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

import numpy as np

T = TypeVar("T")
Result = TypeVar("Result")

MOST_THREADS = 4
"""More of them would hold more blocks in memory for little: reading goes on alone."""

_LARGEST_KEPT = 31 << 20
"""Linux's C library gives the memory of a large array back to the system when it is freed, and the
next array is handed out page by page anew: up to a third of all the time here. What it takes for
large follows the largest array freed so far, up to 32 MiB; so one of nearly that size, never
touched, is made and freed at first."""


def together(items: Iterable[T], work: Callable[[T], Result]) -> Iterator[tuple[T, Result]]:
    """Each item, in order, with what ``work`` made of it, one at a time for each core.

    ``work`` never runs while an item is being read, but it does while the caller has one in hand.
    """
    np.empty(_LARGEST_KEPT, np.uint8)
    threads = min(MOST_THREADS, os.cpu_count() or 1)
    iterator = iter(items)
    with ThreadPoolExecutor(threads, "calculating") as pool:
        done: list[tuple[T, Result]] = []
        while some := list(islice(iterator, threads)):
            begun = [pool.submit(work, item) for item in some]
            yield from done
            done = [(item, one.result()) for item, one in zip(some, begun, strict=True)]
        yield from done
