"""From a text to a run folder, and all that may stand in the way."""

import errno
import json
import math
from pathlib import Path

import pytest
import safetensors.torch
import torch

from mingyue.errors import UserError
from mingyue.interop.run_folder import load_model
from mingyue.training import loop, setup
from mingyue.training.compiling import plain
from mingyue.training.log import read_log
from mingyue.training.recipe import default_name, new_folder, old_folder
from mingyue.training.run import train

from .conftest import SETTINGS, Notes


def test_learns_a_small_text_and_says_that_it_recites(tmp_path):
    text = tmp_path / "one.txt"
    text.write_text("床前明月光，疑是地上霜。举头望明月，低头思故乡。", encoding="utf-8")
    notes = Notes()
    settings = {**SETTINGS, "data": {}, "steps": 60}
    result = train(text, tmp_path / "run", observer=notes, **settings)
    assert result.reason == "done"
    assert notes.steps[0].loss > 2.5
    assert result.train_loss is not None and result.train_loss < 0.5
    assert any("by heart" in note for e in notes.evals for note in e.notes)
    assert result.best_loss is None  # one document: nothing is held out
    assert any("held out" in message for message in notes.messages)


def test_loss_falls_on_held_out_text(poems, tmp_path):
    notes = Notes()
    result = train(poems, tmp_path / "run", steps=60, observer=notes, **SETTINGS)
    losses = [e.val_loss for e in notes.evals]
    assert losses[0] is not None and result.best_loss is not None
    assert result.best_loss < losses[0] - 0.3
    assert result.best_loss == min(loss for loss in losses if loss is not None)
    assert len(notes.evals) == 10


def test_the_folder_holds_a_run(poems, tmp_path):
    folder = tmp_path / "deep" / "run"
    result = train(poems, folder, steps=5, command=["mingyue", "train"], **SETTINGS)
    assert result.out == folder
    names = {path.name for path in folder.iterdir()}
    assert {"config.json", "model.safetensors", "tokenizer.json", "log.jsonl"} <= names
    about = json.loads((folder / "mingyue.json").read_text("utf-8"))
    assert about["status"] == "done" and about["command"] == ["mingyue", "train"]
    assert about["recipe"]["train"]["steps"] == 5
    assert about["data"]["fingerprint"]
    model, tokenizer, _ = load_model(folder)
    assert model.config.d_model == 32 and model.config.vocab_size == tokenizer.vocab_size
    assert not list(tmp_path.rglob("*.tmp"))


def test_one_step(poems, tmp_path):
    result = train(poems, tmp_path / "run", steps=1, **SETTINGS)
    assert (result.reason, result.steps, result.best_step) == ("done", 1, 1)


@pytest.mark.parametrize("text", ["月", "月光", "明月光\n"])
def test_texts_shorter_than_a_block_shrink_it_and_say_so(text, tmp_path):
    path = tmp_path / "short.txt"
    path.write_text(text, encoding="utf-8")
    notes = Notes()
    settings = {**SETTINGS, "data": {}}
    assert train(path, tmp_path / "run", steps=2, observer=notes, **settings).reason == "done"
    assert any("block_size" in message for message in notes.messages)
    assert notes.runs[0].model.block_size <= len(text) + 1


def test_an_empty_text_is_refused(tmp_path):
    path = tmp_path / "empty.txt"
    path.write_text("", encoding="utf-8")
    with pytest.raises(UserError):
        train(path, tmp_path / "run", steps=2, **SETTINGS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": -1},
        {"model": {"d_model": 30, "n_head": 4}},
        {"model": {"colour": "red"}},
        {"data": {"documents": "page"}},
        {"optimiser": "muon"},
        {"device": "tpu"},
    ],
)
def test_wrong_words_are_refused_before_anything_is_made(poems, tmp_path, wrong):
    with pytest.raises(UserError) as refusal:
        train(poems, tmp_path / "run", **wrong)
    assert "\n" not in str(refusal.value)
    assert not (tmp_path / "run").exists()


def test_out_may_not_name_what_is_there(poems, tmp_path):
    (tmp_path / "file").write_text("mine")
    for out in ("file", "file/below"):
        with pytest.raises(UserError, match="is a file"):
            train(poems, tmp_path / out, steps=1, **SETTINGS)
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("cat")
    with pytest.raises(UserError, match="not empty"):
        train(poems, tmp_path / "photos", steps=1, **SETTINGS)
    (tmp_path / "run").mkdir()  # an empty folder is fine
    train(poems, tmp_path / "run", steps=1, **SETTINGS)
    with pytest.raises(UserError, match="--resume"):
        train(poems, tmp_path / "run", steps=1, **SETTINGS)


def test_folders_are_numbered(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert new_folder(None, "tang") == Path("runs/tang")
    for name in ("tang", "tang-2"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        (tmp_path / "runs" / name / "mingyue.json").write_text("{}")
    assert new_folder(None, "tang") == Path("runs/tang-3")
    assert old_folder(None, "tang") == Path("runs/tang-2")
    assert default_name("hf:someone/poems") == "poems"
    assert default_name("/a/b/my text.txt") == "my text"


def fail_at(call, monkeypatch, failure):
    """The model's forward pass goes wrong at its ``call``-th time."""
    calls = [0]

    def wrapped(model):
        forward = plain(model)

        def count(x, y):
            calls[0] += 1
            return failure(forward(x, y)) if calls[0] >= call else forward(x, y)

        return count

    monkeypatch.setattr(setup, "plain", wrapped)


def test_a_loss_that_is_no_number_stops_and_keeps_the_last_good_state(poems, tmp_path, monkeypatch):
    fail_at(8, monkeypatch, lambda loss: loss * math.nan)
    notes = Notes()
    settings = {**SETTINGS, "steps": 20, "eval_every": 3}
    result = train(poems, tmp_path / "run", observer=notes, **settings)
    assert (result.reason, result.steps, result.best_step) == ("diverged", 7, 6)
    assert "step 8" in result.message and "\n" not in result.message
    model, _, about = load_model(tmp_path / "run")
    assert all(p.isfinite().all() for p in model.parameters())
    assert about["status"] == "diverged"
    assert read_log(tmp_path / "run" / "log.jsonl")[-1]["loss"] is None
    assert (tmp_path / "run" / "checkpoints" / "last").read_text() == "step-000006"


def test_a_loss_that_is_no_number_at_once_is_refused(poems, tmp_path, monkeypatch):
    fail_at(1, monkeypatch, lambda loss: loss * math.inf)
    with pytest.raises(UserError, match="step 1"):
        train(poems, tmp_path / "run", steps=5, **SETTINGS)


def test_out_of_memory_gives_advice(poems, tmp_path, monkeypatch):
    def failure(loss):
        raise RuntimeError(
            "[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"
        )

    fail_at(5, monkeypatch, failure)
    with pytest.raises(UserError, match="micro_batch 4") as refusal:
        train(poems, tmp_path / "run", steps=9, eval_every=2, **SETTINGS)
    assert "step 4" in str(refusal.value)
    assert not loop.out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))


def test_a_full_disk_says_what_is_kept_and_the_run_can_go_on(poems, tmp_path, monkeypatch):
    write = Path.write_bytes

    def full(path, data):
        if path.name == "optimizer.safetensors" and (path.parents[1] / "step-000004").exists():
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        with pytest.raises(UserError, match="step 4 is kept"):
            train(poems, tmp_path / "run", steps=6, eval_every=2, **SETTINGS)
    assert not list(tmp_path.rglob("*.tmp"))
    about = load_model(tmp_path / "run")[2]  # stopped, but there is something to write with
    assert about["status"] == "training" and about["recipe"]["train"]["steps"] == 6
    assert train(out=tmp_path / "run", resume=True).steps == 6


def test_patience_ends_a_run_that_no_longer_improves(poems, tmp_path, improves_no_more):
    settings = {**SETTINGS, "steps": 100, "eval_every": 2, "patience": 3}
    result = train(poems, tmp_path / "run", **settings)
    assert (result.reason, result.steps, result.best_step) == ("patience", 10, 4)
    again = train(out=tmp_path / "run", resume=True)
    assert (again.reason, again.steps) == ("patience", 10)


def test_minutes_end_by_the_clock_and_are_recorded(poems, tmp_path):
    notes = Notes()
    result = train(poems, tmp_path / "run", minutes=0.03, observer=notes, **SETTINGS)
    assert result.reason == "done" and result.steps == result.total_steps
    assert notes.runs[0].total_steps is None
    last = (tmp_path / "run" / "checkpoints" / "last").read_text()
    state = json.loads((tmp_path / "run" / "checkpoints" / last / "state.json").read_text())
    assert state["state"]["total_steps"] == result.steps


def test_the_callers_random_state_and_torch_settings_are_left_alone(poems, tmp_path):
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train(poems, tmp_path / "run", steps=2, **SETTINGS)
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()


def test_a_run_that_learned_nothing_yet_gives_way(poems, tmp_path, monkeypatch):
    fail_at(1, monkeypatch, lambda loss: loss * math.inf)
    with pytest.raises(UserError):
        train(poems, tmp_path / "run", steps=5, **SETTINGS)
    monkeypatch.undo()
    assert (tmp_path / "run" / "mingyue.json").exists()
    assert train(poems, tmp_path / "run", steps=3, **SETTINGS).steps == 3


def test_a_failure_before_the_first_step_makes_no_folder(poems, tmp_path):
    with pytest.raises(UserError, match="no such file"):
        train(poems, tmp_path / "run", steps=5, embeddings="none.npy", **SETTINGS)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "model",
    [
        {"position": "learned", "tie_embeddings": True, "norm": "layernorm", "bias": True},
        {"position": "sinusoidal", "activation": "gelu"},
        {"position": "alibi", "activation": "relu2"},
        {"position": "none", "n_kv_head": 1},
    ],
)
def test_every_kind_of_model_trains_resumes_and_is_exported(poems, tmp_path, model):
    settings = {**SETTINGS, "model": {**SETTINGS["model"], **model}, "steps": 3, "ema": 0.5}
    train(poems, tmp_path / "run", **settings)
    assert train(out=tmp_path / "run", resume=True).reason == "done"
    assert load_model(tmp_path / "run")[0].config.position == model["position"]


@pytest.mark.parametrize(
    ("model", "said"),
    [({}, None), ({"position": "alibi"}, "(position alibi)"), ({"causal": True}, None)],
)
def test_a_model_that_transformers_cannot_hold_is_announced_once(poems, tmp_path, model, said):
    notes = Notes()
    settings = {**SETTINGS, "model": {**SETTINGS["model"], **model}}
    train(poems, tmp_path / "run", steps=1, observer=notes, **settings)
    spoken = [message for message in notes.messages if "transformers" in message]
    assert len(spoken) == (said is not None)
    assert said is None or said in spoken[0]


@pytest.mark.parametrize("ema", [None, 0.5])
def test_the_best_weights_so_far_are_in_the_folder_all_the_time(poems, tmp_path, ema):
    class Ends(Notes):
        def on_eval(self, evaluation):
            super().on_eval(evaluation)
            if len(self.evals) == 2:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        train(poems, tmp_path / "cut", steps=9, eval_every=2, ema=ema, observer=Ends(), **SETTINGS)
    state = json.loads((tmp_path / "cut/checkpoints/step-000004/state.json").read_bytes())
    best = state["state"]["watch"]["best_step"]
    assert best == 4  # it still gets better this early
    name = "average.embedding.weight" if ema else "embedding.weight"
    file = "optimizer.safetensors" if ema else "model.safetensors"
    saved = safetensors.torch.load_file(tmp_path / "cut/checkpoints/step-000004" / file)[name]
    assert torch.equal(load_model(tmp_path / "cut")[0].embedding.weight, saved)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adamw", "schedule": "cosine", "learning_rate": 0.003},
        {"precision": "bf16"},
        {"clip": None, "sample_prompt": None, "eval_tokens": None},
        {"sample_prompt": "月a"},
    ],
)
def test_other_ways_to_train_learn_too(poems, tmp_path, settings):
    notes = Notes()
    train(poems, tmp_path / "run", observer=notes, **{**SETTINGS, "steps": 40, **settings})
    first, last = notes.evals[0].val_loss, notes.evals[-1].val_loss
    assert first is not None and last is not None and last < first
    prompt = settings.get("sample_prompt", "")
    assert (notes.evals[-1].sample is None) == (prompt is None)
