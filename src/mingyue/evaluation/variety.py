"""How much a set of texts repeats itself: distinct-n (Li et al. 2016).

Of all runs of n characters within lines, the share of different ones. The more text, the smaller
it is, for a language has only so many characters; so sets are compared at equal length only:
``within`` cuts each to the same number of characters.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from mingyue.evaluation.figure import NOTHING, Figure

Lines = Sequence[str]
"""The lines of one text."""


def within(texts: Iterable[Lines], characters: int) -> Iterator[list[str]]:
    """The first texts, up to so many characters; the last line may be cut."""
    for lines in texts:
        kept = []
        for line in lines:
            if part := line[:characters]:
                kept.append(part)
            characters -= len(part)
        if kept:
            yield kept
        if not characters:
            return


def distinct(texts: Iterable[Lines], n: int) -> Figure:
    """Distinct-n, with the error that leaving out one text after another tells (jackknife)."""
    owner: dict[str, int] = {}  # the text that alone has this run, or -1
    sizes: list[int] = []
    for number, lines in enumerate(texts):
        runs = [line[i : i + n] for line in lines for i in range(len(line) - n + 1)]
        sizes.append(len(runs))
        for run in runs:
            if owner.setdefault(run, number) != number:
                owner[run] = -1
    total, texts_with = sum(sizes), sum(map(bool, sizes))
    if not total:
        return NOTHING
    alone = [0] * len(sizes)
    for number in owner.values():
        if number >= 0:
            alone[number] += 1
    without = [
        (len(owner) - own) / (total - size)
        for own, size in zip(alone, sizes, strict=True)
        if 0 < size < total
    ]
    m = len(without)
    middle = sum(without) / max(1, m)
    off = sum((each - middle) ** 2 for each in without)
    error = math.sqrt(off * (m - 1) / m) if m > 1 else None
    return Figure(len(owner) / total, error, texts_with)
