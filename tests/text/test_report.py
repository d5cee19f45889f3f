"""A report is kept on disk, and read by somebody who may speak the other language."""

import json
from pathlib import Path

import pytest

from mingyue.data import prepare
from mingyue.language import Message, speaking
from mingyue.text.corpus import open_corpus
from mingyue.text.report import Report


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MINGYUE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def troubled(folder: Path) -> Path:
    """A folder that is read with two kinds of warnings."""
    folder.mkdir()
    (folder / "a {0} b.png").write_bytes(b"\x89PNG")
    poems = "\n\n".join(f"{i}床前明月光，\n疑是地上霜。" for i in range(30))
    (folder / "many.txt").write_text(poems, encoding="utf-8")
    return folder


def test_notes_come_in_the_language_of_the_reader(own_cache: Path, tmp_path: Path):
    source = troubled(tmp_path / "texts")

    def read() -> list[str]:
        dataset = prepare(open_corpus(source, text_field="x"), val_fraction=0.1)
        return dataset.lines()

    with speaking("zh"):
        chinese = read()
    english = read()
    assert len(list((own_cache / "data").iterdir())) == 1
    with speaking("zh"):
        assert read() == chinese
    notes = [line for line in english if line.startswith("note: ")]
    assert len(notes) == 3 and any("a {0} b.png" in note for note in notes)
    assert all(ord(c) < 0x3000 for line in english for c in line)
    assert not [line for line in chinese if line.startswith("note")]
    meta = next((own_cache / "data").rglob("meta.json")).read_text(encoding="utf-8")
    assert meta.isascii()


@pytest.mark.parametrize("world", ["modern", "english"])
def test_a_world_says_so_in_both(world: str):
    corpus = open_corpus(world)
    with speaking("zh"):
        next(iter(corpus))
        [warning] = corpus.report.warnings
        assert "语法" in str(warning)
    assert "grammar" in str(warning)


def test_a_cache_with_words_of_one_language_is_made_again(own_cache: Path, tmp_path: Path):
    source = troubled(tmp_path / "texts")
    first = prepare(open_corpus(source), val_fraction=0.1)
    path = first.folder / "meta.json"
    meta = json.loads(path.read_text(encoding="utf-8"))
    meta["report"]["warnings"] = ["略过 1 个文件"]  # as it was written before
    path.write_text(json.dumps(meta), encoding="utf-8")
    again = prepare(open_corpus(source), val_fraction=0.1)
    assert again.lines() == first.lines() and again.fingerprint == first.fingerprint


def test_a_report_survives_json():
    report = Report(documents=3)
    report.warn(Message("{path}: {n} of {name}", path=Path("a/b"), n=3, name="月 {x}"))
    report.warn(Message("{path}: {n} of {name}", path=Path("a/b"), n=3, name="月 {x}"))
    report.warn(Message("a {brace} that is none"))
    same = Report.from_dict(json.loads(json.dumps(report.as_dict())))
    assert same == report
    assert same.lines()[1:] == ["note: a/b: 3 of 月 {x}", "note: a {brace} that is none"]
