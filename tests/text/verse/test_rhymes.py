"""The data file keeps its invariants, and known rhymes are in it."""

import re

import pytest

from mingyue.errors import UserError
from mingyue.text.script import to_simplified
from mingyue.text.verse import classes, lines_of, rhyme, tones

COUNTS = {"平": 30, "上": 29, "去": 30, "入": 17}
FILE = rhyme._FILE


def test_the_file_has_the_106_classes_each_once() -> None:
    text = FILE.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[平上去入] \S \S+", line) for line in lines)
    found = [line[0] for line in lines]
    assert {tone: found.count(tone) for tone in COUNTS} == COUNTS
    assert len({line[2] for line in lines}) == len(rhyme.names()) == 106
    assert len(text.encode()) < 100_000
    assert text.startswith("#") and "scripts/rhymes.py" in text, "says where it comes from"


def test_the_members_of_a_class() -> None:
    for name in rhyme.names():
        members = rhyme.members(name)
        assert len(members) > 20
        assert list(members) == sorted(set(members)), "sorted, none twice"
        assert "".join(lines_of(members)) == members, "all are 汉字"
        assert all(name in classes(char) for char in members)
        if name != "琰":  # 平水韵 named it 儉 too
            assert name in members


@pytest.mark.parametrize(
    ("characters", "name"),
    [  # ends of well-known poems
        ("光霜鄉", "陽"),
        ("流樓", "尤"),
        ("間還山", "刪"),
        ("斜家花車", "麻"),
        ("紅風中", "東"),
        ("濃峰龍", "冬"),
        ("春人塵身", "真"),
        ("曉鳥少", "篠"),
        ("滅雪絕", "屑"),
        ("天船眠", "先"),
        ("看難寒", "寒"),
        ("元門村魂", "元"),
        ("雨語", "麌語"),
        ("回來開杯", "灰"),
        ("華涯", "麻"),
        ("生情城", "庚"),
        ("星青亭", "青"),
        ("深心林", "侵"),
        ("簾", "鹽"),
        ("業", "洽"),
    ],
)
def test_known_rhymes(characters: str, name: str) -> None:
    for char in characters:
        assert classes(char) & set(name), char


def test_what_mandarin_would_get_wrong() -> None:
    assert not classes("東") & classes("冬")
    assert not classes("真") & classes("針")
    assert all(tones(char) == {"仄"} for char in "國白十月一石雪獨急竹讀食昔")
    assert all(tones(char) == {"平"} for char in "春花天山江人")


def test_polyphones_have_all_their_readings() -> None:
    assert classes("看") == {"寒", "翰"} and tones("看") == {"平", "仄"}
    for char in "過望教思聽爲重長相中勝":
        assert tones(char) == {"平", "仄"}, char


@pytest.mark.parametrize(
    "glyphs", ["爲為", "裏裡", "羣群", "眞真", "疎疏", "靑青", "牀床", "衆眾", "臺台", "隣鄰"]
)
def test_other_glyphs_of_a_character(glyphs: str) -> None:
    assert classes(glyphs[0]) & classes(glyphs[1])


def test_simplified_characters() -> None:
    assert classes("风") == classes("風") and tones("国") == {"仄"}
    assert classes("发") == classes("發") | classes("髮"), "it stands for both"
    assert classes("种") == {"東"}, "a surname"
    assert classes("种", simplified=True) == {"東"} | classes("種")
    assert tones("种", simplified=True) == {"平", "仄"}
    for char in "斗干后谷余":
        assert classes(char, simplified=True) >= classes(char)


def test_unknown_characters_are_in_no_class() -> None:
    for char in ["a", "，", "\n", "😀", "\U00030000", "\ud800", "", "ab"]:
        assert classes(char) == tones(char) == frozenset()
        assert classes(char, simplified=True) == frozenset()
    assert classes("\uf9d1") == classes("六"), "the compatibility block has twins"


def test_which_script_a_text_is_in() -> None:
    verse = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
    assert not rhyme.looks_simplified(verse) and rhyme.looks_simplified(to_simplified(verse))
    assert not rhyme.looks_simplified(verse.replace("舉", "举")), "one stray glyph"
    assert not rhyme.looks_simplified("山水abc")


@pytest.mark.parametrize(
    ("asked", "name"),
    [("東", "東"), ("东", "東"), ("上平一东", "東"), ("盐", "鹽"), ("删", "刪"), ("个", "箇")],
)
def test_a_class_by_its_name(asked: str, name: str) -> None:
    assert rhyme.find(asked) == name


@pytest.mark.parametrize("asked", ["", "  ", "月亮", "x", "平水"])
def test_what_is_no_class_is_said_in_one_line(asked: str) -> None:
    with pytest.raises(UserError) as error:
        rhyme.find(asked)
    assert "\n" not in str(error.value) and "東冬江" in str(error.value)
