"""Each step of cleaning on a small input of its kind, and the whole in its order."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.language import Message, use
from mingyue.text import cleaning as c
from mingyue.text.cleaning import RawPoem, clean
from mingyue.text.report import Report

QUATRAIN = ("床前看月光，疑是地上霜。", "舉頭望山月，低頭思故鄉。")
OTHER = ("白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。")


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [
        (c.strip_notes, "春（一作秋）風。", "春風。"),
        (c.strip_notes, "春（一作「秋（誤）」）風〖1〗。", "春風。"),
        (c.strip_notes, "路旁[一]忽見[十二]花[3]。", "路旁忽見花。"),
        (c.strip_notes, "今朝樓下[柑]（甘）初熟。", "今朝樓下[柑]初熟。"),
        (c.strip_notes, "未合（的括號。", "未合（的括號。"),
        (c.keep_restored, "今朝樓下[柑]初熟，〔态〕。", "今朝樓下柑初熟，态。"),
        (c.mend_punctuation, "歸去。。去？。來，。也", "歸去。去？來。也"),
        (c.mend_punctuation, "「早晚發西京？」《易》書", "早晚發西京？易書"),
        (c.mend_punctuation, "，。春風", "春風"),
        (c.mend_punctuation, "自留玩/。", "自留玩。"),
        (c.strip_spaces, "春 風\u3000來\n也", "春風來也"),
        (c.unify, "\uf92c，", "郎，"),  # a compatibility character; the full-width comma stays
        (c.clean_title, "度大臾（庾）嶺（其二） 一\t", "度大臾嶺 一"),
    ],
)
def test_a_step_that_mends(step: Callable[[str], str], before: str, after: str) -> None:
    assert step(before) == after
    assert step(after) == after  # mending twice changes nothing more


@pytest.mark.parametrize(
    ("step", "bad", "good"),
    [
        (c.has_gaps, "春□風。", "春風。"),
        (c.has_gaps, "春○風。", "春風。"),
        (c.has_gaps, "春●風。", "春風。"),
        (c.has_gaps, "……春風。", "春風。"),
        (c.has_gaps, "春\ufffd風。", "春風。"),
        (c.has_gaps, "春風。（下缺）", "春風（闕名）。"),
        (c.has_gaps, "春風，吹又", "春風吹又生。"),
        (c.has_composition, "寄龐{氵寉}。", "寄龐。"),
        (c.has_composition, "⿰氵寉。", "氵寉。"),
        (c.has_private_use, "春\ue829風。", "春𧽼風。"),
        (c.has_foreign, "春1風。", "春風。"),
        (c.has_foreign, "春B風。", "春〇風。"),
        (c.has_foreign, "春（風。", "春風，也；如何？是！曰：好、好。"),
        (c.has_foreign, "け然长啸。", "𣯶然長嘯。"),
        (
            lambda text: c.is_prose(text, 11),
            "一二三四五六七八九十百千。",
            "一二三四五六七八九十百。",
        ),
    ],
)
def test_a_reason_to_drop(step: Callable[[str], bool], bad: str, good: str) -> None:
    assert step(bad)
    assert not step(good)


def test_near_duplicates_are_half_of_the_couplets() -> None:
    seen = set(c.couplets_of("甲乙。丙丁。"))
    assert c.mostly_seen("甲乙。戊己。", seen)
    assert not c.mostly_seen("甲乙。戊己。庚辛。", seen)


@given(st.text(st.sampled_from("春風（）[]〖〗一。，"), max_size=40))
def test_no_complete_note_is_left(text: str) -> None:
    stripped = c.strip_notes(text)
    assert c.strip_notes(stripped) == stripped
    assert c.count_han(stripped) <= c.count_han(text)
    assert set(stripped) <= set(text)


@given(st.text(st.sampled_from("春風。，？；："), max_size=40))
def test_mended_marks_stand_alone(text: str) -> None:
    mended = c.mend_punctuation(text)
    assert c.mend_punctuation(mended) == mended
    marks = c.SENTENCE_ENDS + c.PAUSES
    assert not any(a in marks and b in marks for a, b in pairwise(mended))
    assert [ch for ch in mended if c.is_han(ch)] == [ch for ch in text if c.is_han(ch)]


def test_all_steps_in_order_and_in_counts() -> None:
    raw = [
        RawPoem(QUATRAIN, "靜夜思（一作夜思）", "李白"),
        RawPoem(
            (
                "床前看月光，疑是（一作",
                "似）地上霜。舉頭望山月，低頭思故鄉。",
            )
        ),  # a note across two
        RawPoem((QUATRAIN[0], OTHER[0])),  # half of it is known
        RawPoem(OTHER, "登鸛雀樓", "王之渙"),
        RawPoem(("春風□不度。" * 3,)),
        RawPoem(("萬里漢都護，萬里漢都護，萬里。（下缺）",)),
        RawPoem(("龐{氵寉}萬里漢都護，萬里漢都。",)),
        RawPoem(("春\ue829萬里漢都護，萬里漢都。",)),
        RawPoem(("春2萬里漢都護，萬里漢都護。",)),
        RawPoem(("中和癸卯春三月洛陽城外花如雪。",)),
        RawPoem(("空。",)),
        RawPoem(("",)),
    ]
    report = Report()
    poems = list(clean(raw, report))
    assert [(p.text, p.title, p.author) for p in poems] == [
        ("".join(QUATRAIN), "靜夜思", "李白"),
        ("".join(OTHER), "登鸛雀樓", "王之渙"),
    ]
    assert report.documents == 2
    assert report.characters == 48
    assert report.cleaning == {
        "raw poems": 12,
        "nfc": 0,
        "notes": 2,
        "restored": 0,
        "spaces": 0,
        "punctuation": 0,
        "gaps": 2,
        "compositions": 1,
        "private use": 1,
        "foreign": 1,
        "prose": 1,
        "short": 2,
        "duplicates": 1,
        "near duplicates": 1,
    }
    dropped = sum(list(report.cleaning.values())[6:])
    assert report.cleaning["raw poems"] == report.documents + dropped


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_says_it_in_words(language: str) -> None:
    use(language)  # type: ignore[arg-type]
    try:
        report = Report()
        list(clean([RawPoem(QUATRAIN), RawPoem(QUATRAIN)], report))
        report.encodings.update(["utf-8", "gb18030", "utf-8"])
        report.warn(Message("w"))
        report.warn(Message("w"))
        lines = report.lines()
        happened = [step for step, touched in report.cleaning.items() if touched]
        assert happened == ["raw poems", "duplicates"]
        assert len(lines) == 1 + 1 + len(happened) + 1
        assert "utf-8 × 2, gb18030 × 1" in lines[1]
        assert all(("的" in line or "首" in line) == (language == "zh") for line in lines[2:4])
        first = {"en": "1 document, 24 characters", "zh": "1 篇，24 字符"}
        assert lines[0] == first[language]
        assert Report.from_dict(report.as_dict()) == report
    finally:
        use(None)


def test_counts_of_documents_agree_with_their_noun() -> None:
    assert [Report(documents=n, characters=9).lines()[0] for n in (0, 1, 2)] == [
        "0 documents, 9 characters",
        "1 document, 9 characters",
        "2 documents, 9 characters",
    ]
