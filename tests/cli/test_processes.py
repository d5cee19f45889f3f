"""What only a process of its own shows: signals, closed pipes, encodings, environments."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mingyue
from tests.cli.conftest import TINY, Call

MINGYUE = [sys.executable, "-m", "mingyue"]
ENDLESS = [*TINY[: TINY.index("--steps")], "--steps", "1000000"]


@pytest.fixture
def surroundings(cache: Path, texts: Path) -> dict:
    kept = {k: v for k, v in os.environ.items() if k not in ("LANG", "LC_ALL", "LC_MESSAGES")}
    environment = {**kept, "MINGYUE_CACHE": str(cache), "LC_ALL": "C.UTF-8"}
    environment["PYTHONPATH"] = str(Path(mingyue.__file__).parents[1])
    return {"cwd": texts, "env": environment}


@pytest.mark.slow
def test_ctrl_c_saves_and_ends_with_130(surroundings: dict, texts: Path):
    command = [*MINGYUE, "train", "poems.txt", "--documents", "blank", "--out", "cut", *ENDLESS]
    running = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", **surroundings
    )
    try:
        log = texts / "cut" / "log.jsonl"
        deadline = time.monotonic() + 120
        while not (log.exists() and log.stat().st_size) and time.monotonic() < deadline:
            assert running.poll() is None, running.communicate()
            time.sleep(0.1)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=120)
    finally:
        running.kill()
    assert running.returncode == 130
    assert not err
    assert "--resume" in out
    assert (texts / "cut" / "model.safetensors").is_file()
    assert (texts / "cut" / "checkpoints" / "last").is_file()


def test_ctrl_c_elsewhere_is_quiet(call: Call, trained: Path, monkeypatch: pytest.MonkeyPatch):
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mingyue.cli.write._from_input", interrupted)
    assert call("write", "run", "-") == (130, "", "")
    monkeypatch.setattr("mingyue.generation.writer.Writer.stream", interrupted)
    assert call("write", "run") == (130, "", "")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="no such pipes")
def test_a_reader_that_goes_away_is_no_error(surroundings: dict, trained: Path):
    for words in (["train", "--help"], ["info", str(trained)], ["data", "poems.txt"]):
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [*MINGYUE, *words], stdout=writing, stderr=subprocess.PIPE, **surroundings
        )
        os.close(writing)
        assert done.stderr == b""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_said_in_one_line(surroundings: dict, trained: Path, unbuffered: str):
    environment = {**surroundings["env"], "PYTHONUNBUFFERED": unbuffered}
    written = ["write", str(trained), "天", "--max-tokens", "3"]
    commands = [written, [*written, "--n", "2"], ["info", str(trained)], ["--help"]]
    for words in commands:
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run(
                [*MINGYUE, *words],
                stdout=full,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                cwd=surroundings["cwd"],
                env=environment,
            )
        assert done.returncode == 2, done.stderr
        assert "the output cannot be written: " in done.stderr
        assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
        assert done.stderr.splitlines()[-1].startswith("mingyue: ")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_a_full_disk_for_both_streams_leaves_the_exit_code(surroundings: dict, trained: Path):
    for words in (["info", str(trained)], ["info", "nowhere"]):
        with Path("/dev/full").open("wb") as full:
            done = subprocess.run([*MINGYUE, *words], stdout=full, stderr=full, **surroundings)
        assert done.returncode == 2


def test_an_error_of_another_file_is_not_laid_on_the_output(
    call: Call, trained: Path, monkeypatch: pytest.MonkeyPatch
):
    def failing(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("mingyue.cli.write._from_input", failing)
    with pytest.raises(OSError, match="Input/output"):
        call("write", "run", "-")


@pytest.mark.slow
def test_any_locale_prints(surroundings: dict, trained: Path):
    for locale in ("C", "POSIX", "en_US.ISO-8859-1", "zh_CN.GB18030"):
        environment = {**surroundings["env"], "LC_ALL": locale, "PYTHONUTF8": "0"}
        environment["PYTHONIOENCODING"] = "ascii" if locale == "C" else ""
        done = subprocess.run(
            [*MINGYUE, "write", str(trained), "--seed", "1", "--max-tokens", "3"],
            capture_output=True,
            cwd=surroundings["cwd"],
            env=environment,
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="uses a pseudo-terminal")
@pytest.mark.parametrize(
    ("more", "colour", "cursor"),
    [({}, True, True), ({"NO_COLOR": "1"}, False, True), ({"TERM": "dumb"}, False, False)],
    ids=["colour", "NO_COLOR", "dumb"],
)
def test_a_terminal_gets_colours_and_a_bar_unless_it_must_not(
    surroundings: dict, tmp_path: Path, more: dict, colour: bool, cursor: bool
):
    import pty
    import re

    environment = {**surroundings["env"], "TERM": "xterm-256color", "COLUMNS": "80", **more}
    command = [*MINGYUE, "train", "poems.txt", "--documents", "blank", *TINY]
    command += ["--out", str(tmp_path / "run")]
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        cwd=surroundings["cwd"],
        env=environment,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert running.wait(timeout=60) == 0
    text = seen.decode("utf-8")
    assert bool(re.search(r"\x1b\[[0-9;]*3[0-9][0-9;]*m", text)) is colour
    assert ("\x1b[2K" in text) is cursor
    assert "mingyue write" in text


def test_importing_the_command_line_is_light():
    program = "import sys, mingyue.cli.main; print('torch' in sys.modules, 'rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.split() == ["False", "False"]
