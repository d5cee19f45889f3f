"""Well-known poems judged, whole and spoilt."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.text.script import to_simplified
from mingyue.text.verse import REGULATED, Form, judge

TOWER = "白日依山盡，黃河入海流。欲窮千里目，更上一層樓。"
GORGE = "朝辭白帝彩雲間，千里江陵一日還。兩岸猿聲啼不住，輕舟已過萬重山。"
SOUTH = "千里鶯啼綠映紅，水村山郭酒旗風。南朝四百八十寺，多少樓臺煙雨中。"
GRASS = (
    "離離原上草，一歲一枯榮。野火燒不盡，春風吹又生。"
    "遠芳侵古道，晴翠接荒城。又送王孫去，萋萋滿別情。"
)
WIND = (
    "涼風起天末，君子意如何。鴻雁幾時到，江湖秋水多。"
    "文章憎命達，魑魅喜人過。應共冤魂語，投詩贈汨羅。"
)
GARDEN = "萬國尚戎馬，故園今若何。昔歸相識少，早已戰場多。"
SNOW = "千山鳥飛絕，萬徑人蹤滅。孤舟蓑笠翁，獨釣寒江雪。"
PEAKS = "橫看成嶺側成峰，遠近高低各不同。不識廬山真面目，只緣身在此山中。"
RIVER = (
    "風急天高猿嘯哀，渚清沙白鳥飛回。無邊落木蕭蕭下，不盡長江滾滾來。"
    "萬里悲秋常作客，百年多病獨登臺。艱難苦恨繁霜鬢，潦倒新停濁酒杯。"
)


@pytest.mark.parametrize("convert", [str, to_simplified])
@pytest.mark.parametrize(
    ("text", "form", "rhyme", "pattern", "licences"),
    [
        (TOWER, "五绝", "尤", "仄起首句不入韵", {}),
        (GORGE, "七绝", "刪", "平起首句入韵", {}),
        (SOUTH, "七绝", "東", "仄起首句入韵", {2: "对句相救"}),
        (GRASS, "五律", "庚", "平起首句不入韵", {}),  # 燒 and 不 are read in both tones
        (WIND, "五律", "歌", "平起首句不入韵", {0: "特定格式"}),
        (GARDEN, "五绝", "歌", "仄起首句不入韵", {1: "孤平自救"}),
        (RIVER, "七律", "灰", "仄起首句入韵", {}),
    ],
)
def test_regulated_poems(convert, text, form, rhyme, pattern, licences) -> None:
    found = judge(convert(text))
    assert found.form is REGULATED[form] and found.fits and found.unknown == ()
    assert found.rhyme and found.rhyme.holds and found.rhyme.level
    assert found.rhyme.name == rhyme and found.rhyme.on == REGULATED[form].rhyming
    assert found.rhyme.repeated == ()
    assert found.strict and found.strict.holds and found.strict.pattern.name == pattern
    assert {n: name for n, name in enumerate(found.strict.licences) if name} == licences
    assert found.loose and found.loose.pattern.name == pattern
    moved = {n for n, name in licences.items() if name != "孤平自救"}
    assert {n for n, off in enumerate(found.loose.off) if off} == moved, "loose knows no licences"


def test_the_first_line_may_rhyme() -> None:
    firsts = {text: judge(text).rhyme for text in (TOWER, GORGE, PEAKS)}
    assert [r and r.first for r in firsts.values()] == ["", "rhymes", "neighbour"]
    assert all(r and r.holds for r in firsts.values())


def test_oblique_rhyme_is_rhyme_but_no_regulated_verse() -> None:
    found = judge(SNOW)
    assert found.rhyme and found.rhyme.holds and found.rhyme.name == "屑"
    assert not found.rhyme.level
    assert found.loose and not found.loose.holds


def test_where_a_poem_is_off() -> None:
    spoilt = judge(TOWER.replace("樓", "水"))
    assert spoilt.rhyme and spoilt.rhyme.holds is False and spoilt.rhyme.on == (1,)
    assert spoilt.rhyme.off == (3,)
    assert spoilt.loose and spoilt.loose.off == ((), (), (), (4,))
    alone = judge(TOWER.replace("黃河", "大河"))  # 孤平
    assert alone.strict and alone.strict.off == ((), (0,), (), ())
    assert alone.loose and alone.loose.holds
    three = judge(TOWER.replace("一層", "千層"))  # 三平调
    assert three.strict and three.strict.off == ((), (), (), (2,))
    debt = judge(SOUTH.replace("煙", "夜"))  # what the line before owes is not paid
    assert debt.strict and sum(map(len, debt.strict.off)) == 1


def test_couplets_that_do_not_hold_together() -> None:
    first, second = GRASS[:24], GRASS[24:]
    assert judge(first).strict.holds and judge(second).strict.holds  # type: ignore[union-attr]
    turned = judge(GRASS[12:24] + GRASS[12:24]).loose
    assert turned and not turned.holds, "失粘"
    swapped = judge("黃河入海流，白日依山盡。更上一層樓，欲窮千里目。").loose
    assert swapped and not swapped.holds


def test_repeated_and_unknown_rhymes() -> None:
    twice = judge(TOWER.replace("樓", "流")).rhyme
    assert twice and twice.holds and twice.repeated == ("流",)
    found = judge(TOWER.replace("樓", "\U00030000"))
    assert found.unknown == ("\U00030000",)
    assert found.rhyme and found.rhyme.holds is None and found.rhyme.unknown == (3,)
    assert found.strict and found.strict.holds, "the benefit of the doubt"
    none = judge("山\U00030000，水\U00030000，山\U00030000，水\U00030000").rhyme
    assert none and none.name is None and none.holds is None and not none.level


def test_a_form_asked_for() -> None:
    short = judge(TOWER[:-6], REGULATED["五绝"])
    assert short.form is REGULATED["五绝"] and not short.fits
    assert short.strict is None and short.rhyme is None
    free = judge(TOWER, Form.parse("5,5,5,5"))
    assert free.fits and free.strict is None and free.rhyme and free.rhyme.holds
    haiku = judge("明月照高樓、流光正徘徊不去，上有愁思婦", Form.parse("5,7,5"))
    assert haiku.fits and haiku.rhyme is None
    assert judge("").form is None and judge("").lines == ()
    long = judge(TOWER + TOWER + TOWER)
    assert long.form is None and not long.fits and long.rhyme and long.rhyme.name == "尤"


@pytest.mark.parametrize("sign", ["？", "！", "……", "——", " ", "\n", ","])
def test_signs_do_not_matter(sign: str) -> None:
    found = judge(GORGE.replace("，", sign).replace("。", sign))
    assert found == judge(GORGE)


@settings(max_examples=100, deadline=None)
@given(
    st.text(st.sampled_from("白日依山盡国风。，、\n x\ud800\U00030000")) | st.text(),
    st.sampled_from(
        [None, REGULATED["五绝"], REGULATED["七律"], Form.parse("5,7,5"), Form.parse("1")]
    ),
)
def test_any_text_can_be_judged(text: str, form: Form | None) -> None:
    found = judge(text, form)
    assert found.fits == (
        found.form is not None and found.form.lengths == tuple(map(len, found.lines))
    )
    assert (found.strict is None) == (found.loose is None)
