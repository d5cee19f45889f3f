"""How good a set of texts is as verse: one measure for a model's poems and for real ones.

Each text is judged by itself (``text.verse.judge``): whether it has the form asked for, or else
one of the four regulated forms. Rhyme and metre are told of those alone that have it, for in other
texts nobody knows which lines should rhyme. Beside this stand how much the set repeats itself, and
how much of it was copied from training.

``dealt`` makes what chance would: poems of real lines that do not belong together.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mingyue.evaluation.figure import NOTHING, Figure, mean, share
from mingyue.evaluation.novelty import Copied
from mingyue.evaluation.variety import distinct, within
from mingyue.text.verse import Form, Judgement, is_even, judge, lines_of
from mingyue.text.verse.forms import find


@dataclass(frozen=True)
class Verse:
    """What was found in a set of texts. Shares are from 0 to 1."""

    n: int
    form: Figure
    """Texts that fit the form asked for, or any regulated form."""
    even: Figure
    """Texts whose lines all have five or all have seven characters."""
    rhyme: Figure
    """Of those that fit: even lines that rhyme in one class; left out where nobody can tell."""
    loose: Figure
    """Of those that fit: the loose metre kept in every line."""
    strict: Figure
    """Of those that fit: the strict metre kept in every line, licences allowed."""
    repeated: Figure
    """Texts with a line that stands in them twice."""
    distinct_1: Figure
    """Of the first characters, the share of different ones."""
    distinct_2: Figure
    """The same of pairs within lines."""
    characters: int
    """How many characters these two are of, at most."""
    copied: Figure = NOTHING
    """Lines of five characters or more that stand in training."""
    longest: Figure = NOTHING
    """Characters of the longest run that a text has from training."""
    runs: Mapping[int, int] = field(default_factory=dict)
    """How many texts have a longest run of each length, the shortest first."""


def beside(
    sets: Sequence[Iterable[str]],
    form: Form | None = None,
    copies: Sequence[Sequence[Copied]] | None = None,
) -> list[Verse]:
    """What each of some sets of texts is like, so that they can be compared.

    ``copies`` are what ``copied`` found, for each set. Variety is told of as many characters as
    the smallest set has, the first ones; a set without any is left out of that.
    """
    all_judged = [[judge(text, form) for text in texts] for texts in sets]
    sizes = [sum(len(line) for each in judged for line in each.lines) for judged in all_judged]
    most = min(filter(None, sizes), default=0)
    return [
        measure(judged, most, copies[i] if copies else ()) for i, judged in enumerate(all_judged)
    ]


def measure(judged: Sequence[Judgement], most: int, copies: Sequence[Copied] = ()) -> Verse:
    """What the texts that were judged are like; of variety the first ``most`` characters tell."""
    fitting = [each for each in judged if each.fits]
    rhymes = [each.rhyme.holds for each in fitting if each.rhyme]
    cut = list(within((each.lines for each in judged), most))
    return Verse(
        n=len(judged),
        form=_of(each.fits for each in judged),
        even=_of(is_even("\n".join(each.lines)) for each in judged),
        rhyme=_of(holds for holds in rhymes if holds is not None),
        loose=_of(each.loose.holds for each in fitting if each.loose),
        strict=_of(each.strict.holds for each in fitting if each.strict),
        repeated=_of(len(set(each.lines)) < len(each.lines) for each in judged),
        distinct_1=distinct(cut, 1),
        distinct_2=distinct(cut, 2),
        characters=most,
        copied=share([(each.copied, each.lines) for each in copies]),
        longest=mean([each.longest for each in copies]),
        runs=dict(sorted(Counter(each.longest for each in copies).items())),
    )


def _of(verdicts: Iterable[bool]) -> Figure:
    return share([(int(verdict), 1) for verdict in verdicts])


def dealt(texts: Iterable[str], form: Form | None = None, least: int = 2000) -> list[str]:
    """Poems made of the lines of those texts that fit a form, each line from another of them.

    A line keeps its place in its form: what ends in a rhyme still does, but hardly in the same.
    All are dealt again and again until there are ``least`` poems, so that the error is small.
    """
    decks: dict[Form, list[list[str]]] = defaultdict(list)
    for text in texts:
        lines = lines_of(text, form.lengths if form else None)
        lengths = tuple(map(len, lines))
        if fits := find(lengths) if form is None else form if form.lengths == lengths else None:
            decks[fits].append(lines)
    chance = random.Random(0)
    made: list[str] = []
    while decks and len(made) < least:
        for poems in decks.values():
            places = [list(place) for place in zip(*poems, strict=True)]
            for place in places:
                chance.shuffle(place)
            made += ["\n".join(lines) for lines in zip(*places, strict=True)]
    return made
