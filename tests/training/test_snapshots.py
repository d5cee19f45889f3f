"""Snapshots stand where they should, are the run's own weights, and resuming neither loses nor
doubles any."""

import errno
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mingyue.errors import UserError
from mingyue.interop.run_folder import load_model
from mingyue.interop.snapshots import snapshot_path, snapshots
from mingyue.training.run import train
from mingyue.training.snapshots import Snapshots

from .conftest import SETTINGS, Notes
from .test_kinds import MODELS, NAMES
from .test_resume import RUN, ctrl_c_at


def taken(count: int, totals: list[int | None], folder: Path = Path("nowhere")) -> list[int]:
    """The steps of snapshots in a run of which ``totals[i]`` is known after step i."""
    rule = Snapshots(folder, count, None)
    for step, total in enumerate(totals):
        if rule.due(step, total):
            rule.taken.append(step)
        if total is not None and step >= total:
            break
    return rule.taken


def content(folder: Path) -> dict[int, bytes]:
    return {step: path.read_bytes() for step, path in snapshots(folder).items()}


# --- when ---


@given(st.integers(0, 40), st.integers(1, 3000))
def test_of_a_known_length_so_many_as_were_asked_for_from_first_to_last(count: int, total: int):
    steps = taken(count, [total] * (total + 1))
    assert len(steps) == min(count, total + 1)
    assert steps == sorted(set(steps))
    if count:
        assert steps[-1] == total
    if count > 1:
        assert steps[0] == 0


@pytest.mark.parametrize(("count", "total"), [(8, 2000), (8, 100_000), (20, 5000)])
def test_they_stand_evenly_on_the_scale_of_learning(count: int, total: int):
    steps = np.array(taken(count, [total] * (total + 1)))
    apart = np.diff(np.log1p(steps / 10))
    assert apart == pytest.approx(math.log1p(total / 10) / (count - 1), rel=0.15)
    assert (np.diff(steps)[1:] >= np.diff(steps)[:-1]).all()  # early ones are denser


@given(
    st.integers(2, 12),
    st.integers(0, 30),
    st.lists(st.integers(30, 400), min_size=1, max_size=8),
)
def test_a_length_known_late_and_corrected_gives_no_more_and_always_the_end(
    count: int, late: int, guesses: list[int]
):
    totals: list[int | None] = [None] * late
    while not totals or totals[-1] is None or totals[-1] >= len(totals):
        guess = guesses[min(len(totals) // 20, len(guesses) - 1)]
        totals.append(max(guess, len(totals)))
    steps = taken(count, totals)
    assert steps[0] == 0 and steps[-1] == totals[-1]
    assert len(steps) == len(set(steps)) <= count


# --- what ---


@pytest.fixture(scope="module")
def whole(poems, tmp_path_factory) -> Path:
    """The run of ``test_resume`` (dropout, moving average), with snapshots."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    train(poems, folder, snapshots=5, **RUN)
    return folder


def test_none_are_kept_unless_asked_for(poems, tmp_path):
    train(poems, tmp_path / "run", steps=2, **SETTINGS)
    assert not (tmp_path / "run" / "snapshots").exists()
    with pytest.raises(UserError, match="--snapshots 8"):
        load_model(tmp_path / "run", step=0)


def test_the_first_is_the_untrained_model_and_the_last_the_end(poems, tmp_path):
    folder = tmp_path / "run"
    train(poems, folder, steps=30, snapshots=4, eval_every=30, seed=3, **SETTINGS)
    steps = list(snapshots(folder))
    assert steps == [0, 6, 15, 30]
    last = safetensors.torch.load_file(folder / "checkpoints" / "step-000030" / "model.safetensors")
    model, _, _ = load_model(folder, step=30)
    assert set(last) == set(model.state_dict())
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, last[name].half().float()), name
    torch.manual_seed(3)
    fresh = type(model)(model.config).state_dict()
    begun, _, _ = load_model(folder, step=0)
    for name, tensor in begun.state_dict().items():
        assert torch.equal(tensor, fresh[name].half().float()), name


def test_with_a_moving_average_it_is_that(whole):
    state = safetensors.torch.load_file(
        whole / "checkpoints" / "step-000012" / "optimizer.safetensors"
    )
    model, _, _ = load_model(whole, step=12)
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, state[f"average.{name}"].half().float()), name


@pytest.mark.parametrize(
    "model",
    [m for m in MODELS if m["kind"] != "ngram"]
    + [
        {**SETTINGS["model"], "position": "learned", "norm": "layernorm", "activation": "gelu"}
        | {"bias": True, "qk_norm": False, "tie_embeddings": True},  # GPT-2's layout
        {**SETTINGS["model"], "position": "alibi"},
    ],
    ids=[n for n in NAMES if n != "ngram"] + ["gpt2", "alibi"],
)
def test_of_all_kinds_of_models_they_compute_what_the_run_did(poems, tmp_path, model):
    folder = tmp_path / "run"
    train(poems, folder, steps=8, snapshots=3, **{**SETTINGS, "model": model})
    assert list(snapshots(folder)) == [0, 3, 8]
    now, tokenizer, _ = load_model(folder, step=8)
    exact, _, _ = load_model(folder)
    last = folder / "checkpoints" / "step-000008" / "model.safetensors"
    exact.load_state_dict(safetensors.torch.load_file(last))
    ids = torch.tensor([tokenizer.encode("春江花月夜，山水云风雨")])
    with torch.no_grad():
        got, wanted = (m(ids[:, :-1], ids[:, 1:]) for m in (now, exact))
    assert float(got.loss) == pytest.approx(float(wanted.loss), abs=2e-3)
    assert (folder / "snapshots" / "step-000008.safetensors").stat().st_size < 0.6 * (
        folder / "model.safetensors"
    ).stat().st_size + 4096


def test_an_ngram_model_says_that_it_has_none(poems, tmp_path):
    notes = Notes()
    model = next(m for m in MODELS if m["kind"] == "ngram")
    train(poems, tmp_path / "run", snapshots=3, observer=notes, **{**SETTINGS, "model": model})
    assert any("without effect: snapshots" in message for message in notes.messages)
    assert not snapshots(tmp_path / "run")


def test_a_number_too_large_for_fp16_keeps_its_bits(poems, tmp_path):
    folder = tmp_path / "run"
    train(poems, folder, steps=2, **SETTINGS)
    model, _, _ = load_model(folder)
    model.get_parameter("embedding.weight").data[0, 0] = 1e6
    Snapshots(folder, 1, 2).take(model, 2)
    assert load_model(folder, step=2)[0].get_parameter("embedding.weight")[0, 0] == 1e6


def test_minutes_give_no_more_than_asked_for_and_the_end(poems, tmp_path):
    result = train(poems, tmp_path / "run", minutes=0.03, snapshots=6, **SETTINGS)
    steps = list(snapshots(tmp_path / "run"))
    assert steps[0] == 0 and steps[-1] == result.steps and 3 <= len(steps) <= 6


def test_a_run_that_loses_patience_keeps_its_end(poems, tmp_path, improves_no_more):
    limits: dict[str, Any] = {"steps": 100, "eval_every": 2, "patience": 3, "snapshots": 4}
    result = train(poems, tmp_path / "run", **limits, **SETTINGS)
    assert (result.reason, result.steps) == ("patience", 10)
    assert list(snapshots(tmp_path / "run"))[-1] == result.steps
    before = content(tmp_path / "run")
    train(out=tmp_path / "run", resume=True)
    assert content(tmp_path / "run") == before


# --- interrupted, and gone wrong ---


@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.sets(st.integers(1, 11), min_size=1, max_size=3))
def test_interrupted_anywhere_and_resumed_they_are_the_same(poems, whole, tmp_path_factory, stops):
    folder, resume = tmp_path_factory.mktemp("cut") / "run", False
    for step in sorted(stops):
        train(poems, folder, resume=resume, observer=ctrl_c_at(step), snapshots=5, **RUN)
        assert max(snapshots(folder)) <= step
        resume = True
    train(out=folder, resume=True)
    assert content(folder) == content(whole)


def test_what_lies_past_the_checkpoint_is_made_again(poems, whole, tmp_path):
    """A crash may leave a snapshot of a step that the run has to go back behind."""
    folder = tmp_path / "run"
    train(poems, folder, observer=ctrl_c_at(5), snapshots=5, **RUN)
    snapshot_path(folder, 9).write_bytes(b"from another time line")
    train(out=folder, resume=True)
    assert content(folder) == content(whole)


def test_a_new_run_in_the_place_of_one_that_learned_nothing_keeps_only_its_own(poems, tmp_path):
    folder = tmp_path / "run"
    for step in (0, 1, 77):
        path = snapshot_path(folder, step)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"old")
    (folder / "checkpoints").mkdir()
    train(poems, folder, steps=3, snapshots=2, **SETTINGS)
    assert list(snapshots(folder)) == [0, 3]
    assert load_model(folder, step=0)


@pytest.mark.parametrize(("number", "why"), [(errno.ENOSPC, "disk is full"), (errno.EIO, "")])
def test_a_disk_that_refuses_ends_it_in_one_line_and_the_run_can_go_on(
    poems, whole, tmp_path, monkeypatch, number, why
):
    def full(handle):
        raise OSError(number, "trouble")

    def take(self, model, step, take=Snapshots.take):
        if step > 4:
            patched.setattr("os.fsync", full)
        take(self, model, step)

    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(Snapshots, "take", take)
        with pytest.raises(UserError) as raised:
            train(poems, folder, snapshots=5, **RUN)
    said = str(raised.value)
    assert "\n" not in said and "snapshots" in said and why in said and "--resume" in said
    train(out=folder, resume=True)
    assert content(folder) == content(whole)
    assert not list((folder / "snapshots").glob(".*"))
