"""``mingyue explain``: the list, an exhibit, its knobs and pages, files, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from mingyue.explain import catalogue
from tests.cli.conftest import Call
from tests.cli.probing import definition


def test_the_list_names_every_exhibit(call: Call):
    done = call("explain")
    assert done.code == 0 and not done.err
    lines = {line.split()[0]: line for line in done.out.splitlines() if line}
    for each in catalogue.all_exhibits():
        assert each.brief() in lines[each.name] and each.spec not in lines[each.name]
    listed = json.loads(call("explain", "--json").out)
    assert [row["name"] for row in listed] == catalogue.names()


@pytest.mark.parametrize("words", [["--help"], ["-h"], []])
def test_an_exhibit_tells_its_knobs_and_texts(call: Call, probe: None, words: list[str]):
    done = call("explain", "probe", *words)
    assert done.code == 0 and not done.err
    assert "--query N" in done.out and "whose question (≥ 0, ≤ 9) [0]" in done.out
    assert "--words TEXT,…" in done.out and "猫喜欢吃鱼" in done.out
    told = json.loads(call("explain", "probe", "--json").out)
    assert told["knobs"]["query"]["maximum"] == 9


def test_knobs_are_told_in_chinese(call: Call):
    done = call("explain", "heads", "--lang", "zh")
    assert "--start N" in done.out and "从第几个 token 画起" in done.out
    assert "drawn" not in done.out
    told = json.loads(call("explain", "heads", "--lang", "zh", "--json").out)
    assert told["knobs"]["start"]["description"] == "从第几个 token 画起"


def test_an_exhibit_in_a_pipe(call: Call, trained: Path):
    done = call("explain", "pairs", str(trained), "天地玄黄")
    assert done.code == 0 and not done.err
    assert done.out.startswith("Pairs: ") and "✓ Y is X moved by one token" in done.out
    assert "\x1b" not in done.out and "天" in done.out
    assert "give another" not in done.out
    chinese = call("explain", "pairs", str(trained), "天地玄黄", "--lang", "zh")
    assert chinese.out.startswith("错位时空")


def test_knobs_as_options_of_their_own(call: Call, trained: Path, probe: None):
    run = str(trained)
    assert "query 0 words" in call("explain", "probe", run).out
    for words in (["--query", "3"], ["--query=3"], ["--set", "query=3"]):
        assert "query 3 words" in call("explain", "probe", *words, run).out
        assert "query 3 words" in call("explain", "probe", run, "天", *words).out
    assert "words a/b corpus" in call("explain", "probe", run, "--words", "a,b").out


def test_pages_are_turned(call: Call, trained: Path, probe: None):
    run = str(trained)
    assert "layer 0 · head 0" in call("explain", "probe", run).out
    done = call("explain", "probe", run, "--layer", "2", "--head", "1")
    assert "layer 2 · head 1" in done.out and "--layer 0 … 3" in done.out
    turned = json.loads(call("explain", "probe", run, "--layer", "3", "--json").out)
    assert turned["panels"][0]["page"] == [3, 0]


def test_the_text_is_the_first_that_the_model_can_read(call: Call, trained: Path, probe: None):
    done = call("explain", "probe", str(trained))
    assert "text: 天地玄黄" in done.out
    assert "texts that this model cannot read: 猫喜欢吃鱼" in done.out
    told = json.loads(call("explain", "probe", str(trained), "--json").out)
    assert told["text"] == "天地玄黄" and told["run"] == str(trained)


def test_the_corpus_is_read_where_it_is_needed(call: Call, trained: Path, probe: None):
    run = str(trained)
    assert "corpus False" in call("explain", "probe", run).out
    assert "corpus True" in call("explain", "corpus", run).out
    assert "corpus True" in call("explain", "corpus", run, "--on", "poems.txt").out
    assert "nowhere" in call("explain", "corpus", run, "--on", "nowhere.txt").err


def test_a_corpus_that_would_only_be_better(
    call: Call, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """It is used where it is at hand; one that was asked for must be there."""
    one, run = definition(needs_dataset="if at hand"), str(trained)
    monkeypatch.setattr(catalogue, "all_exhibits", lambda: [one])
    assert "corpus True" in call("explain", "probe", run).out
    assert "nowhere" in call("explain", "probe", run, "--on", "nowhere.txt").err
    about = json.loads((trained / "mingyue.json").read_text(encoding="utf-8"))
    about["recipe"]["source"] = "gone.txt"
    moved = tmp_path / "moved"
    shutil.copytree(trained, moved)
    (moved / "mingyue.json").write_text(json.dumps(about), encoding="utf-8")
    assert "corpus False" in call("explain", "probe", str(moved)).out


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_figures(
    call: Call, trained: Path, probe: None, drawn: list[Any], tmp_path: Path, suffix: str
):
    path = tmp_path / f"月.{suffix}"
    path.write_text("before", encoding="utf-8")
    dark = ["--dark"] if suffix == "png" else []
    done = call("explain", "probe", str(trained), "--figure", str(path), "--layer", "1", *dark)
    assert done.code == 0 and str(path) in done.out and done.out.count("\n") == 1
    assert path.read_text(encoding="utf-8") == "drawn"
    what, said = drawn[0]
    assert said == ({} if suffix == "html" else {"dark": suffix == "png"})
    exhibit = what["en"][0] if suffix == "html" else what
    assert exhibit.title == "Probe" and list(exhibit.panels[0].page) == [1, 0]


WRONG = [
    (["piars"], "pairs"),
    (["nowhere"], "pairs"),
    (["piars", "--help"], "pairs"),
    (["pairs", "nowhere"], "nowhere"),
    (["pairs", "RUN", "Catfish"], "Catfish"),
    (["pairs", "RUN", "天", "地"], "地"),
    (["pairs", "--json", "--figure", "x.svg"], "RUN"),
    (["pairs", "--query", "3"], "RUN"),
    (["--query", "3"], "NAME"),
    (["all"], "RUN"),
    (["all", "RUN"], "--out"),
    (["all", "RUN", "--out", "x.svg"], ".html"),
    (["all", "RUN", "--figure", "x.html"], "--out"),
    (["all", "RUN", "--out", "x.html", "--query", "3"], "--query"),
    (["probe", "RUN", "--out", "x.html"], "--figure"),
    (["probe", "RUN", "--figure", "x.pdf"], ".svg"),
    (["probe", "RUN", "--figure", "nowhere/x.svg"], "nowhere"),
    (["probe", "RUN", "--figure"], "--figure"),
    (["probe", "RUN", "--dark"], "--figure"),
    (["probe", "RUN", "--query", "10"], "query"),
    (["probe", "RUN", "--query", "three"], "three"),
    (["probe", "RUN", "--query"], "query"),
    (["probe", "RUN", "--quest", "3"], "--query"),
    (["probe", "RUN", "--set", "query"], "--set"),
    (["probe", "RUN", "--set", "=3"], "--set"),
    (["probe", "RUN", "--layer", "4"], "0 … 3"),
    (["probe", "RUN", "--layer", ""], "0 … 3"),
    (["pairs", "RUN", "--layer", "0"], "--layer"),
    (["probe", "RUN", "-q", "3"], "-q"),
]


@pytest.mark.parametrize(("words", "named"), WRONG, ids=lambda v: " ".join(v) if v else "")
def test_what_is_wrong_is_said_in_one_line(
    call: Call,
    trained: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    named: str,
):
    both = [definition(), *catalogue.all_exhibits()]
    monkeypatch.setattr(catalogue, "all_exhibits", lambda: both)
    words = [str(trained) if word == "RUN" else word for word in words]
    for language in ("en", "zh"):
        done = call("explain", *words, "--lang", language)
        assert done.code == 2 and not done.out
        assert done.err.count("\n") == 1 and named in done.err
        assert done.err.startswith("mingyue: " if language == "en" else "明月：")


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_files_are_what_they_are_called(call: Call, trained: Path, tmp_path: Path, suffix: str):
    path = tmp_path / f"月.{suffix}"
    path.write_text("before", encoding="utf-8")
    done = call("explain", "pairs", str(trained), "天地玄黄", "--figure", str(path))
    assert done.code == 0, done.err
    begins = {"svg": b"<?xml", "png": b"\x89PNG", "html": b"<!doctype html>"}
    assert path.read_bytes().startswith(begins[suffix])
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    (tmp_path / f"folder.{suffix}").mkdir()
    done = call("explain", "pairs", str(trained), "天", "--figure", f"{tmp_path}/folder.{suffix}")
    assert done.code == 2 and done.err.count("\n") == 1
