"""D18: what is drawn of each step is what the model of that step computes, by its modules."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.exhibits.learning import POINTS, LearningKnobs, _short, _together, show
from mingyue.explain.measures.history import MOST, spread
from mingyue.explain.panels import Curves, Matrix, Table
from mingyue.explain.subject import Subject
from mingyue.generation.writer import load
from mingyue.interop.run_folder import load_model, save_model
from mingyue.model.config import ModelConfig
from mingyue.text.tokenizer import Tokenizer
from mingyue.training.snapshots import Snapshots
from tests.explain.corpora import with_text
from tests.explain.helpers import POEM
from tests.explain.test_heads import patterns
from tests.model.configs import POSITIONS, lively

STEPS = [0, 4, 30]
TEXT = "床前明月光，疑是地上霜。"


def run_of(folder: Path, steps: list[int] = STEPS, **config: Any) -> Path:
    """A run folder with a lively random model at each step, and a log."""
    tokenizer = Tokenizer.characters(Counter(POEM))
    sizes: dict[str, Any] = {"block_size": 32, "n_layer": 2, "n_head": 2, "d_model": 16}
    shape = ModelConfig.checked(**{**sizes, **config, "vocab_size": tokenizer.vocab_size})
    for step in steps:
        model = lively(shape, seed=step)
        Snapshots(folder, 1, step).take(model, step)
        save_model(model, tokenizer, folder)
    lines = [{"step": s, "loss": 5 - s / 10} for s in range(1, 31)]
    looks = [
        {"step": s, "train_loss": 4.0, "val_loss": v, "sample": "明月\n光"}
        for s, v in ((10, 3.0), (20, 2.5), (30, 2.75))
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, lines + looks)), "utf-8")
    return folder


def looked_at(folder: Path, text: str = TEXT) -> Subject:
    return Subject.of(load(folder, device="cpu"), text, folder=folder)


def panel(shown: Exhibit, kind: type, words: str) -> Any:
    (found,) = [p for p in shown.panels if isinstance(p, kind) and words in p.title]
    return found


@pytest.mark.parametrize("position", POSITIONS)
def test_chances_and_attention_are_those_of_each_steps_modules(tmp_path, position: str):
    folder = run_of(tmp_path / "run", position=position)
    shown = show(looked_at(folder), LearningKnobs())
    chances, heads = panel(shown, Matrix, "really came"), panel(shown, Matrix, "each head")
    curves, loss = panel(shown, Curves, "previous token"), panel(shown, Curves, "this text")
    assert list(chances.rows) == list(heads.rows) == [str(step) for step in STEPS]
    for n, step in enumerate(STEPS):
        model, tokenizer, _ = load_model(folder, step=step)
        ids = torch.tensor([[tokenizer.end_id, *tokenizer.encode(TEXT)]])
        with torch.no_grad():
            logits = model(ids).logits
            pattern = patterns(model, ids[:, :-1])[:, 0]  # type: ignore[arg-type]  # [L, H, T, T]
        assert logits is not None
        p = logits[0, :-1].softmax(-1).gather(1, ids[0, 1:, None])[:, 0]
        np.testing.assert_allclose(chances.values[n], p, rtol=1e-4)
        assert loss.lines["loss"][n] == pytest.approx(-float(p.log().mean()), rel=1e-4)
        previous = pattern.diagonal(offset=-1, dim1=-2, dim2=-1).mean(dim=-1).flatten()
        np.testing.assert_allclose(heads.values[1, n], previous, atol=1e-5)
        for i, name in enumerate(heads.columns):
            assert curves.lines[name][n] == pytest.approx(float(previous[i]), abs=1e-5)
    assert list(loss.x) == [1, 4, 30]  # 0 has no place on a logarithmic axis


def test_neighbours_are_those_of_each_steps_table(tmp_path):
    folder = run_of(tmp_path / "run")
    shown = show(looked_at(folder), LearningKnobs(character="霜", k=3))
    table = panel(shown, Table, "nearest to 霜")
    for step, row in zip(STEPS, table.rows, strict=True):
        model, tokenizer, _ = load_model(folder, step=step)
        rows = model.get_parameter("embedding.weight").detach().double()
        rows = rows / rows.norm(dim=1, keepdim=True)
        mine = tokenizer.encode("霜")[0]
        others = [i for i in range(len(rows)) if tokenizer.decode([i]) and i != mine]
        others = [i for i in others if i not in tokenizer.never_sampled and i != tokenizer.end_id]
        nearest = sorted(others, key=lambda i: -float(rows[i] @ rows[mine]))[:3]
        assert row == [step, " ".join(tokenizer.decode([i]) for i in nearest)]


def test_with_the_runs_text_only_frequent_tokens_are_neighbours(tmp_path):
    looked = with_text(looked_at(run_of(tmp_path / "run")), train=["床前明月"] * 10, val=["明月光"])
    shown = show(looked, LearningKnobs(character="月", k=20))
    for _, names in panel(shown, Table, "nearest to 月").rows:
        assert set(names.split()) == set("床前明")


def test_the_log_is_drawn_as_it_was_written(tmp_path):
    shown = show(looked_at(run_of(tmp_path / "run")), LearningKnobs())
    logged, looks = panel(shown, Curves, "logged"), panel(shown, Curves, "each look")
    np.testing.assert_allclose(logged.lines["training"], 5 - np.arange(1, 31) / 10)
    np.testing.assert_array_equal(logged.x, np.arange(1, 31))
    np.testing.assert_array_equal(looks.lines["held out"], [3.0, 2.5, 2.75])
    np.testing.assert_array_equal(looks.x, [10, 20, 30])
    assert panel(shown, Table, "wrote").rows[0] == [10, "明月 ↵ 光"]
    assert shown.verdicts[-1].holds is False  # held-out loss rises at the end
    assert "2.500 at step 20" in shown.verdicts[-1].measured


def test_verdicts_follow_the_steps_and_may_be_negative(tmp_path):
    folder = run_of(tmp_path / "run")
    shown = show(looked_at(folder), LearningKnobs())
    loss = panel(shown, Curves, "this text").lines["loss"]
    assert shown.verdicts[0].holds is bool(loss[-1] < loss[0])
    first, last = (folder / "snapshots" / f"step-{s:06d}.safetensors" for s in (0, 30))
    begun, ended = first.read_bytes(), last.read_bytes()
    first.write_bytes(ended)
    last.write_bytes(begun)
    turned = show(looked_at(folder), LearningKnobs())
    assert turned.verdicts[0].holds is not shown.verdicts[0].holds
    first.write_bytes(begun)  # now nothing has changed between the first and the last
    (folder / "snapshots" / "step-000004.safetensors").write_bytes(begun)
    (folder / "log.jsonl").unlink()
    still = show(looked_at(folder), LearningKnobs())
    assert [v.holds for v in still.verdicts] == [False, None, False, None]
    assert still.verdicts[2].measured == "no head does so more than at first"
    assert any("log.jsonl" in note for note in still.notes)


def test_the_head_that_gains_most_is_named_with_its_step(tmp_path):
    folder = run_of(tmp_path / "run", steps=[0, 40], position="none")
    shown = show(looked_at(folder), LearningKnobs())
    score = panel(shown, Matrix, "each head").values  # [jobs, N, L · H]
    gain = np.nan_to_num(score[:, -1] - score[:, 0], nan=-1)
    job, head = np.unravel_index(gain.argmax(), gain.shape)
    said = shown.verdicts[2]
    assert said.holds is bool(gain.max() >= 0.3)
    assert f"head {head // 2}.{head % 2}," in said.measured
    assert f"{score[job, 0, head]:.2f} → {score[job, -1, head]:.2f}" in said.measured
    assert said.measured.endswith("by step 40")


def test_a_model_that_sees_both_sides_is_asked_for_no_next_token(tmp_path):
    shown = show(looked_at(run_of(tmp_path / "run", causal=False)), LearningKnobs())
    assert not [p for p in shown.panels if "came next" in p.title]
    assert any("both sides" in note for note in shown.notes)
    assert len(shown.verdicts) == 2


def test_of_one_snapshot_nothing_can_be_told(tmp_path):
    shown = show(looked_at(run_of(tmp_path / "run", steps=[7])), LearningKnobs())
    assert [v.holds for v in shown.verdicts[:3]] == [None, None, None]


def test_without_snapshots_one_line_says_how_to_get_them(tmp_path):
    folder = run_of(tmp_path / "run")
    for path in (folder / "snapshots").iterdir():
        path.unlink()
    with pytest.raises(UserError, match="--snapshots 8") as raised:
        show(looked_at(folder), LearningKnobs())
    assert "\n" not in str(raised.value)
    with pytest.raises(UserError, match="run folder"):
        show(Subject.of(load(folder, device="cpu"), TEXT), LearningKnobs())


def test_many_steps_are_thinned_evenly_with_both_ends():
    assert spread([3]) == [3]
    few = spread(list(range(1000)))
    assert len(few) == MOST and few[0] == 0 and few[-1] == 999
    assert max(np.diff(few)) - min(np.diff(few)) <= 1


@pytest.mark.parametrize("n", [1, 30, 3000, 200_000])
def test_the_first_steps_of_the_log_stay_apart_and_no_two_points_lie_on_each_other(n: int) -> None:
    groups = _together(np.arange(1, n + 1))
    assert np.concatenate(groups).tolist() == list(range(n)) and len(groups) <= POINTS + 1
    assert all(len(group) == 1 for group in groups[:10])
    ends = np.array([group[-1] + 1 for group in groups])
    if n > POINTS:
        assert np.diff(np.log(ends)).max() <= np.log(2) + 1e-9


def test_a_long_sample_is_cut_and_says_so() -> None:
    assert _short("床前\n明月") == "床前 ↵ 明月"
    assert len(_short("月" * 99)) == 60 and _short("月" * 99).endswith("…")
