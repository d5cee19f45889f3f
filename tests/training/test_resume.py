"""A run that was interrupted is, in the end, the run that was not."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.training.log import CLOCK, read_log
from mingyue.training.run import train

from .conftest import SETTINGS, Notes

RUN = {
    **SETTINGS,
    "model": {**SETTINGS["model"], "dropout": 0.2},
    "steps": 12,
    "eval_every": 4,
    "micro_batch": 3,
    "log_every": 1,
    "ema": 0.9,
    "warmup": 3,
}


def history(folder: Path):
    """The log without the clock."""
    return [
        {name: value for name, value in line.items() if name not in CLOCK}
        for line in read_log(folder / "log.jsonl")
    ]


def weights(folder: Path):
    """Every byte that was learned: the exported model, the last checkpoint's tensors."""
    last = folder / "checkpoints" / (folder / "checkpoints" / "last").read_text()
    files = [folder / "model.safetensors", *sorted(last.glob("*.safetensors"))]
    assert len(files) == 3
    return [path.read_bytes() for path in files]


@pytest.fixture(scope="module")
def whole(poems, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    assert train(poems, folder, **RUN).reason == "done"
    return folder


def ctrl_c_at(step):
    def press(now):
        if now == step:
            os.kill(os.getpid(), signal.SIGINT)

    return Notes(press)


def test_the_same_seed_gives_the_same_run(poems, whole, tmp_path):
    train(poems, tmp_path / "again", **RUN)
    assert history(tmp_path / "again") == history(whole)
    assert weights(tmp_path / "again") == weights(whole)
    train(poems, tmp_path / "other", **{**RUN, "seed": 1})
    assert history(tmp_path / "other") != history(whole)


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sets(st.integers(1, 11), min_size=1, max_size=3))
def test_interrupted_anywhere_and_resumed_it_is_the_same(poems, whole, tmp_path_factory, stops):
    folder = tmp_path_factory.mktemp("cut") / "run"
    resume = False
    for step in sorted(stops):
        result = train(poems, folder, resume=resume, observer=ctrl_c_at(step), **RUN)
        assert (result.reason, result.steps) == ("interrupted", step)
        assert (folder / "model.safetensors").exists()  # what there is can be used
        resume = True
    result = train(poems, folder, resume=True, **RUN)
    assert result.reason == "done"
    assert history(folder) == history(whole)
    assert weights(folder) == weights(whole)


def test_resume_needs_no_words_but_the_folder(poems, whole, tmp_path):
    folder = tmp_path / "run"
    train(poems, folder, observer=ctrl_c_at(5), **RUN)
    assert train(out=folder, resume=True).reason == "done"
    assert weights(folder) == weights(whole)


def test_a_finished_run_stays_finished(poems, tmp_path):
    folder = tmp_path / "run"
    train(poems, folder, **RUN)
    before = history(folder), weights(folder)
    notes = Notes()
    result = train(out=folder, resume=True, observer=notes)
    assert (result.reason, result.steps, notes.steps) == ("done", 12, [])
    assert (history(folder), weights(folder)) == before


def test_a_damaged_checkpoint_goes_back_one_and_ends_the_same(poems, whole, tmp_path):
    folder = tmp_path / "run"
    train(poems, folder, observer=ctrl_c_at(7), **RUN)
    path = folder / "checkpoints" / "step-000007" / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    notes = Notes()
    train(out=folder, resume=True, observer=notes)
    assert notes.runs[0].first_step == 4
    assert any("step-000007" in message for message in notes.messages)
    assert history(folder) == history(whole)
    assert weights(folder) == weights(whole)


@pytest.mark.parametrize("loss", ["damaged", "deleted", "all but the log"])
def test_a_run_that_saved_but_has_no_good_checkpoint_is_left_alone(poems, tmp_path, loss):
    folder = tmp_path / "run"
    train(poems, folder, observer=ctrl_c_at(6), **RUN)
    if loss == "damaged":
        for state in (folder / "checkpoints").glob("step-*/state.json"):
            state.write_text("{")
    else:
        shutil.rmtree(folder / "checkpoints")
    if loss == "all but the log":
        (folder / "model.safetensors").unlink()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match="no checkpoint can be read") as refusal:
        train(out=folder, resume=True)
    assert ("untouched" in str(refusal.value)) == (loss != "all but the log")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_run_that_never_saved_begins_again_and_says_so(poems, whole, tmp_path):
    def end(step):
        if step == 3:
            raise ZeroDivisionError

    folder = tmp_path / "run"
    with pytest.raises(ZeroDivisionError):
        train(poems, folder, observer=Notes(end), **RUN)
    assert history(folder)[-1]["step"] == 2
    notes = Notes()
    train(out=folder, resume=True, observer=notes)
    assert notes.runs[0].first_step == 0
    assert any("beginning" in message for message in notes.messages)
    assert history(folder) == history(whole)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"steps": 20}, "steps"),
        ({"minutes": 1}, "steps"),
        ({"learning_rate": 0.01}, "learning_rate"),
        ({"seed": 3}, "seed"),
        ({"model": {"n_layer": 3}}, "n_layer"),
        ({"data": {"documents": "file"}}, "documents"),
        ({"learning_rate": -1}, "learning_rate"),
        ({"model": {"n_layr": 2}}, "n_layr"),
    ],
)
def test_other_settings_are_refused_by_name(poems, whole, change, named):
    with pytest.raises(UserError, match=named) as refusal:
        train(poems, whole, resume=True, **change)
    assert "\n" not in str(refusal.value)


def test_another_text_is_refused(poems, tmp_path):
    text = tmp_path / "mine.txt"
    text.write_text(poems.read_text("utf-8"), encoding="utf-8")
    train(text, tmp_path / "run", observer=ctrl_c_at(3), **RUN)
    text.write_text(poems.read_text("utf-8").replace("月", "日"), encoding="utf-8")
    with pytest.raises(UserError, match="changed"):
        train(out=tmp_path / "run", resume=True)


def test_nothing_to_resume(tmp_path, poems):
    with pytest.raises(UserError, match="no run"):
        train(poems, tmp_path / "none", resume=True)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "mingyue.json").write_text("{]")
    with pytest.raises(UserError, match=r"mingyue\.json"):
        train(poems, tmp_path / "bad", resume=True)


def start(poems, folder, code, **settings):
    """A training in a process of its own; ``code`` is what the observer does at each step."""
    script = f"""
        import json, os, signal, sys, time
        from mingyue.training.observe import Observer
        from mingyue.training.run import train

        class Watcher(Observer):
            def on_step(self, info):
                step = info.step
                {code}

        settings = json.loads(sys.argv[3])
        result = train(sys.argv[1], sys.argv[2], observer=Watcher(), **settings)
        print(result.reason, result.steps)
    """
    arguments = [str(poems), str(folder), json.dumps(settings)]
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_kill_minus_nine_loses_nothing_but_time(poems, whole, tmp_path):
    folder = tmp_path / "run"
    # Step 7 is 3 past a checkpoint and already in the log.
    killed = start(poems, folder, "step == 7 and os.kill(os.getpid(), signal.SIGKILL)", **RUN)
    killed.communicate()
    assert killed.returncode == -signal.SIGKILL
    assert [line["step"] for line in history(folder)][-1] >= 6
    notes = Notes()
    train(out=folder, resume=True, observer=notes)
    assert notes.runs[0].first_step == 4
    assert history(folder) == history(whole)
    assert weights(folder) == weights(whole)


@pytest.mark.slow
def test_sigterm_saves_and_ends_in_peace(poems, tmp_path):
    folder = tmp_path / "run"
    settings = {**RUN, "steps": 1_000_000, "eval_every": 1_000_000}
    process = start(poems, folder, "print(step, flush=True); time.sleep(0.01)", **settings)
    assert process.stdout is not None and process.stdout.readline() == "1\n"
    process.terminate()
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    reason, steps = said.splitlines()[-1].split()
    assert reason == "interrupted"
    assert (folder / "checkpoints" / f"step-{int(steps):06d}").is_dir()
    assert (folder / "model.safetensors").exists()
