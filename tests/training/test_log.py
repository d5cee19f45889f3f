"""A log survives a crash at any byte and never tells a step twice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.training.log import Log, read_log


def write(path, first, last, after=0):
    with Log(path, after_step=after) as log:
        for step in range(first, last + 1):
            log.write(step=step, loss=step / 7, sample="床前" if step % 3 == 0 else None)


@given(st.data())
def test_cut_anywhere_and_resumed_it_is_the_same(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("log")
    write(folder / "whole", 1, 12)
    whole = (folder / "whole").read_bytes()
    checkpoint = data.draw(st.integers(0, 8))
    written = len(b"".join(whole.splitlines(keepends=True)[:checkpoint]))
    cut = data.draw(st.integers(written, len(whole)))
    (folder / "cut").write_bytes(whole[:cut])
    write(folder / "cut", checkpoint + 1, 12, after=checkpoint)
    assert (folder / "cut").read_bytes() == whole


def test_no_number_becomes_null(tmp_path):
    with Log(tmp_path / "log") as log:
        log.write(step=1, loss=float("nan"), gradient_norm=float("inf"))
    assert read_log(tmp_path / "log") == [{"step": 1, "loss": None, "gradient_norm": None}]


def test_a_new_run_begins_a_new_log(tmp_path):
    write(tmp_path / "log", 1, 3)
    write(tmp_path / "log", 1, 2, after=0)
    assert [line["step"] for line in read_log(tmp_path / "log")] == [1, 2]


def test_a_disk_that_refuses_is_said_in_one_line(tmp_path, monkeypatch):
    import errno

    class Full:
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self): ...

    with Log(tmp_path / "log") as log:
        monkeypatch.setattr(log, "_file", Full())
        with pytest.raises(UserError):
            log.write(step=1)
