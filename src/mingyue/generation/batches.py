"""Any number of samples, written so many at a time.

So they take neither a long silence nor the memory to hold them all.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice

from mingyue.generation.prompt import Prompt
from mingyue.generation.stream import Guide, stream_seed
from mingyue.generation.writing import Completion, Start, Writing

_ROWS = 64
"""Samples written side by side; more are written in several batches."""

Told = Callable[[float], None]
"""Is told again and again how many texts are written; those in hand count in part."""

Numbered = tuple[int, Prompt, Guide | None]
"""A sample: which of its prompt's it is, the prompt, the guide."""


def batches(
    samples: Iterable[tuple[Prompt, Guide | None]], n: int, alike: bool
) -> Iterator[list[Numbered]]:
    """``_ROWS`` at a time of samples that have each prompt ``n`` times in a row; ``alike``: only
    prompts of equal length together."""
    numbered = ((i % n, prompt, guide) for i, (prompt, guide) in enumerate(samples))
    for _, group in groupby(numbered, key=lambda sample: len(sample[1].ids) if alike else 0):
        while batch := list(islice(group, _ROWS)):
            yield batch


def starts(batch: list[Numbered], seed: int) -> list[Start]:
    """Those with the same prompt begin together."""
    made = []
    for _, group in groupby(batch, key=lambda sample: id(sample[1])):
        same = list(group)
        guides = [guide for _, _, guide in same if guide is not None]
        made.append(Start(same[0][1], [stream_seed(seed, i) for i, _, _ in same], guides or None))
    return made


def written(begun: Iterable[Writing], told: Told | None) -> Iterator[Completion]:
    """All samples of these batches, each batch as soon as it is written."""
    before = 0
    for writing in begun:
        for _ in writing:
            if told is not None:
                told(before + writing.written)
        before += len(writing.streams)
        yield from writing.completions()


def ranked(completions: Iterator[Completion], n: int) -> Iterator[Completion]:
    """Every ``n`` of them in order, those that the model held likeliest first."""
    while group := list(islice(completions, n)):
        yield from sorted(group, key=lambda done: -(done.logprob or 0.0))
