"""The nearest pattern, held against trying everything."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.text.verse import REGULATED, Pattern
from mingyue.text.verse.licence import may_follow, versions
from mingyue.text.verse.metre import Fit, Line, fit_loose, fit_strict
from mingyue.text.verse.patterns import loose

SETS = [frozenset("平"), frozenset("仄"), frozenset("平仄"), frozenset()]


def lines_of(form: str) -> st.SearchStrategy[list[list[frozenset[str]]]]:
    lengths = REGULATED[form].lengths
    return st.tuples(
        *(st.lists(st.sampled_from(SETS), min_size=n, max_size=n) for n in lengths)
    ).map(list)


def misses(line: Line, wanted: str) -> tuple[int, ...]:
    pairs = enumerate(zip(line, wanted, strict=True))
    return tuple(i for i, (tones, want) in pairs if tones and want != "中" and want not in tones)


def fewest(lines: list[Line], pattern: Pattern) -> int:
    """By trying all versions of both lines of each couplet."""
    total = 0
    for n in range(0, len(lines), 2):
        total += min(
            len(misses(lines[n], first.tones)) + len(misses(lines[n + 1], second.tones))
            for first, second in product(versions(pattern.lines[n]), versions(pattern.lines[n + 1]))
            if may_follow(first, second)
        )
    return total


def count(fit: Fit) -> int:
    return sum(map(len, fit.off))


@settings(max_examples=60, deadline=None)
@given(lines_of("五绝"))
def test_strict_is_the_fewest_of_all_versions(lines) -> None:
    patterns = REGULATED["五绝"].patterns
    fit = fit_strict(lines, patterns)
    assert count(fit) == fewest(lines, fit.pattern) == min(fewest(lines, p) for p in patterns)
    assert fit.holds == (count(fit) == 0)
    assert not any(off and licence for off, licence in zip(fit.off, fit.licences, strict=True))


@settings(max_examples=60, deadline=None)
@given(lines_of("七律"))
def test_loose_is_the_fewest_in_its_places(lines) -> None:
    patterns = REGULATED["七律"].patterns
    fit = fit_loose(lines, patterns)
    found = [
        [misses(line, loose(want)) for line, want in zip(lines, p.lines, strict=True)]
        for p in patterns
    ]
    assert list(fit.off) == found[patterns.index(fit.pattern)]
    assert count(fit) == min(sum(map(len, off)) for off in found)


def test_loose_asks_for_the_even_places_and_the_last() -> None:
    assert loose("仄仄平平仄仄平") == "中仄中平中仄平"
    assert loose("平平平仄仄") == "中平中仄仄"


def test_every_pattern_fits_itself_and_only_its_kind() -> None:
    for form in REGULATED.values():
        for pattern in form.patterns:
            lines = [[frozenset(tone) for tone in line] for line in pattern.lines]
            for fit in (fit_loose(lines, form.patterns), fit_strict(lines, form.patterns)):
                assert fit.holds and fit.pattern == pattern and not any(fit.licences)
