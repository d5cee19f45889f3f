"""Forms by name, and the tone patterns that their rules make."""

import pytest

from mingyue.errors import UserError
from mingyue.text.verse import REGULATED, Form, Pattern

ALL = [(form, pattern) for form in REGULATED.values() for pattern in form.patterns]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("五绝", "五绝"),
        ("七絕", "七绝"),
        (" 五律 ", "五律"),
        ("wujue", "五绝"),
        ("QiJue", "七绝"),
        ("wulü", "五律"),
        ("wulu", "五律"),
        ("qilv", "七律"),
        ("qilu", "七律"),
    ],
)
def test_a_regulated_form_by_its_names(asked: str, name: str) -> None:
    assert Form.parse(asked) is REGULATED[name]


@pytest.mark.parametrize("asked", ["7,7,7,7", "7, 7，7 ,7"])
def test_a_free_form_is_its_line_lengths(asked: str) -> None:
    assert Form.parse(asked) == Form("7,7,7,7", (7, 7, 7, 7))
    assert Form.parse("5") == Form("5", (5,))
    assert Form.parse("5,7,5").rhyming == (1,)
    assert Form.parse(asked).rhyming == REGULATED["七绝"].rhyming == (1, 3)
    assert Form.parse(asked).patterns == ()


@pytest.mark.parametrize(
    "asked",
    ["", " ", "五言", "7,", ",7", "7,,7", "0", "-5", "100", "7.5", "七", "٧", "5x4", "9" * 5000],
)
def test_what_is_no_form_is_said_in_one_line(asked: str) -> None:
    with pytest.raises(UserError) as error:
        Form.parse(asked)
    assert "\n" not in str(error.value) and "五绝 七绝 五律 七律" in str(error.value)


def test_the_forms_and_their_four_patterns() -> None:
    assert [f.lengths for f in REGULATED.values()] == [(5,) * 4, (7,) * 4, (5,) * 8, (7,) * 8]
    for form in REGULATED.values():
        assert [pattern.name for pattern in form.patterns] == [
            "仄起首句不入韵",
            "仄起首句入韵",
            "平起首句不入韵",
            "平起首句入韵",
        ]
        assert len({pattern.lines for pattern in form.patterns}) == 4


@pytest.mark.parametrize(
    ("form", "number", "lines"),
    [  # as the handbooks print them
        ("五绝", 0, "仄仄平平仄 平平仄仄平 平平平仄仄 仄仄仄平平"),
        ("五绝", 3, "平平仄仄平 仄仄仄平平 仄仄平平仄 平平仄仄平"),
        ("七绝", 1, "仄仄平平仄仄平 平平仄仄仄平平 平平仄仄平平仄 仄仄平平仄仄平"),
        ("七绝", 2, "平平仄仄平平仄 仄仄平平仄仄平 仄仄平平平仄仄 平平仄仄仄平平"),
        (
            "五律",
            1,
            "仄仄仄平平 平平仄仄平 平平平仄仄 仄仄仄平平 "
            "仄仄平平仄 平平仄仄平 平平平仄仄 仄仄仄平平",
        ),
        (
            "七律",
            3,
            "平平仄仄仄平平 仄仄平平仄仄平 仄仄平平平仄仄 平平仄仄仄平平 "
            "平平仄仄平平仄 仄仄平平仄仄平 仄仄平平平仄仄 平平仄仄仄平平",
        ),
    ],
)
def test_patterns_in_full(form: str, number: int, lines: str) -> None:
    assert REGULATED[form].patterns[number].lines == tuple(lines.split())


@pytest.mark.parametrize(("form", "pattern"), ALL)
def test_the_laws_of_all_patterns(form: Form, pattern: Pattern) -> None:
    lines = pattern.lines
    assert tuple(map(len, lines)) == form.lengths
    assert all(line.endswith("平") == (n in form.rhyming) for n, line in enumerate(lines) if n)
    assert lines[0].endswith("平") == pattern.first_rhymes == ("不入韵" not in pattern.name)
    assert lines[0][1] == pattern.name[0], "仄起 or 平起"
    for n in range(1, len(lines)):
        opposed = lines[n][1] != lines[n - 1][1]
        assert opposed == (n % 2 == 1), "对 within a couplet, 粘 between two"
    for line in lines:
        assert len(set(line[-3:])) == 2, "never three of one tone at the end"
        assert all(line[i] != line[i + 2] for i in range(1, len(line) - 2, 2)), (
            "even places alternate"
        )


@pytest.mark.parametrize("count", [4, 8])
def test_seven_characters_are_two_more_before_five(count: int) -> None:
    short = {p.lines for p in REGULATED["五绝" if count == 4 else "五律"].patterns}
    long = {p.lines for p in REGULATED["七绝" if count == 4 else "七律"].patterns}
    assert {tuple(line[2:] for line in lines) for lines in long} == short
    assert all(line[0] == line[1] != line[3] for lines in long for line in lines)
