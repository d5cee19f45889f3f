"""A checkpoint is whole, or it is known not to be."""

import errno
import json
from pathlib import Path

import pytest
import torch

from mingyue.errors import UserError
from mingyue.training.checkpoint import MODEL, OPTIMIZER, STATE, Checkpoints

FILES = [MODEL, OPTIMIZER, STATE]


def save(checkpoints, step, best=False):
    checkpoints.save(
        step,
        {"w": torch.full((3, 4), float(step))},
        {"adamw.w.step": torch.tensor(float(step))},
        {"step": step, "loss": 0.1 + step, "text": "月"},
        best=best,
    )


def names(folder: Path):
    return sorted(path.name for path in folder.iterdir())


def cut(path):
    path.write_bytes(path.read_bytes()[:-3])


def lengthen(path):
    path.write_bytes(path.read_bytes() + b"\0\0")


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def remove(path):
    path.unlink()


def empty(path):
    path.write_bytes(b"")


def garbage(path):
    path.write_bytes(b"[" * 5000)


def folder(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("harm", [cut, lengthen, flip, remove, empty, garbage, folder])
def test_any_harm_to_any_file_goes_back_one_and_says_so(tmp_path, file, harm):
    checkpoints = Checkpoints(tmp_path, keep=3)
    save(checkpoints, 10)
    save(checkpoints, 20)
    harm(tmp_path / "step-000020" / file)
    heard: list[str] = []
    found = checkpoints.load(heard.append)
    assert found is not None and found.step == 10
    assert torch.equal(found.model["w"], torch.full((3, 4), 10.0))
    assert found.optimizer["adamw.w.step"].item() == 10
    assert found.state == {"step": 10, "loss": 10.1, "text": "月"}
    assert len(heard) == 1 and "step-000020" in heard[0] and "\n" not in heard[0]


def test_every_flipped_byte_of_the_state_is_noticed(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1)
    path = tmp_path / "step-000001" / STATE
    whole = path.read_bytes()
    meaning = json.loads(whole)
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        found = checkpoints.load()
        if found is not None:  # only white space was touched
            assert json.loads(path.read_bytes()) == meaning


def test_all_harmed_is_none_and_none_is_none(tmp_path):
    checkpoints = Checkpoints(tmp_path / "none")
    assert checkpoints.load() is None and checkpoints.best() is None
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1, best=True)
    flip(tmp_path / "step-000001" / MODEL)
    assert checkpoints.load() is None and checkpoints.best() is None


def test_keeps_the_newest_and_the_best(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for step in range(10, 70, 10):
        save(checkpoints, step, best=step in (10, 20))
    assert names(tmp_path) == ["best", "last", "step-000020", "step-000050", "step-000060"]
    best = checkpoints.best()
    assert best is not None and best.step == 20
    assert (tmp_path / "last").read_text() == "step-000060"


def test_a_future_that_did_not_happen_is_removed(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=5)
    for step in (10, 20, 30):
        save(checkpoints, step)
    flip(tmp_path / "step-000030" / MODEL)
    save(checkpoints, 25)  # resumed from 20
    found = checkpoints.load()
    assert found is not None and found.step == 25
    assert "step-000030" not in names(tmp_path)


def test_saving_a_step_again_replaces_it(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 10)
    cut(tmp_path / "step-000010" / OPTIMIZER)
    save(checkpoints, 10)
    found = checkpoints.load()
    assert found is not None and found.step == 10


@pytest.mark.parametrize("file", FILES)
def test_a_full_disk_leaves_everything_as_it_was(tmp_path, file, monkeypatch):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 10, best=True)
    write = Path.write_bytes

    def full(path, data):
        if path.name == file:
            write(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UserError) as refusal:
        save(checkpoints, 20, best=True)
    assert "full" in str(refusal.value)
    assert names(tmp_path) == ["best", "last", "step-000010"]
    found = checkpoints.load()
    assert found is not None and found.step == 10


def test_leftovers_of_a_killed_program_are_cleared_and_never_loaded(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 10)
    (tmp_path / "step-000010").rename(tmp_path / ".mingyue-0123456789ab.tmp")
    (tmp_path / ".mingyue-file.tmp").write_text("half")
    assert checkpoints.load() is None
    checkpoints.clear_leftovers()
    assert names(tmp_path) == ["last"]


@pytest.mark.parametrize("pointer", ["../../etc", "step-000099", "", "/tmp"])
def test_a_pointer_never_leads_astray(tmp_path, pointer):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 10, best=True)
    (tmp_path / "best").write_text(pointer)
    assert checkpoints.best() is None
    save(checkpoints, 20)  # and pruning does not stumble over it
    found = checkpoints.load()
    assert found is not None and found.step == 20
