"""A number that was measured on some texts, and how far chance may have moved it.

The error is the standard error: with other texts of the same origin the number would come within
one of it two times in three, within two of it nearly always.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Figure:
    """``value`` ± ``error``; both None where there was nothing to count."""

    value: float | None
    error: float | None
    n: int
    """Of so many texts."""


NOTHING = Figure(None, None, 0)


def share(parts: Sequence[tuple[int, int]]) -> Figure:
    """How much of something is of a kind; each text gives (so many of the kind, of so many).

    What a text has of it may be several, lines say, and these are alike: so the error is that of
    a ratio of sums over texts (Cochran 1977, §2.11), not over lines. Where all are of the kind or
    none is, that one more text would be otherwise is what is not known.
    """
    parts = [(part, whole) for part, whole in parts if whole]
    n, total = len(parts), sum(whole for _, whole in parts)
    if not n:
        return NOTHING
    value = sum(part for part, _ in parts) / total
    if value in (0.0, 1.0):
        return Figure(value, 1 / (n + 1), n)
    off = sum((part - value * whole) ** 2 for part, whole in parts)
    return Figure(value, math.sqrt(off * n / max(1, n - 1)) / total, n)


def mean(values: Sequence[float]) -> Figure:
    """The mean of one value a text."""
    n = len(values)
    if not n:
        return NOTHING
    value = sum(values) / n
    off = sum((each - value) ** 2 for each in values)
    return Figure(value, math.sqrt(off / max(1, n - 1) / n), n)
