"""``eval --verse``: the same figures for the model's poems and for those it has not seen."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mingyue.data import prepare
from mingyue.evaluation.documents import texts as texts_of
from mingyue.evaluation.verse import beside
from mingyue.generation.writer import Writer
from mingyue.text.corpus import open_corpus
from mingyue.text.verse import Form, lines_of
from tests.cli.conftest import TINY, Call

BLANK = ("--documents", "blank")
FIGURES = {"form", "even", "rhyme", "loose", "strict", "repeated", "distinct_1", "distinct_2"}
FIGURES |= {"copied", "longest"}


def test_the_figures_are_those_of_the_poems(call: Call, trained: Path, texts: Path):
    found = json.loads(call("eval", "run", "--verse", "--n", "9", "--seed", "3", "--json").out)
    written = call("write", "run", "--n", "9", "--seed", "3", "--max-tokens", "210", "--json").out
    poems = [json.loads(line)["text"] for line in written.splitlines()]
    data = prepare(open_corpus("poems.txt", documents="blank"), None)
    real, learned = (list(texts_of(part, data.tokenizer)) for part in (data.val, data.train))
    assert found["real"]["n"] == len(real) and found["model"]["n"] == 9
    (alone,) = beside([poems])
    for name in ("form", "even", "repeated"):
        assert found["model"][name]["value"] == getattr(alone, name).value
    known = {line for text in learned for line in lines_of(text)}
    lines = [line for text in real for line in lines_of(text) if len(line) >= 5]
    copied = sum(line in known for line in lines) / len(lines)
    assert found["real"]["copied"]["value"] == pytest.approx(copied)
    assert sum(found["model"]["runs"].values()) == 9
    assert found["real"]["even"]["value"] == 1
    assert found["model"]["characters"] == found["real"]["characters"] > 0


def test_a_seed_gives_the_same_poems(call: Call, trained: Path):
    words = ("eval", "run", "--verse", "--n", "5", "--json")
    first = call(*words).out
    assert call(*words, "--seed", "0").out == first != call(*words, "--seed", "1").out


def test_the_table_has_every_figure(call: Call, trained: Path):
    done = call("eval", "run", "--verse", "--n", "4")
    assert done.code == 0, done.err
    rows = done.out.splitlines()
    assert rows[0].split() == ["the", "model", "real", "poems", "lines", "dealt"]
    assert len([row for row in rows if "±" in row or "–" in row]) >= len(FIGURES)
    assert "standard error" in done.out and "poems.txt" in done.out
    chinese = call("--lang", "zh", "eval", "run", "--verse", "--n", "4").out
    assert "真诗" in chinese and "合宽律" in chinese


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The prompts that the writer gets."""
    heard: list[Any] = []
    samples = Writer.samples

    def listen(self: Writer, prompt: str, **how: Any) -> Any:
        heard.append(prompt)
        return samples(self, prompt, **how)

    monkeypatch.setattr(Writer, "samples", listen)
    return heard


def test_a_form_is_asked_for_in_a_heading(call: Call, asked: list[Any], tmp_path: Path):
    folder = str(tmp_path / "headed")
    done = call("train", "poems.txt", *BLANK, "--headings", "--out", folder, *TINY)
    assert done.code == 0, done.err
    asked.clear()
    for form, prompt in (("wujue", "〔五绝〕"), ("5,5,5,5", ""), (None, "")):
        words = ["--form", form] if form else []
        done = call("eval", folder, "--verse", "--n", "3", *words, "--json")
        assert done.code == 0, done.err
        assert asked.pop() == prompt
        found = json.loads(done.out)
        assert found["real"]["form"]["value"] == 1 and found["real"]["n"] == 4


def test_without_headings_it_is_not(call: Call, trained: Path, asked: list[Any]):
    found = json.loads(call("eval", "run", "--verse", "--n", "3", "--form", "七绝", "--json").out)
    assert asked == [""]
    assert (found["form"], found["real"]["n"]) == ("七绝", 0)  # all real ones are 五绝
    assert found["real"]["rhyme"] == {"value": None, "error": None, "n": 0}


def test_held_to_the_form_all_have_it(call: Call, trained: Path):
    words = ("--verse", "--n", "3", "--form", "五绝", "--tone", "free", "--json")
    done = call("eval", "run", *words)
    assert done.code == 0, done.err
    found = json.loads(done.out)["model"]
    assert found["form"]["value"] == found["rhyme"]["value"] == 1


def test_ctrl_c_gives_what_is_there(call: Call, trained: Path, monkeypatch: pytest.MonkeyPatch):
    samples = Writer.samples

    def stopped(self: Writer, *prompt: str, **how: Any) -> Iterator[Any]:
        for i, poem in enumerate(samples(self, *prompt, **how)):
            if i == 4:
                raise KeyboardInterrupt
            yield replace(poem, text="天地玄黃，宇宙洪荒。")

    monkeypatch.setattr(Writer, "samples", stopped)
    done = call("eval", "run", "--verse", "--n", "8")
    assert done.code == 130 and "stopped after 4 of 8 poems" in done.out
    monkeypatch.setattr(Writer, "samples", lambda *_, **__: _interrupt())
    done = call("eval", "run", "--verse", "--n", "8")
    assert (done.code, done.out) == (130, "")


def _interrupt() -> Iterator[Any]:
    raise KeyboardInterrupt
    yield


def test_on_another_text_where_nobody_knows_what_was_learned(
    call: Call, trained: Path, tmp_path: Path
):
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    alone = call("eval", str(tmp_path), "--verse")
    assert alone.code == 2 and "--on" in alone.err and alone.err.count("\n") == 1
    words = ("--verse", "--n", "3", "--on", "poems.txt", *BLANK)
    found = json.loads(call("eval", str(tmp_path), *words, "--json").out)
    assert found["real"]["n"] == 80 and found["real"]["copied"]["value"] is None
    own = json.loads(call("eval", "run", *words, "--json").out)  # 76 of the 80 were learned
    assert own["real"]["copied"]["value"] > 0.9


def test_with_nothing_held_out_the_model_stands_alone(call: Call, tmp_path: Path):
    folder = str(tmp_path / "run")
    words = ("poems.txt", *BLANK, "--model", "ngram", "--val-fraction", "0", "--out", folder)
    assert call("train", *words).code == 0
    done = call("eval", folder, "--verse", "--n", "3")
    assert done.code == 0 and done.out.splitlines()[0].strip() == "the model"
    assert "no held-out texts" in done.out and "dealt" not in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--n", "5"], "--n"),
        (["--form", "七绝"], "--verse"),
        (["--verse", "--form", "八绝"], "八绝"),
        (["--verse", "--tone", "hard"], "--form"),
        (["--verse", "--stride", "4"], "--stride"),
        (["--verse", "--n", "0"], "--n"),
        (["--verse", "--documents", "blank"], "--on"),
    ],
)
def test_what_does_not_go_together_is_one_line(
    call: Call, trained: Path, words: list[str], said: str
):
    done = call("eval", "run", *words)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
    assert "Traceback" not in done.err and done.out == ""


def test_forms_go_by_any_name(call: Call, trained: Path):
    found = json.loads(call("eval", "run", "--verse", "--n", "2", "--form", "wujue", "--json").out)
    assert found["form"] == "五绝" == Form.parse("五絕").name
