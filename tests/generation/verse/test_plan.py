"""The slots of a poem, and beginnings that fit into them or do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.generation.verse.plan import Plan
from mingyue.text.verse import lines_of
from tests.generation.verse.helpers import CHARS, HEADS, alphabet

ALPHABET = alphabet()
LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6).map(tuple)


def plan(*lengths: int, heads: str = "") -> Plan:
    return Plan.of(lengths, ALPHABET, heads)


@given(LENGTHS)
def test_a_slot_for_each_character_and_a_sign_after_each_line(lengths: tuple[int, ...]) -> None:
    slots = plan(*lengths).slots
    chars = [slot for slot in slots if not slot.signs]
    assert [(s.line, s.place) for s in chars] == [
        (line, place) for line, length in enumerate(lengths) for place in range(length)
    ]
    assert [slot.line for slot in slots if slot.signs] == list(range(len(lengths)))
    assert "，" not in slots[-1].signs, "a poem does not end in a comma"


@given(LENGTHS, st.data())
def test_any_beginning_of_a_fitting_text_is_one(lengths: tuple[int, ...], data: st.DataObject):
    whole = "".join(
        slot.signs[0] if slot.signs else CHARS[i % len(CHARS)]
        for i, slot in enumerate(plan(*lengths).slots)
    )
    cut = data.draw(st.integers(0, len(whole) - 1))
    made = plan(*lengths).beginning(whole[:cut])
    assert made.begun == whole[:cut]
    assert "".join(made.lines) == "".join(lines_of(whole[:cut]))
    assert "".join(made.given.values()) == "".join(made.lines)
    with pytest.raises(UserError, match="nothing is left to write"):
        plan(*lengths).beginning(whole)


@pytest.mark.parametrize(
    ("given_", "begun"),
    [
        ("明月", "明月"),
        ("明月明月明", "明月明月明"),
        ("明月明月明,", "明月明月明，"),
        ("明月明月明?", "明月明月明，"),  # half-width is put into known signs before
        ("明月明月明？", "明月明月明？"),
        ("明月明月明……", "明月明月明，"),
        ("明月明月明：", "明月明月明，"),
        ("明月明月明？！", "明月明月明？"),
        ("明月明月明\n春", "明月明月明，春"),
        ("「明月 明月明」，", "明月明月明，"),
        ("\u3000明月明月明\r\n", "明月明月明，"),
    ],
)
def test_signs_of_a_beginning(given_: str, begun: str) -> None:
    assert plan(5, 5).beginning(given_).begun == begun


@pytest.mark.parametrize(
    ("given_", "why"),
    [
        ("明月明月明月", "line 1 of the beginning has more than 5 characters: 月"),
        ("明月，明月明", "line 1 of the beginning has 2 characters; the form asks for 5"),
        ("明月明月明，明月。", "line 2 of the beginning has 2 characters; the form asks for 5"),
        ("明月moon", "the beginning has m"),
        ("明月5", "the beginning has 5"),
        ("明月明月明，明月明月明。明", "longer than the form"),
    ],
)
def test_beginnings_that_break_the_form(given_: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        plan(5, 5).beginning(given_)


def test_heads_are_in_their_slots_and_a_beginning_must_agree() -> None:
    made = plan(2, 2, 2, heads="春夏")
    assert made.certain == {(0, 0): "春", (1, 0): "夏"}
    assert made.beginning("春明，").begun == "春明，"
    with pytest.raises(UserError, match="line 1 has to begin with 春"):
        made.beginning("秋")


@pytest.mark.parametrize(
    ("signs", "ends"),
    [
        ("，。", ["，", "。"]),
        (",.", [",.", ",."]),
        ("\n", ["\n", "\n"]),
        ("。", ["。", "。"]),
        ("", ["", ""]),
    ],
)
def test_lines_end_in_signs_that_the_vocabulary_has(signs: str, ends: list[str]) -> None:
    made = Plan.of([1, 1], alphabet(HEADS, signs=signs))
    found = ["".join(s.signs) for s in made.slots if s.signs]
    assert found == [end for end in ends if end]
