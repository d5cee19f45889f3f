"""``mingyue write --form``: forms, acrostics and couplets from the command line."""

import json
from pathlib import Path

import pytest

from mingyue.text.script import to_simplified
from mingyue.text.verse import judge, lines_of
from tests.cli.conftest import Call

FREE = ("--rhyme", "free", "--tone", "free")  # the little text of these tests has few characters


def objects(out: str) -> list[dict]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize("form", ["五绝", "wujue", "七律"])
def test_a_form(call: Call, form: str) -> None:
    done = call("write", "run", "--form", form, *FREE, "--seed", "1")
    assert done.code == 0, done.err
    asked = {"wujue": "五绝"}.get(form, form)
    found = judge(done.out).form
    assert found is not None
    assert found.name == asked
    assert done.out.count("\n") == len(found.lengths) // 2, "a couplet a line"


@pytest.mark.usefixtures("trained")
def test_lines_heads_and_couplet(call: Call) -> None:
    done = call("write", "run", "--lines", "3,5", *FREE)
    assert list(map(len, lines_of(done.out))) == [3, 5], done.err
    done = call("write", "run", "--head", "天地日", *FREE, "--layout", "plain")
    assert [line[0] for line in lines_of(done.out)] == list("天地日")
    assert done.out.count("\n") == 1
    done = call("write", "run", "--couplet", "天地玄黄", *FREE)
    assert lines_of(done.out)[0] == "天地玄黄"
    assert len(lines_of(done.out)[1]) == 4


@pytest.mark.usefixtures("trained")
def test_the_best_first_with_reasons(call: Call) -> None:
    asked = ("write", "run", "天", "--form", "五绝", *FREE, "--seed", "3", "--n", "6", "--json")
    poems, ranked = objects(call(*asked).out), objects(call(*asked, "--best").out)
    assert sorted(poems, key=lambda poem: -poem["score"]) == ranked
    assert [poem["text"][0] for poem in poems] == ["天"] * 6
    for poem in poems:
        n = sum(fault["n"] for fault in poem["faults"])
        whole = poem["completion"]
        assert poem["score"] == pytest.approx(whole["logprob"] - n / whole["n_tokens"])
        assert poem["merits"][0] == "form: 五绝"
    shown = call(*asked[:-1], "--best")
    assert shown.err.count("+ form: 五绝") == 6
    assert call("--lang", "zh", *asked[:-1]).err.count("+ 体裁：五绝") == 6


@pytest.mark.usefixtures("trained")
def test_each_line_of_a_file_begins_a_poem(call: Call, texts: Path) -> None:
    (texts / "begin.txt").write_text("天地\n日\n", encoding="utf-8")
    done = call("write", "run", "--prompts", "begin.txt", "--form", "五绝", *FREE, "--json")
    assert [poem["text"][:1] for poem in objects(done.out)] == ["天", "日"], done.err


@pytest.mark.usefixtures("trained")
def test_probabilities_of_a_poem(call: Call) -> None:
    asked = ("write", "run", "--form", "5", *FREE, "--seed", "1", "--probabilities", "2")
    (poem,) = objects(call(*asked, "--json").out)
    assert "".join(t["text"] for t in poem["completion"]["tokens"]) == poem["text"]
    assert "%" in call(*asked).out


@pytest.mark.usefixtures("trained")
def test_script(call: Call) -> None:
    for words in (("--form", "五绝", *FREE), ("--max-tokens", "20")):
        asked = ("write", "run", *words, "--seed", "1")
        plain = call(*asked).out
        assert call(*asked, "--script", "simplified").out == to_simplified(plain)


@pytest.mark.usefixtures("trained")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--form", "六绝"), "六绝: no form"),
        (("--form", "五绝", "--lines", "5"), "--lines: instead of --form"),
        (("--lines", "5,x"), "no form"),
        (("--tone", "hard"), "--rhyme and --tone are for a form"),
        (("--form", "五绝", "--tone", "loud"), "--tone"),
        (("--form", "五绝", "--rhyme", "哈"), "no rhyme class"),
        (("--form", "五绝", "--stop", "。"), "--stop: not with a form"),
        (("--form", "五绝", "--max-tokens", "9"), "--max-tokens: not with a form"),
        (("--form", "五绝", "--unknown", "drop"), "--unknown: not with a form"),
        (("--head", "天龘"), "never seen 龘"),
        (("--head", "abc"), "heads are 汉字"),
        (("--couplet", "天地", "--form", "五绝"), "leave out form"),
        (("--author", "李白"), "trained without headings"),
        (("天地玄黄日月", "--form", "五绝"), "more than 5 characters"),
    ],
)
def test_what_cannot_be_had_is_one_line(call: Call, words: tuple[str, ...], why: str) -> None:
    done = call("write", "run", *words)
    assert done.code == 2
    assert why in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""
