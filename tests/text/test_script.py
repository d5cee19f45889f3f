"""Prompts in the characters a vocabulary has."""

from hypothesis import given
from hypothesis import strategies as st

from mingyue.text.script import adapt, to_simplified, to_traditional

TANG = set("床牀前明月光，疑是地上霜。舉頭望後來雲白髮發裏為！？；：（）")


def test_conversion_sees_words() -> None:
    assert to_traditional("白发三千丈，出发") == "白髮三千丈，出發"
    assert to_simplified("舉頭望明月") == "举头望明月"


def test_signs_of_the_other_width() -> None:
    text, changes = adapt("明月,光.(霜)!?;:", TANG.__contains__)
    assert text == "明月，光。（霜）！？；："
    assert changes[0] == (",", "，")
    assert len(changes) == 8
    assert adapt("明，月。", "明,月.".__contains__)[0] == "明,月."


def test_the_other_script_and_its_variants() -> None:
    assert adapt("举头望明月", TANG.__contains__) == ("舉頭望明月", [("举", "舉"), ("头", "頭")])
    assert adapt("舉頭", set("举头").__contains__)[0] == "举头"
    assert adapt("白发", TANG.__contains__)[0] == "白髮", "as the word suggests"
    assert adapt("出发", TANG.__contains__)[0] == "出發"
    assert adapt("裡为", TANG.__contains__)[0] == "裏為", "regional glyphs too"


def test_known_characters_are_left_alone() -> None:
    text = "后来"
    assert adapt(text, {"后", "来"}.__contains__) == (text, [])
    assert adapt(text, {"后", "來"}.__contains__) == ("后來", [("来", "來")])


def test_what_has_no_known_form_stays() -> None:
    assert adapt("明X月\ud800", TANG.__contains__) == ("明X月\ud800", [])
    assert adapt("", TANG.__contains__) == ("", [])


def test_changes_are_listed_once_in_order() -> None:
    assert adapt("头,举,头", TANG.__contains__)[1] == [("头", "頭"), (",", "，"), ("举", "舉")]


@given(st.text(st.sampled_from("头发后里明月,.?X𠀀\n" + "".join(sorted(TANG))), max_size=20))
def test_laws(text: str) -> None:
    adapted, changes = adapt(text, TANG.__contains__)
    assert len(adapted) == len(text)
    for old, new in zip(text, adapted, strict=True):
        assert old == new or (old not in TANG and new in TANG and (old, new) in changes)
    assert adapt(adapted, TANG.__contains__) == (adapted, [])
