"""The rules alone: what they count is what a count over all versions finds, and none dead-ends."""

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.generation.verse.alphabet import LEVEL_BIT, OBLIQUE_BIT
from mingyue.generation.verse.counterpart import Counterpart
from mingyue.generation.verse.metre import Metre, contrast, of_form
from mingyue.generation.verse.plan import Plan
from mingyue.generation.verse.repeats import Pairs
from mingyue.generation.verse.rhyme import Rhyme
from mingyue.text.verse import REGULATED, rhyme
from mingyue.text.verse.metre import fit_loose, fit_strict
from tests.generation.verse.helpers import CHARS, LEVEL_CLASSES, alphabet

ALPHABET = alphabet()
SOUNDS = {bits: next((c for c in CHARS if ALPHABET.sound(c) == bits), "") for bits in (1, 2, 3)}


def lines(form: str) -> st.SearchStrategy[list[list[int]]]:
    lengths = REGULATED[form].lengths
    line = st.lists(st.sampled_from([1, 2, 3]), min_size=lengths[0], max_size=lengths[0])
    return st.lists(line, min_size=len(lengths), max_size=len(lengths))


def off(asked: str, sound: int) -> bool:
    return {"平": not sound & LEVEL_BIT, "仄": not sound & OBLIQUE_BIT, "中": False}[asked]


def fewest(patterns: list, poem: list[list[int]]) -> int:
    """Places off by the best pattern with the best version of each line."""
    return min(
        sum(
            min(sum(map(off, version, line)) for version in versions)
            for versions, line in zip(pattern, poem, strict=True)
        )
        for pattern in patterns
    )


@pytest.mark.parametrize("form", ["五绝", "七绝", "五律"])
@given(data=st.data())
@settings(max_examples=25)
def test_costs_are_the_fewest_places_off(form: str, data: st.DataObject) -> None:
    poem = data.draw(lines(form))
    found = REGULATED[form]
    patterns = of_form(found)
    metre = Metre(patterns, Plan.of(found.lengths, ALPHABET), ALPHABET, None)
    known = 0
    for n, line in enumerate(poem):
        for place, sound in enumerate(line):
            cost = metre.costs(n, place)[sound]
            assert cost >= known, "what is off stays off"
            known = cost
            metre.took(n, place, SOUNDS[sound])
    assert known == fewest(patterns, poem)


@pytest.mark.parametrize("form", ["五绝", "七绝", "七律"])
@given(data=st.data())
@settings(max_examples=25)
def test_the_cheapest_way_always_stays_in_the_metre(form: str, data: st.DataObject) -> None:
    """Whoever never takes more than the least cost keeps the loose and the strict metre."""
    found = REGULATED[form]
    metre = Metre(of_form(found), Plan.of(found.lengths, ALPHABET), ALPHABET, None)
    heard = []
    for n, length in enumerate(found.lengths):
        line = ""
        for place in range(length):
            costs = metre.costs(n, place)
            free = [sound for sound in (1, 2, 3) if costs[sound] == 0]
            assert free
            shift = metre.shift(n, place)
            allowed = [c for c in CHARS if shift[ALPHABET.ids[c]] == 0]
            char = data.draw(st.sampled_from(allowed))
            assert ALPHABET.sound(char) in free
            metre.took(n, place, char)
            line += char
        heard.append(line)
    tones = [
        [frozenset("平" * (s & 1) + "仄" * (s >> 1)) for s in map(ALPHABET.sound, line)]
        for line in heard
    ]
    assert fit_loose(tones, found.patterns).holds
    assert fit_strict(tones, found.patterns).holds


@given(heads=st.text(st.sampled_from(CHARS), min_size=4, max_size=4))
@settings(max_examples=25)
def test_heads_that_are_certain_count_from_the_start(heads: str) -> None:
    """The cost before the first place is what the heads cost at the best, and it never rises."""
    found = REGULATED["七绝"]
    patterns = of_form(found)
    plan = Plan.of(found.lengths, ALPHABET, heads)
    metre = Metre(patterns, plan, ALPHABET, None)
    best = min(
        sum(
            min(off(version[0], ALPHABET.sound(head)) for version in versions)
            for versions, head in zip(pattern, heads, strict=True)
        )
        for pattern in patterns
    )
    for n, length in enumerate(found.lengths):
        for place in range(length):
            costs = metre.costs(n, place)
            if place:
                assert min(costs) == best
                char = SOUNDS[min((1, 2, 3), key=lambda sound: costs[sound])]
            else:
                char = heads[n]
                assert costs[ALPHABET.sound(char)] == best
            metre.took(n, place, char)


def test_soft_tones_forbid_nothing_and_hard_ones_what_can_be_helped() -> None:
    found = REGULATED["五绝"]
    plan = Plan.of(found.lengths, ALPHABET)
    hard, soft = (Metre(of_form(found), plan, ALPHABET, weight) for weight in (None, 2.0))
    for metre in (hard, soft):
        metre.took(0, 0, SOUNDS[2])
        metre.took(0, 1, SOUNDS[2])
        metre.took(0, 2, SOUNDS[1])
    asked = [ALPHABET.ids[SOUNDS[sound]] for sound in (1, 2, 3)]
    assert hard.shift(0, 3)[asked].tolist() == [0, float("-inf"), 0]  # 仄仄平平仄
    assert soft.shift(0, 3)[asked].tolist() == [0, -2, 0]


@given(upper=st.text(st.sampled_from(CHARS), min_size=1, max_size=9), data=st.data())
def test_a_couplet_answers_in_the_even_places_and_the_last(upper: str, data: st.DataObject) -> None:
    ((first,), (lower,)) = contrast([upper], ALPHABET)[0]
    assert first == "中" * len(upper)
    decisive = {
        char for place, char in enumerate(upper, 1) if place % 2 == 0 or place == len(upper)
    }
    for char, asked in zip(upper, lower, strict=True):
        sound = ALPHABET.sound(char)
        assert asked == ("中" if char not in decisive or sound not in (1, 2) else "仄平"[sound - 1])


@given(upper=st.text(st.sampled_from(CHARS[:12]), min_size=1, max_size=9), seed=st.integers(0, 99))
def test_the_lower_line_repeats_as_the_upper(upper: str, seed: int) -> None:
    counterpart, chance = Counterpart(ALPHABET, upper), random.Random(seed)
    lower = ""
    for _ in upper:
        allowed = counterpart.allowed()
        char = chance.choice([c for c in CHARS if allowed[ALPHABET.ids[c]]])
        counterpart.took(char)
        lower += char
    assert not set(upper) & set(lower)
    for i, j in product(range(len(upper)), repeat=2):
        assert (upper[i] == upper[j]) == (lower[i] == lower[j])


@given(
    sizes=st.lists(st.integers(1, 6), min_size=5, max_size=5),
    n_lines=st.integers(2, 4),
    first=st.booleans(),
    seed=st.integers(0, 99),
)
def test_rhyme_never_ends_in_nothing(
    sizes: list[int], n_lines: int, first: bool, seed: int
) -> None:
    """Some classes have too few characters; whatever is chosen, the last line still finds one."""
    chars = "".join(
        rhyme.members(name)[20 : 20 + size] for name, size in zip(LEVEL_CLASSES, sizes, strict=True)
    )
    small, chance = alphabet(chars), random.Random(seed)
    lines = [2 * n + 1 for n in range(n_lines)]
    rule = Rhyme(small, lines, small.rhymes, first=first)
    if all(len(ids) < n_lines for ids in small.rhymes.values()):
        return
    ends = []
    for line in [0, *lines]:
        allowed = rule.allowed(line)
        if allowed is None:
            assert line == 0
            assert not first
            continue
        if line == 0 and not allowed.any():
            return  # the first line then finds an oblique tone in no vocabulary as small as this
        assert allowed.any()
        char = chance.choice([c for c in small.ids if allowed[small.ids[c]]])
        rule.took(line, char)
        ends += [char] if line else []
    assert len(set(ends)) == n_lines, "no character twice"
    assert frozenset.intersection(*map(small.classes, ends))


@given(text=st.text(st.sampled_from("春夏秋冬"), min_size=2, max_size=30))
def test_no_pair_comes_twice(text: str) -> None:
    pairs, seen = Pairs(ALPHABET), set()
    for place, char in enumerate(text):
        allowed = pairs.allowed(place)
        pair = text[place - 1 : place + 1]
        if place:
            assert (allowed is None or bool(allowed[ALPHABET.ids[char]])) == (pair not in seen)
            seen.add(pair)
        pairs.took(place, char)
