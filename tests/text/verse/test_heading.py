"""Headings: what they say, that they come off again, and which poems get which."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.text.document import Document
from mingyue.text.verse import form_of
from mingyue.text.verse.heading import (
    CLOSE,
    LONGEST_TITLE,
    MARKS,
    OPEN,
    author_of,
    headed,
    heading,
    spelt,
    split_heading,
    title_of,
)

TEXTS = st.text(st.characters(exclude_characters=MARKS), max_size=30)
PARTS = st.none() | st.text(max_size=20) | st.sampled_from(["七絕", "李白", "春夜"])


@given(PARTS, PARTS, PARTS, TEXTS)
def test_a_heading_comes_off_again(form, author, title, body):
    head = heading(form, author, title)
    assert split_heading(head + body) == (head, body)
    assert (head == "") == (not any((p or "").strip(MARKS + "\n\r") for p in (form, author, title)))
    if head:
        assert head.count(OPEN) == head.count(CLOSE) == 1
        assert head[0] == OPEN and head[-1] == CLOSE and "\n" not in head


@given(st.text())
def test_nothing_is_lost_whatever_the_text(text):
    assert "".join(split_heading(text)) == text


def test_how_a_heading_looks():
    assert heading("七絕", "李白", "春夜") == "〔七絕李白《春夜》〕"
    assert heading(title="春夜") == "〔《春夜》〕"
    assert heading(author="李白") == "〔李白〕"
    assert heading() == heading(title="《》") == ""


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("春夜", "春夜"),
        ("帝京篇十首 一", "帝京篇"),
        ("相和歌辭 從軍行六首 五", "從軍行"),
        ("嵩山十志十首 其一", "嵩山十志"),
        ("秋懷 三首", "秋懷"),
        ("延英殿玉靈芝詩三章章八句 一", "延英殿玉靈芝詩三章章八句"),
        ("唐享昊天樂 第十一", "唐享昊天樂"),
        ("酬慕容十一", "酬慕容十一"),
        ("雁後归・临江仙", "临江仙"),
        ("春夜（一作夜春）", "春夜"),
        ("《春夜》", "春夜"),
        ("春□夜", ""),
        ("Spring", ""),
        ("春" * (LONGEST_TITLE + 1), ""),
        ("三首", ""),
        ("", ""),
    ],
)
def test_what_is_said_of_a_title(title, said):
    assert title_of(title) == said


@pytest.mark.parametrize(
    ("author", "said"),
    [
        ("李白", "李白"),
        ("王炎2", "王炎"),
        ("河[湄]鬼", "河湄鬼"),
        ("賀知章、源乾曜", ""),
        ("不詳", ""),
        ("无名氏", ""),
        ("吉中孚妻張氏京兆人", ""),
        ("", ""),
    ],
)
def test_what_is_said_of_an_author(author, said):
    assert author_of(author) == said


def test_one_in_four_has_a_heading_and_they_show_every_choice():
    texts = [f"{a}{b}明月光，" * 4 for a in map(chr, range(0x4E00, 0x4E28)) for b in "白紅黃青黑"]
    heads = Counter(split_heading(headed(Document(text, "春夜", "李白")))[0] for text in texts * 10)
    assert 0.7 < heads.pop("") / len(texts * 10) < 0.8
    wanted = {
        heading(form, author, title)
        for form in ("", "五绝")
        for author in ("", "李白")
        for title in ("", "春夜")
    } - {""}
    assert set(heads) == wanted


@given(st.text("明月光疑是地上霜，。", min_size=1), st.text(max_size=9), st.text(max_size=9))
def test_the_poem_itself_is_not_touched(text, title, author):
    document = Document(text, title, author)
    assert split_heading(headed(document))[1] == text
    assert headed(document) == headed(document), "the same each time"
    # What the model does not know is left out, so nothing unknown comes in.
    known = set(text) | set(MARKS)
    assert set(headed(document, known.__contains__)) <= known


def test_a_form_is_written_as_the_model_would_write_it():
    poem = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
    assert form_of(poem) == "五绝"
    assert spelt("五绝", "五絕".__contains__) == "五絕"
    assert spelt("五绝", "五绝絕".__contains__) == "五绝"
    assert spelt("五律", "五律".__contains__) == "五律"
    part = Document(poem, ends=False)
    assert headed(part) == poem, "the form of a whole poem is not known from its first piece"
