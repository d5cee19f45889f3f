"""Whatever the documents tell a newcomer to type is typed here, in their order."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest

import mingyue.training.run
from mingyue.cli.app import COMMANDS
from tests.newcomer.blocks import ROOT, Block, blocks
from tests.newcomer.conftest import TINY, Run

DOCUMENTS = [
    *("README.md", "README.zh-CN.md"),
    *(f"docs/{language}/{page}.md" for language in ("en", "zh") for page in ("guide", "article")),
]


@pytest.mark.slow
@pytest.mark.parametrize("document", DOCUMENTS)
def test_commands_and_programs_run(
    document: str, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mingyue.training.run, "train", _small_training)
    names: dict[str, Any] = {}
    found = blocks(document)
    assert found
    if not any(block.language == "sh" for block in found):
        run("mingyue train tang --out runs/tang")
    for block in found:
        if block.language == "sh":
            for line in _lines(block):
                _make_target(line) if line.startswith("make ") else run(line)
        elif block.language == "bat":
            for line in _lines(block):
                if (command := _slashes(line)).startswith("mingyue "):
                    run(command)
        elif block.language == "python":
            _run_program(block.text, names)


def _lines(block: Block) -> list[str]:
    return [line for line in block.text.splitlines() if line.strip()]


def _slashes(line: str) -> str:
    r""".venv\Scripts\mingyue write runs\demo → mingyue write runs/demo."""
    return line.replace("\\", "/").removeprefix(".venv/Scripts/")


def _make_target(line: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{line.split()[1]}:", makefile, re.MULTILINE)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_make_demo_and_windows_install_what_the_commands_need(document: str):
    """Still figures are drawn by an extra."""
    lines = [line for block in blocks(document) for line in _lines(block)]
    installs = [line for line in lines if "pip install" in line and "-e" in line]
    if any(re.search(r"--figure \S+\.(svg|png)", line) for line in lines):
        makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
        demo = makefile.partition("$(VENV)/installed: ")[2].partition("\n\n")[0]
        installs.append(demo)
    assert all('-e ".[plots]"' in install for install in installs)


def _run_program(text: str, names: dict[str, Any]) -> None:
    """Run it in ``names``; an expression with ``# True`` beside it must be true."""
    lines = text.splitlines()
    for statement in ast.parse(text).body:
        source = "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        if isinstance(statement, ast.Expr) and source.rstrip().endswith("# True"):
            assert eval(source, names), source
        else:
            exec(source, names)


_train = mingyue.training.run.train


def _small_training(source: str, out: str, **said: Any) -> object:
    names = [name.removeprefix("--").replace("-", "_") for name in TINY[::2]]
    tiny = dict(zip(names, map(int, TINY[1::2]), strict=True))
    shape = {name: tiny[name] for name in ("d_model", "n_layer", "n_head", "block_size", "d_head")}
    said = {name: value for name, value in said.items() if name not in ("minutes", "steps")}
    model = said.get("model", {})
    if model.get("kind", "gpt") == "gpt":  # the others' sizes come with their commands
        model = {**model, **shape}
    said["model"] = model
    text = "verses.txt" if source in ("tang", "songci") else source
    settings = {"steps": 3, "batch_size": 4, "data": {"documents": "blank"}, **said}
    return _train(text, out, **settings)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_guide_names_every_option(language: str):
    guide = (ROOT / "docs" / language / "guide.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", guide, flags=re.MULTILINE)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
        section = next(s for s in sections if s.startswith(name))
        if name == "data":  # has the options of train for reading
            section += next(s for s in sections if s.startswith("train"))
        for panel in command.panels():
            for flag in panel.flags:
                for spelling in flag.spelling.split("/"):
                    assert re.search(rf"{spelling}\b(?!-)", section), f"{name}: {spelling}"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_options_that_are_named_exist(document: str):
    flags = [flag for command in COMMANDS for panel in command.panels() for flag in panel.flags]
    known = {spelling for flag in flags for spelling in flag.spelling.split("/")}
    text = (ROOT / document).read_text(encoding="utf-8")
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", text))
    assert named - known <= {"--help", "--lang", "--version"}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        if "://" not in target:
            assert ((ROOT / document).parent / target).exists(), target


@pytest.mark.parametrize("document", DOCUMENTS)
def test_files_and_tests_that_are_named_exist(document: str):
    text = (ROOT / document).read_text(encoding="utf-8")
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")
    )
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in sources, name
    for name in re.findall(r"`((?:\w+/)+\w+\.py)`", text):
        assert (ROOT / name).exists() or (ROOT / "src" / "mingyue" / name).exists(), name


def test_the_two_languages_show_the_same_commands():
    for english, chinese in (("README.md", "README.zh-CN.md"), *_pairs()):
        assert _commands(english) == _commands(chinese), english


def _pairs() -> list[tuple[str, str]]:
    return [(f"docs/en/{page}.md", f"docs/zh/{page}.md") for page in ("guide", "article")]


def _commands(document: str) -> list[str]:
    """Programs and commands without their comments."""
    return [
        re.sub(r"\s*#.*", "", line)
        for block in blocks(document)
        if block.language in ("sh", "bat", "python")
        for line in _lines(block)
        if not line.lstrip().startswith("#")
    ]
