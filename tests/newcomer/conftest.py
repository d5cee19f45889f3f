"""A newcomer's folder: small texts under the names that the documents use, and small runs.

Commands run as they are written, but ``tang`` and ``songci`` stand for a few random verses,
trainings are made of a few steps of a tiny model, and all exhibits are two that train nothing.
"""

import io
import random
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from mingyue.cli import exhibits as listing
from mingyue.cli.main import main
from mingyue.explain import catalogue, figure
from mingyue.explain.figure import fonts

TINY = shlex.split(
    "--steps 3 --d-model 32 --n-layer 1 --n-head 2 --block-size 32 --batch-size 4 --d-head 16"
)
KINDS = {
    "lstm": shlex.split("--steps 3 --d-model 16 --n-layer 1 --block-size 32 --batch-size 4"),
    "gru": shlex.split("--steps 3 --d-model 16 --n-layer 1 --block-size 32 --batch-size 4"),
    "word2vec": shlex.split("--steps 3 --d-model 32 --block-size 32 --batch-size 4"),
    "ngram": [],
}
CHARACTERS = (
    "床前明月光疑是地上霜举头望低思故乡春眠不觉晓处闻啼鸟夜来风雨声花落知多少"
    "夏秋冬海内存己李白东中红同"
)

ALL_EXHIBITS = ("pairs", "heads")

Run = Callable[[str], None]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    draw = random.Random(0)
    lines = ["".join(draw.choices(CHARACTERS, k=5)) for _ in range(320)]
    poems = [f"{a}，{b}。{c}，{d}。" for a, b, c, d in zip(*[iter(lines)] * 4, strict=True)]
    for name in ("verses.txt", "my-novel.txt"):
        (tmp_path / name).write_text("\n\n".join(poems), encoding="utf-8")
    (tmp_path / "titles.txt").write_text("春夜\n明月\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    return tmp_path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a line of a shell block: a ``mingyue`` command, perhaps with ``echo … |`` before it, or
    ``> file`` behind."""
    every = {definition.name: definition for definition in catalogue.all_exhibits()}
    monkeypatch.setattr(catalogue, "find", every.__getitem__)
    for module in (catalogue, listing):
        monkeypatch.setattr(module, "all_exhibits", lambda: [every[n] for n in ALL_EXHIBITS])
    if fonts.installed([*fonts.SANS, *fonts.SERIF], look_again=True) is None:
        monkeypatch.setattr(figure, "find", lambda *_: ["DejaVu Sans"])

    def one(line: str) -> None:
        before, _, after = line.partition(" > ")[0].rpartition(" | ")
        said = " ".join(shlex.split(before)[1:]) + "\n"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(said.encode())))
        words = shlex.split(after, comments=True)
        assert words.pop(0) == "mingyue"
        assert main(_small(words)) == 0, line

    return one


def _small(words: list[str]) -> list[str]:
    """The same command on a small text."""
    command, *rest = words
    source = rest[0] if rest and not rest[0].startswith("-") else None
    if command == "train" and "--resume" not in rest:
        rest = _without_minutes([w for w in rest if w != source])
        if "--out" not in rest:
            rest += ["--out", str(_free(Path(source or "tang").stem))]
        kind = rest[rest.index("--model") + 1] if "--model" in rest else "gpt"
        tiny = KINDS.get(kind, TINY)
        text = source or "tang"
        return [command, _text(text), *rest, *_blank(text), *_headings(text, kind, rest), *tiny]
    if command == "data" and source is not None:
        return [command, _text(source), *rest[1:], *_blank(source)]
    return words


def _text(source: str) -> str:
    return "verses.txt" if source in ("tang", "songci") else source


def _blank(source: str) -> list[str]:
    return ["--documents", "blank"] if _text(source) == "verses.txt" else []


def _headings(source: str, kind: str, said: list[str]) -> list[str]:
    """The collections have them by default."""
    others = {"--tokenizer", "--bidirectional", "--no-headings"} & set(said)
    reads = _text(source) == "verses.txt" and kind in ("gpt", "lstm", "gru")
    return ["--headings"] if reads and not others else []


def _without_minutes(words: list[str]) -> list[str]:
    if "--minutes" not in words:
        return words
    at = words.index("--minutes")
    return words[:at] + words[at + 2 :]


def _free(name: str) -> Path:
    number, path = 2, Path("runs") / name
    while path.exists():
        number, path = number + 1, Path("runs") / f"{name}-{number}"
    return path
