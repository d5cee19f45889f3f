"""``mingyue write`` for many prompts, the best of several texts, and how likely each token was."""

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

import mingyue
from mingyue.cli.written import _table
from mingyue.generation.writer import load
from mingyue.generation.writing import Token
from tests.cli.conftest import Call

ASKED = ("--seed", "5", "--max-tokens", "12")


def objects(out: str) -> list[dict]:
    return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def prompts(texts: Path, trained: Path) -> Path:
    """Prompts of unequal length, as an editor on Windows would leave them."""
    path = texts / "prompts.txt"
    path.write_bytes("\ufeff天\r\n\r\n天地玄黄，\r\n   \r\n日月".encode())
    return path


def test_each_line_is_a_prompt(call: Call, prompts: Path):
    done = call("write", "run", "--prompts", "prompts.txt", "--n", "2", *ASKED, "--json")
    assert done.code == 0, done.err
    written = objects(done.out)
    assert [text["prompt"] for text in written[::2]] == ["天", "天地玄黄，", "日月"]
    for i in range(0, 6, 2):  # each as if there were no others
        alone = call("write", "run", written[i]["prompt"], "--n", "2", *ASKED, "--json")
        assert objects(alone.out) == written[i : i + 2]


def test_several_prompts_in_plain_text(call: Call, prompts: Path):
    asked = ("--prompts", "prompts.txt", "--n", "2", *ASKED)
    done = call("write", "run", *asked, "--layout", "plain")
    written = objects(call("write", "run", *asked, "--json").out)
    assert done.out == "\n\n".join(t["prompt"] + t["text"] for t in written) + "\n"


def test_what_was_done_to_a_prompt_is_said_once_for_each(call: Call, texts: Path, trained: Path):
    (texts / "two.txt").write_text("天,\n地,玄,\n", encoding="utf-8")
    done = call("write", "run", "--prompts", "two.txt", "--n", "3", *ASKED)
    assert done.err.count(",→，") == 2


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("天\n\n龘地\n".encode(), "wrong.txt, line 3: the model has never seen 龘"),
        ("天\n地\n".encode() + "春风".encode("gbk"), "wrong.txt, line 3: not text in UTF-8"),
        (b"\n  \n", "wrong.txt: there is no prompt"),
        (b"", "wrong.txt: there is no prompt"),
        (None, "wrong.txt: cannot be read"),
    ],
)
def test_prompts_that_cannot_be(call: Call, texts: Path, trained: Path, content, said):
    path = texts / "wrong.txt"
    path.unlink(missing_ok=True)
    if content is not None:
        path.write_bytes(content)
    done = call("write", "run", "--prompts", "wrong.txt")
    assert (done.code, done.out) == (2, "") and said in done.err and done.err.count("\n") == 1


def test_unknown_characters_of_a_file_may_be_dropped(call: Call, texts: Path, trained: Path):
    (texts / "strange.txt").write_text("天\n龘地\n", encoding="utf-8")
    asked = ("--prompts", "strange.txt", "--unknown", "drop", *ASKED, "--json")
    assert [t["prompt"] for t in objects(call("write", "run", *asked).out)] == ["天", "地"]


def test_a_prompt_and_a_file_of_prompts_are_one_too_many(call: Call, prompts: Path):
    for prompt in ("天", ""):
        done = call("write", "run", prompt, "--prompts", "prompts.txt")
        assert done.code == 2 and "--prompts" in done.err


def test_the_best_of_each_prompt_come_first(call: Call, prompts: Path):
    asked = ("--prompts", "prompts.txt", "--n", "5", *ASKED, "--json")
    plain, best = (objects(call("write", "run", *asked, *more).out) for more in ((), ("--best",)))
    for i in range(0, 15, 5):
        mean = [text["logprob"] for text in best[i : i + 5]]
        assert mean == sorted(mean, reverse=True) and len(set(mean)) == 5
        assert {t["seed"] for t in plain[i : i + 5]} == {t["seed"] for t in best[i : i + 5]}
    done = call("write", "run", "天", "--n", "3", "--best", *ASKED)
    said = [float(line.split()[-1].strip(")")) for line in done.err.splitlines() if "ln p" in line]
    assert len(said) == 3 and said == sorted(said, reverse=True)


def test_probabilities_in_json(call: Call, trained: Path):
    done = call("write", "run", "天", "--probabilities", "3", *ASKED, "--json")
    [text] = objects(done.out)
    tokens = text["tokens"]
    assert "".join(token["text"] for token in tokens).removesuffix("<|end|>") == text["text"]
    mean = sum(token["logprob"] for token in tokens) / len(tokens)
    assert math.isclose(mean, text["logprob"], rel_tol=1e-9)
    for token in tokens:
        values = [logprob for _, logprob in token["others"]]
        assert len(values) == 3 and values == sorted(values, reverse=True)
        assert token["logprob"] <= values[0] + 1e-6


def test_probabilities_as_a_table(call: Call, trained: Path):
    asked = ("write", "run", "天", "--probabilities", "3", *ASKED, "--layout", "plain")
    [text] = objects(call(*asked, "--json").out)
    whole, table = call(*asked).out.split("\n\n")
    assert whole == text["prompt"] + text["text"]
    lines = table.splitlines()
    assert len(lines) == 1 + len(text["tokens"])
    assert len({cell_len(line) for line in lines[1:]}) == 1
    for line, token in zip(lines[1:], text["tokens"], strict=True):
        names, shares = line.split()[::2], line.split()[1::2]
        texts = token["text"], *(other for other, _ in token["others"])
        assert names == [text.replace("\n", "↵") for text in texts]
        assert shares[0] == f"{math.exp(token['logprob']):.1%}"
    none = call(*asked[:3], "--probabilities", "0", *ASKED)
    assert "token" not in none.out and "ln p" in none.err


def shown(tokens: list[Token], width: int = 1000) -> list[str]:
    return [line.plain for line in _table(tokens, width)]


MIXED = [
    Token("明", math.log(0.5), (("a", math.log(0.25)), (" the", -20.0), ("明月", -1.0))),
    Token("\n", 0.0, (("\x1b", math.log(0.999)), ("é", -20.0), ("x", -30.0))),
    Token("<|end|>", -1.0, (("\t", -1.0), ("，", -1.0), ("🌙", -1.0))),
]


def test_columns_stand_under_each_other_whatever_the_script():
    header, *lines = shown(MIXED)
    assert len({cell_len(line) for line in lines}) == 1
    starts = [cell_len(lines[0][: lines[0].index("  a ") + 2])]
    assert all(line.count("%") == 4 for line in lines)
    for line, other in zip(lines, ("a", "␛", "⇥"), strict=True):
        assert cell_len(line[: line.index(f" {other} ") + 1]) == starts[0]
    assert header.startswith("token")
    assert lines[1].startswith("↵") and "100.0%" in lines[1] and "<0.1%" in lines[1]
    assert "␣the" in lines[0]


def test_fewer_alternatives_leave_their_columns_empty():
    few = [*MIXED, Token("地", 0.0, (("地", 0.0),))]
    lines = shown(few)
    assert len({cell_len(line) for line in lines[1:]}) == 1
    assert lines[-1].split() == ["地", "100.0%"] * 2


def test_a_narrow_terminal_has_fewer_columns(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("mingyue.cli.screen.is_terminal", lambda **_: True)
    for width in range(1, 80):
        lines = shown(MIXED, width)
        assert max(map(cell_len, lines)) <= max(width, 14)
        assert len(lines) == 4
    assert shown(MIXED, 80)[1:] == shown(MIXED)[1:]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="uses a pseudo-terminal")
def test_a_bar_while_many_are_written_and_ctrl_c(texts: Path, cache: Path, trained: Path):
    """Both streams on one terminal: what was printed stays, the bar goes, the cursor comes back."""
    import pty

    kept = {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "COLUMNS": "80"}
    environment = {**os.environ, **kept, "PYTHONPATH": str(Path(mingyue.__file__).parents[1])}
    command = [sys.executable, "-m", "mingyue", "write", "run", "天", "--n", "100000"]
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, cwd=texts, env=environment
    )
    os.close(theirs)
    seen, told = b"", False
    try:
        while True:
            try:
                seen += (part := os.read(ours, 65536))
            except OSError:
                break
            if not part:
                break
            _, printed, rest = seen.rpartition(b"writes this again")
            # The bar is back below the first texts. Once is enough: a second would come in the end.
            if not told and printed and b"of 100,000 texts" in rest:
                running.send_signal(signal.SIGINT)
                told = True
        assert running.wait(timeout=60) == 130
    finally:
        running.kill()
        os.close(ours)
    text = seen.decode("utf-8")
    assert "Traceback" not in text and text.count("天") >= 64
    assert "\x1b[?25h" in text.rpartition("\x1b[?25l")[2]
    assert "texts" not in text.rpartition("\x1b[2K")[2]


def test_python_gives_the_same_order(trained: Path):
    writer = load(trained)
    best = writer.generate(["天", "日月"], n=4, seed=1, best=True, max_tokens=12)
    plain = writer.generate(["天", "日月"], n=4, seed=1, probabilities=0, max_tokens=12)
    for i in (0, 4):
        assert best[i : i + 4] == sorted(plain[i : i + 4], key=lambda done: -(done.logprob or 0))
