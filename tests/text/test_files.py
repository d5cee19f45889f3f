"""A file is there whole or not at all."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.text.files import folder_atomic, open_atomic, write_atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_writes_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.bin"
    write_atomic(path, b"one")
    write_atomic(path, b"two")
    assert path.read_bytes() == b"two"
    assert names(path.parent) == ["x.bin"]


@given(parts=st.lists(st.binary(max_size=20), max_size=6), stop=st.integers(0, 6))
@settings(max_examples=40, deadline=None)
def test_an_interrupted_write_leaves_the_old_file(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], stop: int
) -> None:
    folder = tmp_path_factory.mktemp("atomic")
    path = folder / "x"
    write_atomic(path, b"old")
    interrupted = stop < len(parts)
    try:
        with open_atomic(path) as file:
            for number, part in enumerate(parts):
                if number == stop:
                    raise KeyboardInterrupt
                file.write(part)
                assert path.read_bytes() == b"old"  # until the end nobody sees anything new
    except KeyboardInterrupt:
        assert interrupted
    assert path.read_bytes() == (b"old" if interrupted else b"".join(parts))
    assert names(folder) == ["x"]


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_one_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def full(_: int) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match=r"x\.bin"):
        write_atomic(tmp_path / "x.bin", b"1")
    with pytest.raises(UserError, match="run"), folder_atomic(tmp_path / "run") as folder:
        (folder / "a").write_bytes(b"1")
    assert names(tmp_path) == []


def test_a_file_in_the_way_of_a_folder_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(UserError, match="out"):
        write_atomic(tmp_path / "out" / "x", b"1")
    with pytest.raises(UserError, match="out"), folder_atomic(tmp_path / "out") as folder:
        (folder / "a").write_text("1")
    assert (tmp_path / "out").read_text() == "mine"
    assert names(tmp_path) == ["out"]


def test_a_folder_in_the_way_of_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(UserError, match="out"):
        write_atomic(tmp_path / "out", b"1")
    assert names(tmp_path) == ["out"]


def test_the_callers_own_errors_pass_through(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_atomic(tmp_path / "x"):
        (tmp_path / "elsewhere" / "y").read_bytes()
    with pytest.raises(ConnectionError), folder_atomic(tmp_path / "x"):
        raise ConnectionError
    assert names(tmp_path) == []


def test_a_folder_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "run"
    with folder_atomic(target) as folder:
        (folder / "sub").mkdir()
        (folder / "sub" / "old").write_text("1")
        assert not target.exists()
    with pytest.raises(ZeroDivisionError), folder_atomic(target) as folder:
        (folder / "half").write_text("1")
        raise ZeroDivisionError
    assert names(target) == ["sub"]
    with folder_atomic(target) as folder:
        (folder / "new").write_text("1")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["run"]
