"""Poems whose merits are known by hand; the judge of ``text.verse`` has tests of its own."""

from collections import Counter

import pytest

from mingyue.evaluation.figure import NOTHING
from mingyue.evaluation.novelty import copied
from mingyue.evaluation.verse import beside, dealt
from mingyue.text.verse import Form, lines_of

GOOD = "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。"
"""五绝 in 仄起首句不入韵 by the book: 流 and 樓 are both 尤."""
NO_RHYME = "白日依山盡，黃河入海流。欲窮千里目，更上一層山。"
NO_METRE = "黃河入海流，白日依山盡。更上一層樓，欲窮千里樓。"
TWICE = "白日依山盡，黃河入海流。白日依山盡，更上一層樓。"
UNEVEN = "白日依山盡，黃河入海。"
LONG = "白日依山盡，黃河入海流。" * 3
"""Even, and none of the four forms."""


def test_each_figure_by_hand():
    texts = [GOOD, NO_RHYME, NO_METRE, TWICE, UNEVEN, LONG]
    learned = ["白日依山盡，千里萬里之外人"]
    (found,) = beside([texts], None, [copied(texts, learned)])
    assert found.n == 6
    assert found.form.value == 4 / 6
    assert found.even.value == 5 / 6
    assert (found.rhyme.value, found.rhyme.n) == (2 / 4, 4)  # 尤 in GOOD and TWICE
    assert found.loose.value is not None and found.loose.n == 4
    assert found.repeated.value == 2 / 6  # TWICE and LONG
    # 白日依山盡: once in each, twice in TWICE, three times in LONG. 千里 is a run of two.
    assert found.copied.value == (1 + 1 + 1 + 2 + 1 + 3) / (4 * 4 + 1 + 6)
    assert found.longest.value == 5 and found.runs == {5: 6}


def test_metre_is_that_of_the_judge():
    good, bad = beside([[GOOD], [NO_METRE]])
    assert (good.loose.value, good.strict.value) == (1, 1)
    assert (bad.loose.value, bad.strict.value) == (0, 0)


def test_by_the_form_that_is_asked_for():
    form = Form.parse("七绝")
    (found,) = beside([[GOOD, GOOD]], form)
    assert found.form.value == 0
    assert found.rhyme == found.loose == found.strict == NOTHING
    (free,) = beside([[GOOD, UNEVEN]], Form.parse("5,4"))
    assert free.form.value == 1 / 2 and free.loose == NOTHING
    assert free.rhyme == NOTHING  # one line that should rhyme has none to rhyme with


def test_a_rhyme_that_nobody_can_tell_is_not_counted():
    unknown = GOOD.replace("樓", "\U00020000")
    (found,) = beside([[GOOD, unknown]])
    assert (found.rhyme.value, found.rhyme.n, found.form.n) == (1, 1, 2)


def test_variety_is_told_of_equally_many_characters():
    few, many, none = beside([[GOOD], [GOOD, NO_RHYME, LONG], ["Latin"]])
    assert few.distinct_1 == many.distinct_1 and few.characters == many.characters == 20
    assert none.distinct_1 == none.distinct_2 == NOTHING and none.form.value == 0


@pytest.mark.parametrize("texts", [[], [""], ["no verse at all"]])
def test_nothing_to_judge(texts: list[str]):
    (found,) = beside([texts], None, [copied(texts, [GOOD])])
    assert found.n == len(texts)
    assert found.rhyme == found.distinct_1 == found.copied == NOTHING
    assert dealt(texts) == []


def test_any_iterable_will_do():
    assert beside([iter([GOOD])]) == beside([[GOOD]])


OTHERS = [
    "千山鳥飛絕，萬徑人蹤滅。孤舟蓑笠翁，獨釣寒江雪。",
    "紅豆生南國，春來發幾枝。願君多采擷，此物最相思。",
    "朝辭白帝彩雲間，千里江陵一日還。兩岸猿聲啼不住，輕舟已過萬重山。",
]


def test_dealt_keeps_lines_and_places():
    texts = [GOOD, *OTHERS, UNEVEN]
    made = dealt(texts, least=8)
    assert len(made) == 8  # twice the four that fit
    for place in range(4):
        lines = Counter(lines_of(text)[place] for text in made)
        assert lines == {lines_of(text)[place]: 2 for text in [GOOD, *OTHERS]}
    assert dealt(texts) == dealt(texts)
    sevens = dealt(texts, Form.parse("七绝"), least=1)
    assert [lines_of(text) for text in sevens] == [lines_of(OTHERS[2])]
