"""Options of ``mingyue explain``: what is wrong with them is known before anything is computed."""

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from mingyue.cli import exhibits as listing
from mingyue.cli import looking
from mingyue.cli.main import main
from mingyue.explain import catalogue
from mingyue.explain.exhibit import Definition
from tests.cli.conftest import Call
from tests.cli.probing import definition
from tests.cli.test_next import KINDS


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch, probe: None) -> list[Any]:
    """What models were opened to be looked into."""
    seen: list[Any] = []
    monkeypatch.setattr(looking, "load", lambda *said, **_: seen.append(said))
    return seen


WRONG = [
    (["--foo", "1"], "--foo: probe has no such knob; there are --query, --words, --layer, --head"),
    (["--foo=1"], "--foo: probe"),
    (["--set", "foo=1"], "--set foo: probe"),
    (["--set=foo=1"], "--set foo: probe"),
    (["--set", "foo"], "--set: 'foo' does not fit"),
    (["--set", "--=1"], "--set: '--=1' does not fit"),
    (["--set", "query=ten"], "query: 'ten' does not fit"),
    (["--on", "nowhere.txt"], "--on: probe reads no other text"),
    (["--on", "poems.txt"], "--on: probe reads no other text"),
    (["--figure", "x.gif"], "x.gif: --figure writes .svg, .png, .html"),
    (["--figure", "x"], "x: --figure writes .svg, .png, .html"),
    (["--figure", "nowhere/x.svg"], "there is no folder nowhere"),
    (["--figure", "locked/x.html"], "locked may not be written into"),
    (["--figure", "folder.html"], "folder.html: is a folder"),
    (["--figure", "x.html", "--dark"], "--dark is for .svg and .png"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda v: " ".join(v) if v else "")
def test_a_mistake_is_known_before_anything_is_computed(
    call: Call,
    texts: Path,
    trained: Path,
    computed: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    said: str,
):
    for name in ("locked", "folder.html"):
        (texts / name).mkdir(exist_ok=True)
    usual = os.access  # root may write anywhere
    monkeypatch.setattr(
        os, "access", lambda path, mode: "locked" not in str(path) and usual(path, mode)
    )
    done = call("explain", "probe", str(trained), *words)
    assert done.code == 2 and not done.out
    assert said in done.err and done.err.count("\n") == 1
    assert not computed and not (texts / "x.html").exists()


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_what_draws_is_asked_for_first(
    call: Call, trained: Path, computed: list[Any], monkeypatch: pytest.MonkeyPatch, suffix: str
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = call("explain", "probe", str(trained), "--figure", f"x.{suffix}")
    assert done.code == 2 and "pip install 'mingyue[plots]'" in done.err and not computed


@pytest.mark.parametrize("each", catalogue.all_exhibits(), ids=lambda each: each.name)
def test_every_knob_and_page_is_told_and_taken(call: Call, each: Definition):
    told = call("explain", each.name, "--help").out
    taken = [*each.knobs.model_fields, *each.pages]
    for name in taken:
        assert re.search(rf"--{name.replace('_', '-')}\b", told)
    for name in each.pages:
        turns = {name: listing.Turn(f"--{name}", "0")}
        knobs, pages = listing.knobs_of(each, turns)
        assert (name in pages) != (name in type(knobs).model_fields)
    assert "mingyue explain --help" in told and "--figure" in told
    assert ("--on" in told) == bool(each.needs_dataset)


def test_examples_can_be_typed_as_they_stand(call: Call, monkeypatch: pytest.MonkeyPatch):
    text = 'It didn\'t "cost" $1; rm *'
    monkeypatch.setattr(catalogue, "all_exhibits", lambda: [definition(texts=(text,))])
    shown = call("explain", "probe", "--help").out.partition("Examples\n")[2].splitlines()[:2]
    assert [shlex.split(line) for line in shown] == [
        ["mingyue", "explain", "probe", "runs/tang"],
        ["mingyue", "explain", "probe", "runs/tang", text],
    ]


@pytest.mark.parametrize("kind", ["lstm", "gru", "ngram", "word2vec"])
def test_a_run_of_another_kind_is_refused_with_what_to_do(
    call: Call, texts: Path, tmp_path: Path, trained: Path, kind: str
):
    folder = tmp_path / f"my {kind}"
    words = ["poems.txt", "--documents", "blank", "--out", str(folder), *KINDS[kind]]
    assert call("train", *words).code == 0
    target = str(tmp_path / "x.html")
    for asked in (["pairs", "--json"], ["all", "--out", target], ["heads", "--scrub", "--json"]):
        done = call("explain", *asked, str(folder))
        assert done.code == 2 and done.err.count("\n") == 1 and not done.out
        assert f"{folder}: is a model of the kind {kind}" in done.err
        assert "mingyue train poems.txt makes one" in done.err
    beside = done.err.strip().partition("to compare the two: ")[2]
    assert bool(beside) == (kind != "ngram")
    if beside:
        program, *rest = shlex.split(beside.replace("GPT_RUN", shlex.quote(str(trained))))
        done = call(*rest, "天地玄黄", "--json")
        assert program == "mingyue" and done.code == 0, done.err


@pytest.mark.parametrize(
    "words", [[], ["probe", "--help"], ["probe", "RUN"], ["all", "RUN", "--json"]]
)
def test_a_reader_that_has_gone_is_no_failure(
    call: Call, trained: Path, probe: None, monkeypatch: pytest.MonkeyPatch, words: list[str]
):
    reads, writes = os.pipe()
    os.close(reads)
    with os.fdopen(writes, "w", encoding="utf-8") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert main(["explain", *(str(trained) if word == "RUN" else word for word in words)]) == 0
