"""One small run for all tests of the command line, and ways to call it."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from mingyue.cli.main import main
from tests.cli.probing import drawn, probe  # noqa: F401 (fixtures)

CHARACTERS = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏云腾致雨露结为霜"

TINY = [
    *("--d-model", "32", "--n-layer", "2", "--n-head", "2", "--block-size", "32"),
    *("--batch-size", "4", "--steps", "6", "--seed", "1"),
]


class Outcome(NamedTuple):
    """What a command left behind."""

    code: int
    out: str
    err: str


Call = Callable[..., Outcome]


@pytest.fixture(autouse=True)
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """English unless asked otherwise, a terminal of a known width."""
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("COLUMNS", "90")


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ``poems.txt``: 80 blocks of random verse, no two alike."""
    folder = tmp_path_factory.mktemp("texts")
    draw = random.Random(0)

    def line() -> str:
        return "".join(draw.choices(CHARACTERS, k=5))

    poems = [f"{line()}，{line()}。\n{line()}，{line()}。" for _ in range(80)]
    (folder / "poems.txt").write_text("\n\n".join(poems) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, cache: Path, texts: Path, capsys: pytest.CaptureFixture[str]
) -> Call:
    """Call ``mingyue`` in the folder of the texts."""
    monkeypatch.setenv("MINGYUE_CACHE", str(cache))
    monkeypatch.chdir(texts)

    def run(*words: str) -> Outcome:
        capsys.readouterr()
        code = main(words)
        left = capsys.readouterr()
        return Outcome(code, left.out, left.err)

    return run


@pytest.fixture(scope="session")
def trained(texts: Path, cache: Path) -> Path:
    """A run folder made by ``mingyue train``."""
    folder = texts / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINGYUE_CACHE", str(cache))
        patch.setenv("LC_ALL", "C.UTF-8")
        patch.chdir(texts)
        words = ["train", "poems.txt", "--documents", "blank", "--out", "run", *TINY]
        assert main(words) == 0
    return folder
