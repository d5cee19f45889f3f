"""``mingyue explain all``: what is on the page, what is left out, and what ends it early."""

import json
import re
import shutil
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from mingyue.cli import waiting
from mingyue.explain import catalogue
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.progress import tell
from mingyue.explain.subject import Subject
from tests.cli.conftest import Call
from tests.cli.probing import ProbeKnobs, definition, probe_of


def test_what_takes_long_is_computed_once_for_both_languages(
    call: Call, trained: Path, drawn: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    counted: list[Subject] = []

    def show(subject: Subject, knobs: ProbeKnobs) -> Exhibit:
        subject.once(counted.append)
        return probe_of(subject, knobs)

    monkeypatch.setattr(catalogue, "all_exhibits", lambda: [definition(show=show)])
    done = call("explain", "all", str(trained), "--out", str(tmp_path / "report.html"))
    assert done.code == 0 and set(drawn[0][0]) == {"en", "zh"}
    assert len(counted) == 1


def test_all_exhibits_in_both_languages(
    call: Call, trained: Path, probe: None, drawn: list[Any], tmp_path: Path
):
    path = tmp_path / "report.html"
    done = call("explain", "all", str(trained), "--out", str(path))
    assert done.code == 0 and path.exists()
    ((pages, _),) = drawn
    assert set(pages) == {"en", "zh"}
    assert [len(exhibits) for exhibits in pages.values()] == [2, 2]
    assert (
        "文字：天地玄黄" in pages["zh"][0].notes[0] and "text: 天地玄黄" in pages["en"][0].notes[0]
    )
    rows = json.loads(call("explain", "all", str(trained), "--json").out)
    assert len(rows) == 2


def test_what_cannot_be_shown_is_left_out_with_its_reason(
    call: Call, trained: Path, probe: None, drawn: list[Any], tmp_path: Path
):
    about = json.loads((trained / "mingyue.json").read_text(encoding="utf-8"))
    about["recipe"]["source"] = "gone.txt"
    run, path = tmp_path / "moved", str(tmp_path / "report.html")
    shutil.copytree(trained, run)
    (run / "mingyue.json").write_text(json.dumps(about), encoding="utf-8")
    done = call("explain", "all", str(run), "--out", path)
    assert done.code == 0 and done.err.count("\n") == 1
    assert done.err.startswith("corpus is left out: ") and "gone.txt" in done.err
    assert [len(exhibits) for exhibits in drawn[0][0].values()] == [1, 1]
    done = call("explain", "all", str(run), "catfish", "--out", path)
    assert done.code == 2 and "catfish" in done.err and done.err.count("\n") == 1


def test_a_source_that_was_named_must_be_there(
    call: Call, trained: Path, probe: None, drawn: list[Any], tmp_path: Path
):
    words = ["explain", "all", str(trained), "--out", str(tmp_path / "report.html")]
    done = call(*words, "--on", "nowhere.txt")
    assert done.code == 2 and "nowhere.txt" in done.err and done.err.count("\n") == 1
    assert not drawn


def test_it_says_which_of_how_many_and_how_long_the_rest_takes(
    call: Call, trained: Path, drawn: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A clock that moves 6 seconds whenever it is read, so that every other phase is a line."""
    seconds = count(step=6.0)
    monkeypatch.setattr(waiting.time, "monotonic", lambda: next(seconds))

    def show(subject: Subject, knobs: ProbeKnobs) -> Exhibit:
        for part in (0.25, 0.75, 0.0):  # the last is of another thing that it does
            tell("probing", part)
        return probe_of(subject, knobs)

    three = [definition(name=name, show=show) for name in ("length", "one", "two")]
    monkeypatch.setattr(catalogue, "all_exhibits", lambda: three)
    done = call(
        "explain", "all", str(trained), "--out", str(tmp_path / "report.html"), "--lang", "zh"
    )
    assert done.code == 0
    lines = done.err.splitlines()
    numbers = [
        re.fullmatch(r"(?:(\d+)% · )?(?:还剩 ([\d:]+) · )?([123])/3 Probe", line) for line in lines
    ]
    assert all(numbers), lines
    shares, which = [[int(n[i] or 0) for n in numbers if n] for i in (1, 3)]
    assert shares == sorted(shares) and which == sorted(which) and set(which) == {1, 2, 3}
    assert 22 in shares or 66 in shares  # of 14 + 1 + 1: a part of the long one counts
    assert all(n[2] for n in numbers if n and n[1])


@pytest.mark.parametrize("target", [["--json"], ["--out", "report.html"]])
def test_ctrl_c_leaves_one_line_and_no_file(
    call: Call, trained: Path, texts: Path, monkeypatch: pytest.MonkeyPatch, target: list[str]
):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    late = [definition(), definition(name="late", show=interrupted)]
    monkeypatch.setattr(catalogue, "all_exhibits", lambda: late)
    before = sorted(texts.iterdir())
    done = call("explain", "all", str(trained), *target)
    assert (done.code, done.out, done.err) == (130, "", "stopped before it was ready\n")
    assert sorted(texts.iterdir()) == before
