"""``compare``: models of every kind on the same documents, by the character."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from mingyue.cli.columns import print_columns
from mingyue.cli.screen import console
from tests.cli.conftest import Call
from tests.cli.test_next import KINDS

BLANK = ("--documents", "blank")
TEXT = ("poems.txt", *BLANK)


@pytest.fixture
def train(call: Call, tmp_path: Path):
    """Trains a small run and gives its folder."""

    def made(name: str, *words: str, text: tuple[str, ...] = TEXT) -> str:
        folder = str(tmp_path / name)
        done = call("train", *text, "--out", folder, *words)
        assert done.code == 0, done.err
        return folder

    return made


@pytest.fixture
def runs(train: Any) -> list[str]:
    return [train(kind, *KINDS[kind]) for kind in ("gpt", "lstm", "gru", "ngram")]


def _json(call: Call, *words: str) -> dict[str, Any]:
    done = call("compare", *words, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_every_kind_as_eval_measures_it(call: Call, runs: list[str]):
    found = _json(call, *runs)
    assert [run["kind"] for run in found["runs"]] == ["gpt", "lstm", "gru", "ngram"]
    assert found["notes"] == [] and found["real"] is None
    for folder, run in zip(runs, found["runs"], strict=True):
        alone = json.loads(call("eval", folder, "--json").out)
        for name in ("nats_per_token", "bits_per_character", "perplexity", "n_documents"):
            assert run[name] == pytest.approx(alone[name])
        assert run["nats_per_character"] == pytest.approx(math.log(2) * run["bits_per_character"])
        known = json.loads(call("info", folder, "--json").out)
        assert run["parameters"] == known["parameters"]
        assert run["seconds"] == known["result"]["seconds"]
        if run["kind"] != "ngram" or run["seconds"]:  # it may be counted in no time
            assert run["tokens_per_second"] > 0
        assert run["sample"]


def test_the_table_names_each_run(call: Call, runs: list[str]):
    done = call("compare", *runs)
    assert done.code == 0, done.err
    rows = done.out.splitlines()
    assert rows[0].split() == ["gpt", "lstm", "gru", "ngram"]
    assert rows[1].split() == ["kind", "GPT", "LSTM", "GRU", "2-gram"]
    assert "  gpt: " in done.out and "on 4 documents" in done.out


def test_verse_beside_real_poems(call: Call, runs: list[str]):
    words = ("--verse", "--n", "5")
    found = _json(call, *runs, *words)
    alone = json.loads(call("eval", runs[0], *words, "--json").out)
    for name in ("n", "form", "even", "rhyme", "repeated", "copied", "longest", "runs"):
        assert found["runs"][0]["verse"][name] == alone["model"][name]
        assert found["real"][name] == alone["real"][name]
    assert len({run["verse"]["characters"] for run in found["runs"]} - {0}) == 1
    table = call("compare", *runs, *words).out.splitlines()
    assert table[0].endswith("real poems") and any("lines copied" in row for row in table)


def test_other_tokens_are_compared_by_the_character(call: Call, train: Any):
    runs = [train("char", *KINDS["ngram"]), train("byte", *KINDS["ngram"], "--tokenizer", "byte")]
    char, byte = _json(call, *runs)["runs"]
    assert char["n_documents"] == byte["n_documents"]
    assert char["n_characters"] == byte["n_characters"] < byte["n_tokens"]
    for run in (char, byte):
        nats = run["nats_per_token"] * run["n_tokens"] / run["n_characters"]
        assert run["nats_per_character"] == pytest.approx(nats)


def test_only_what_all_held_out_counts(call: Call, train: Any):
    few = train("few", *KINDS["ngram"])
    many = train("many", *KINDS["ngram"], "--val-fraction", "0.4")
    found = _json(call, few, many)
    assert [run["n_documents"] for run in found["runs"]] == [4, 4]  # the four of the smaller share
    assert len(found["notes"]) == 1 and "4 that all of them held out" in found["notes"][0]
    alone = json.loads(call("eval", few, "--json").out)
    assert found["runs"][0]["nats_per_token"] == pytest.approx(alone["nats_per_token"])


def test_where_nothing_is_common_a_text_has_to_be_named(call: Call, train: Any, tmp_path: Path):
    other = tmp_path / "other.txt"
    lines = [f"{a}{b}雨露結爲霜，寒來暑往秋收冬。" for a in "天地玄黃宇宙" for b in "日月盈昃辰宿"]
    other.write_text("\n\n".join(lines), encoding="utf-8")
    runs = [
        train("here", *KINDS["ngram"]),
        train("there", *KINDS["ngram"], text=(str(other), *BLANK)),
    ]
    refused = call("compare", *runs)
    assert refused.code == 2 and "--on" in refused.err and refused.err.count("\n") == 1
    found = _json(call, *runs, "--on", str(other), *BLANK)
    assert [run["n_documents"] for run in found["runs"]] == [36, 36]
    assert len(found["notes"]) == 1 and "unknown to here" in found["notes"][0]


@pytest.mark.parametrize("kind", ["word2vec", "both sides"])
def test_what_predicts_no_next_token_is_refused(call: Call, trained: Path, train: Any, kind: str):
    vectors = train("vectors", *KINDS[kind])
    done = call("compare", str(trained), vectors)
    assert done.code == 2 and vectors in done.err and "next-token loss" in done.err
    assert done.err.count("\n") == 1 and done.out == ""


@pytest.mark.parametrize("suffix", ["svg", "png", "html"])
def test_a_figure(call: Call, runs: list[str], tmp_path: Path, suffix: str):
    path = tmp_path / f"compared.{suffix}"
    done = call("compare", *runs[:1], runs[3], "--figure", str(path))
    assert done.code == 0 and str(path) in done.out.replace("\n", "")
    drawn = path.read_bytes()
    if suffix == "png":
        assert drawn.startswith(b"\x89PNG")
        return
    words = drawn.decode()
    for word in ("gpt", "ngram", "bits per character", "minutes"):
        assert word in words
    assert ("每字比特数" in words) == (suffix == "html")  # a page is in both languages


def test_curves_are_the_losses_of_the_log(call: Call, runs: list[str], tmp_path: Path):
    from mingyue.cli.compared import measured, opened
    from mingyue.cli.comparison import exhibit
    from mingyue.explain.panels import Bars, Curves

    def silent(_doing: str, _part: float) -> None: ...

    ready = measured(opened([runs[0], runs[3]], None, {}, silent)[0], None, silent)
    curves, bars = exhibit(ready, None, None, []).panels[:2]
    assert isinstance(curves, Curves) and isinstance(bars, Bars)
    for run, value in zip(ready, bars.values, strict=True):
        assert run.loss is not None and value == run.loss.bits_per_character
        line = curves.lines[run.name]
        for look in run.looks:
            at = (abs(curves.x - look["seconds"] / 60)).argmin()
            nats = line[at] / run.loss.bits_per_character * run.loss.nats_per_token
            assert nats == pytest.approx(look["val_loss"])
    assert len(ready[1].looks) == 1 and curves.lines["ngram"][-1] > 0  # level to the end


def test_runs_without_a_log_are_drawn_as_bars(call: Call, runs: list[str], tmp_path: Path):
    for folder in runs[:2]:
        (Path(folder) / "log.jsonl").unlink()
    path = tmp_path / "compared.svg"
    done = call("compare", *runs[:2], "--figure", str(path))
    assert done.code == 0, done.err
    assert "minutes" not in path.read_text(encoding="utf-8")
    speeds = next(row for row in done.out.splitlines() if row.startswith("tokens a second"))
    assert speeds.split()[-2:] == ["–", "–"]


def test_ctrl_c_shows_those_that_are_ready(
    call: Call, runs: list[str], monkeypatch: pytest.MonkeyPatch
):
    from mingyue.cli import poems

    write, calls = poems.write, []

    def stopped(*words: Any) -> list[str]:
        calls.append(words)
        if len(calls) > 2:
            raise KeyboardInterrupt
        return write(*words)

    monkeypatch.setattr(poems, "write", stopped)
    done = call("compare", *runs)
    assert done.code == 130 and done.out.splitlines()[0].split() == ["gpt", "lstm"]
    done = call("compare", *runs)
    assert (done.code, done.out) == (130, "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "RUN"),
        (["run"], "two runs"),
        (["run", "run"], "once"),
        (["run", "nowhere"], "nowhere"),
        (["run", "other", "--figure", "a.pdf"], "a.pdf"),
        (["run", "other", "--form", "七绝"], "--verse"),
        (["run", "other", "--encoding", "utf-8"], "--on"),
        (["run", "other", "--dark"], "--figure"),
    ],
)
def test_mistakes_are_one_line(call: Call, trained: Path, words: list[str], said: str):
    done = call("compare", *words)
    assert done.code == 2 and said in done.err and done.err.count("\n") == 1
    assert "Traceback" not in done.err and done.out == ""


def test_two_of_the_same_name_are_told_apart(call: Call, train: Any):
    runs = [train("a/run", *KINDS["ngram"]), train("b/run", *KINDS["ngram"])]
    assert call("compare", *runs).out.splitlines()[0].split() == runs


def test_columns_that_do_not_fit_stand_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    titles, rows = ["a" * 20, "月" * 10, "c"], [("名", ["1", "2", "3"]), ("name", ["4", "5", "6"])]
    print_columns(console(), titles, rows)
    whole = capsys.readouterr().out.splitlines()
    assert len(whole) == 3 and len(whole[0]) + whole[0].count("月") == 4 + 22 + 22 + 3
    monkeypatch.setenv("COLUMNS", "30")
    monkeypatch.setattr("mingyue.cli.screen.is_terminal", lambda **_: True)
    print_columns(console(), titles, rows)
    parts = capsys.readouterr().out.split("\n\n")
    assert [part.split()[0] for part in parts] == ["a" * 20, "月" * 10]
    assert [part.splitlines()[2].split() for part in parts] == [["name", "4"], ["name", "5", "6"]]
