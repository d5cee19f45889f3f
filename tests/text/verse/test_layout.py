"""Forms are a matter of counting characters, whatever signs stand between them."""

import pytest

from mingyue.text.verse import form_of, is_even, lay_out, line_lengths, lines_of

QUATRAIN = "床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"
SEVEN = "朝辭白帝彩雲間，千里江陵一日還。兩岸猿聲啼不住，輕舟已過萬重山。"


def test_lay_out() -> None:
    assert lay_out(QUATRAIN) == "床前明月光，疑是地上霜。\n舉頭望明月，低頭思故鄉。"
    assert lay_out(lay_out(QUATRAIN)) == lay_out(QUATRAIN)
    assert lay_out("花！月？水；山，雲") == "花！\n月？\n水；\n山，雲"
    assert lay_out("曰：「去。」來。") == "曰：「去。」\n來。"
    assert lay_out("何？！來") == "何？！\n來"
    assert lay_out("去。\r\n來。\n") == "去。\n來。"
    assert lay_out("") == ""


def test_line_lengths() -> None:
    assert line_lengths(QUATRAIN) == [5, 5, 5, 5]
    assert line_lengths("君不見：黃河之水天上來\n奔流到海不復回") == [3, 7, 7]
    assert line_lengths("對瀟瀟、暮雨灑江天，一番洗清秋。") == [8, 5], "、 is a pause, no end"
    assert line_lengths("𠀀〇月；《花》，abc。\n\n") == [3, 1]
    assert line_lengths("") == line_lengths("，。\n") == []


LINES = ["床前明月光", "疑是地上霜", "舉頭望明月", "低頭思故鄉"]


@pytest.mark.parametrize(
    "end", [*"，。！？；：、…—,.!?;: \n\t\u3000｡､﹐～", "……", "——", "？！", "\r\n"]
)
def test_lines_end_at_any_sign_between_them(end: str) -> None:
    assert lines_of(end.join(LINES)) == lines_of(end.join(LINES) + end) == LINES


@pytest.mark.parametrize("sign", [*"「」『』《》〈〉“”‘’（）()[]·•・－/*#\"'", "abc", "12"])
def test_other_signs_end_nothing(sign: str) -> None:
    assert (
        lines_of(f"{sign}床前{sign}明月光{sign}，疑是地上霜，{sign}舉頭望明月。低頭{sign}思故鄉")
        == LINES
    )


def test_a_sign_inside_a_line_is_read_as_such_where_it_makes_the_lines_even() -> None:
    assert lines_of("東邊日出西邊雨，道是：無晴卻有晴。")[1] == "道是無晴卻有晴"
    assert lines_of("春、夏、秋、冬四時過，一 二 三 四五六七。") == [
        "春夏秋冬四時過",
        "一二三四五六七",
    ]
    assert lines_of("歸去——來兮辭，噫……吁嚱危乎。") == ["歸去來兮辭", "噫吁嚱危乎"]
    assert lines_of("君不見：黃河之水天上來，奔流到海不復回。")[0] == "君不見", (
        "not even either way"
    )


def test_the_lengths_asked_for_decide() -> None:
    assert lines_of("明月、清風來，去") == ["明月清風來", "去"]
    assert lines_of("明月、清風來，去", (2, 3, 1)) == ["明月", "清風來", "去"]
    assert lines_of("山：月，水", (2, 1)) == ["山月", "水"]
    assert lines_of("山：月，水", (9,)) == ["山", "月", "水"], "none fits: the usual reading"


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (QUATRAIN, "五绝"),
        (SEVEN, "七绝"),
        (QUATRAIN * 2, "五律"),
        (SEVEN * 2, "七律"),
        (QUATRAIN * 3, "五言"),
        (SEVEN[:16], "七言"),
        (QUATRAIN.replace("，", "\n").replace("。", "\n\n"), "五绝"),
        (QUATRAIN.replace("，", "？").replace("。", "！"), "五绝"),
        (QUATRAIN.replace("，", "；", 1).replace("，", "：", 1), "五绝"),
        (lay_out(SEVEN), "七绝"),
        (QUATRAIN[:-2], None),
        (QUATRAIN + SEVEN, None),
        ("床前明月光", None),
        ("明月，清風。明月，清風。", None),
        ("", None),
    ],
)
def test_form(text: str, form: str | None) -> None:
    assert form_of(text) == form
    assert is_even(text) == (form is not None)
