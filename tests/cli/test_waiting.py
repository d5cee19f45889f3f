"""What is said while something takes its time, where a terminal is and where none is."""

import io

import pytest
from rich.console import Console

from mingyue.cli import waiting
from mingyue.cli.waiting import Waiting
from mingyue.explain.progress import heard_by, told


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(waiting, "time", clock)
    return clock


def test_where_nobody_looks_there_is_a_line_now_and_then(
    clock: Clock, capsys: pytest.CaptureFixture[str]
):
    with Waiting() as shown, heard_by(shown.phase):
        for _ in told(range(60), "counting \x1b[2J"):
            clock.now += 1.0
    said = capsys.readouterr()
    assert not said.out
    lines = said.err.splitlines()
    assert len(lines) == 5  # in 60 seconds, and none at the end
    assert lines[0] == "17% · 0:50 left · counting ␛[2J"
    assert lines[-1].startswith("83% · 0:10 left")


def test_what_is_quick_says_nothing(clock: Clock, capsys: pytest.CaptureFixture[str]):
    with Waiting() as shown:
        for part in range(9):
            clock.now += 1.0
            shown.phase("reading", part / 9)
    assert capsys.readouterr() == ("", "")


def test_the_rest_is_estimated_for_each_thing_that_is_done(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(waiting, "EVERY", 0.0)
    lines: list[str] = []
    with Waiting() as shown:
        monkeypatch.setattr(shown._err, "print", lines.append)
        shown.phase("reading", 0.0)
        clock.now += 30
        shown.phase("reading", 0.5)
        shown.phase("training", 0.0)
        clock.now += 1
        shown.phase("training", 0.1)
        clock.now += 1
        shown.phase("training", 0.2, "2/9 mask")
    assert lines == [
        *("reading", "50% · 0:30 left · reading", "training"),
        *("10% · training", "20% · 0:08 left · 2/9 mask"),
    ]


def test_a_terminal_has_a_bar_instead_of_lines(clock: Clock, monkeypatch: pytest.MonkeyPatch):
    written = io.StringIO()
    terminal = Console(file=written, force_terminal=True, width=60, _environ={"TERM": "xterm"})
    monkeypatch.setattr(waiting, "console", lambda **_: terminal)
    monkeypatch.setattr(waiting, "is_live", lambda *_, **__: True)
    with Waiting() as shown:
        shown.phase("reading", 0.0)
        clock.now += 30
        shown.phase("reading", 0.5)
        shown._bar.refresh()
    assert "50% · 0:30 left · reading" in written.getvalue()
