"""Help: complete, in both languages, on any width, and without loading anything heavy."""

import re
import subprocess
import sys

import pytest

from mingyue.cli.app import COMMANDS
from mingyue.language import _chinese
from tests.cli.conftest import Call

NAMES = [command.__name__.rpartition(".")[2] for command in COMMANDS]
HAN = re.compile("[一-鿿]")


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["--lang", "en", "-h"]])
def test_the_first_page_lists_every_command(call: Call, words: list[str]):
    done = call(*words)
    assert done.code == 0 and not done.err
    for name in NAMES:
        assert re.search(rf"^  {name} ", done.out, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_each_command_shows_examples_and_every_option(call: Call, name: str):
    done = call(name, "--help")
    assert done.code == 0 and not done.err
    assert done.out.startswith(f"mingyue {name} ")
    assert done.out.count(f"  mingyue {name}") >= 1 or "| mingyue" in done.out
    command = next(c for c in COMMANDS if c.__name__.endswith(f".{name}"))
    for panel in command.panels():
        assert f"\n{panel.title}\n" in done.out
        for flag in panel.flags:
            for spelling in flag.spelling.split("/"):
                assert f" {spelling}" in done.out
    assert not any(line.endswith(" ") for line in done.out.splitlines())


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("before", [True, False])
def test_chinese_help_is_chinese(call: Call, name: str, before: bool):
    done = call("--lang", "zh", name, "--help") if before else call(name, "--help", "--lang=zh")
    assert done.code == 0
    headings = [line for line in done.out.splitlines() if line and not line.startswith((" ", "mi"))]
    assert headings and all(HAN.search(line) for line in headings)
    english = [key for key in _chinese() if len(key) > 25 and key in done.out]
    assert not english


def test_the_locale_chooses_the_language(call: Call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert "示例" in call("--help").out
    assert "Examples" in call("--help", "--lang", "en").out


@pytest.mark.parametrize("columns", ["20", "40", "64", "200"])
def test_help_fits_the_terminal(call: Call, monkeypatch: pytest.MonkeyPatch, columns: str):
    from rich.cells import cell_len

    monkeypatch.setenv("COLUMNS", columns)
    lines = call("train", "--help", "--lang", "zh").out.splitlines()
    examples = lines.index("示例")
    body = lines[:examples] + lines[lines.index("", examples) :]
    assert max(map(cell_len, body)) <= max(int(columns), 40 if columns == "20" else 0)


def test_version(call: Call):
    import mingyue

    assert call("--version").out.strip() == mingyue.__version__


HEAVY = ("torch", "numpy", "tokenizers", "transformers", "pydantic", "opencc", "safetensors")


@pytest.mark.parametrize(
    "words", [["--help"], ["train", "--help"], ["--lang", "zh", "write", "-h"]]
)
def test_help_loads_nothing_heavy(words: list[str]):
    program = (
        "import sys; from mingyue.cli.main import main; code = main(sys.argv[1:]);"
        f"print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stderr.strip() == "[]"
