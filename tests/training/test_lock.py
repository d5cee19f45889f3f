"""Two trainings never write into one folder, and a place that refuses is refused early."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mingyue.errors import UserError
from mingyue.training.lock import LOCK, only_one
from mingyue.training.run import train

from .conftest import SETTINGS, Notes

HOLD = """
import sys
from pathlib import Path
from mingyue.training.lock import only_one
with only_one(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_another_process_is_refused_until_the_holder_is_killed(poems, tmp_path):
    folder = tmp_path / "run"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(UserError, match="another training"):
            train(poems, folder, steps=1, **SETTINGS)
        assert [path.name for path in folder.iterdir()] == [LOCK]
    finally:
        holder.kill()
        holder.communicate()
    assert (folder / LOCK).exists()  # left behind, and in nobody's way
    assert train(poems, folder, steps=1, **SETTINGS).steps == 1
    assert not (folder / LOCK).exists()


def test_a_second_training_in_the_folder_of_a_running_one_is_refused(poems, tmp_path):
    refusals: list[str] = []

    def intrude(step: int) -> None:
        for resume in (False, True):
            with pytest.raises(UserError) as refusal:
                train(poems, tmp_path / "run", resume=resume, **({} if resume else SETTINGS))
            refusals.append(str(refusal.value))

    train(poems, tmp_path / "run", steps=1, observer=Notes(intrude), **SETTINGS)
    assert len(refusals) == 2 and all("another training" in text for text in refusals)


def test_a_folder_made_for_nothing_goes_again(tmp_path):
    with pytest.raises(ZeroDivisionError), only_one(tmp_path / "a" / "b"):
        raise ZeroDivisionError
    assert not (tmp_path / "a").exists()
    with only_one(tmp_path / "a" / "b"):
        (tmp_path / "a" / "b" / "file").touch()
    assert [path.name for path in (tmp_path / "a" / "b").iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_refused_before_the_text_is_read(
    poems, tmp_path, monkeypatch
):
    def refuse(path, *args, **more):
        raise PermissionError(13, "Permission denied", os.fspath(path))

    monkeypatch.setattr("mingyue.training.run._read", lambda *args: pytest.fail("text was read"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refuse)
        with pytest.raises(UserError, match="run: cannot be written: Permission denied"):
            train(poems, tmp_path / "run", steps=1, **SETTINGS)
