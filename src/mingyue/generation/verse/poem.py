"""A poem that was written, what is good and what is at fault in it, and how it ranks.

Of several poems the best is the one that the model itself holds likeliest, each fault counted as
one nat less: score = (ln p − faults) / tokens. The reasons are given beside it, so that whoever
chooses otherwise knows why.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mingyue.generation.writing import Completion
from mingyue.language import Message
from mingyue.text.verse import Form, Judgement, judge
from mingyue.text.verse.rhyme import looks_simplified
from mingyue.text.verse.tones import tones


@dataclass(frozen=True)
class Poem:
    """One poem. ``text`` is without the heading that the model saw."""

    text: str
    form: Form | None
    """What was asked for."""
    couplet: bool
    """Whether its second half answers the first."""
    completion: Completion

    @cached_property
    def judgement(self) -> Judgement:
        """The poem beside the rules."""
        return judge(self.text, self.form)

    @cached_property
    def merits(self) -> tuple[Message, ...]:
        """What it keeps to."""
        return tuple(self._merits())

    @cached_property
    def faults(self) -> tuple[tuple[int, Message], ...]:
        """What it offends against, and how often."""
        return tuple(self._contrasts() if self.couplet else self._faults())

    @property
    def n_faults(self) -> int:
        """All faults together."""
        return sum(n for n, _ in self.faults)

    @property
    def score(self) -> float:
        """By what poems are ranked; nats per token."""
        n = max(1, self.completion.n_tokens)
        return (self.completion.logprob or 0.0) - self.n_faults / n

    def _merits(self) -> Iterator[Message]:
        found = self.judgement
        if self.couplet and not self.faults:
            yield Message("tones answer, and no character stands twice")
        if found.fits and found.form is not None and not self.couplet:
            yield Message("form: {form}", form=found.form.name)
        if not self.couplet and found.rhyme is not None and len(found.rhyme.on) > 1:
            lines = "".join(found.lines[n][-1] for n in found.rhyme.on)
            yield Message("rhymes in {name}: {ends}", name=found.rhyme.name, ends=" ".join(lines))
        if found.strict is not None and found.strict.holds:
            yield Message("tones: {pattern}", pattern=found.strict.pattern.name)

    def _faults(self) -> Iterator[tuple[int, Message]]:
        found = self.judgement
        if self.form is not None and not found.fits:
            yield 1, Message("not {form}", form=self.form.name)
        if found.rhyme is not None:
            for n in found.rhyme.off:
                yield (
                    1,
                    Message(
                        "line {line} does not rhyme: {end}", line=n + 1, end=found.lines[n][-1]
                    ),
                )
            for char in found.rhyme.repeated:
                yield 1, Message("{char} rhymes with itself", char=char)
        if found.strict is not None and not found.strict.holds:
            places = [
                f"{line}.{place + 1}"
                for line, off in enumerate(found.strict.off, start=1)
                for place in off
            ]
            yield (
                len(places),
                Message(
                    "tones leave {pattern} at {places} (line.place)",
                    pattern=found.strict.pattern.name,
                    places=" ".join(places),
                ),
            )
        if self.form is not None and (again := _again(found.lines)):
            yield len(again), Message("again: {chars}", chars=" ".join(again))

    def _contrasts(self) -> Iterator[tuple[int, Message]]:
        lines = self.judgement.lines
        half = len(lines) // 2
        simplified = looks_simplified("".join(lines))
        heard = [[tones(char, simplified=simplified) for char in line] for line in lines]
        alike = [
            lines[half + n][place]
            for n, (upper, lower) in enumerate(zip(heard[:half], heard[half:], strict=True))
            for place, (above, below) in enumerate(zip(upper, lower, strict=True))
            if (place % 2 or place == len(upper) - 1) and len(above | below) == 1
        ]
        if alike:
            yield len(alike), Message("same tone as above: {chars}", chars=" ".join(alike))
        twice = sorted(set("".join(lines[:half])) & set("".join(lines[half:])))
        if twice:
            yield len(twice), Message("stands above already: {chars}", chars=" ".join(twice))


def _again(lines: tuple[str, ...]) -> list[str]:
    """Characters that stand in more than one line."""
    counts = Counter(char for line in lines for char in set(line))
    return [char for char, n in counts.items() if n > 1]
