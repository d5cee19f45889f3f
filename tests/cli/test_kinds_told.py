"""What is said of a run, at its end and by ``info``, is true for its kind of model."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Call
from tests.cli.test_next import KINDS

TEXT = ["poems.txt", "--documents", "blank"]
TRUE = {
    "gpt": (["heads: 2, each 16 wide", "optimizer muon", "matrix_rate", "nats per token"], []),
    "both sides": (["bidirectional", "nats per masked token", "none; opens in Mingyue"], []),
    "lstm": (["LSTM", "optimizer muon", "block_size: 16", "nats per token"], ["heads:", "order"]),
    "gru": (["GRU", "gates: from the state", "matrix_rate"], ["heads:", "d_ff"]),
    "word2vec": (
        ["window: 5", "negatives: 5", "table of company", "optimizer adamw", "nats per pair"],
        ["matrix_rate", "blocks:", "output head", "nats per token"],
    ),
    "ngram": (
        ["order: 2", "1-grams", "2-grams", "nats per token"],
        ["optimizer", "schedule", "batch_size", "rate ", "seed", "steps:", "blocks:", "d_model"],
    ),
}


@pytest.mark.parametrize("kind", TRUE)
def test_info_shows_what_the_kind_has_and_used(call: Call, tmp_path: Path, kind: str):
    folder = str(tmp_path / "run")
    done = call("train", *TEXT, "--out", folder, *KINDS[kind])
    assert done.code == 0, done.err
    shown = call("info", folder).out.partition("Origin")[0]
    has, lacks = TRUE[kind]
    assert [word for word in has if word not in shown] == []
    assert [word for word in lacks if word in shown] == []
    unit = next(word for word in ("masked token", "pair", "token") if f"nats per {word}" in shown)
    assert f"nats per {unit}" in done.out
    assert f"learning: {'adamw' if kind == 'word2vec' else 'muon'}" in done.out or kind == "ngram"
    values = json.loads(call("info", folder, "--json").out)
    assert values["status"] == "done" and values["model"]["kind"] == KINDS_OF.get(kind, kind)
    assert sum(values["parameters_by_part"].values()) == values["parameters"]


KINDS_OF = {"both sides": "gpt"}


@pytest.mark.parametrize(
    ("kind", "said", "named"),
    [
        ("ngram", ["--minutes", "1", "--snapshots", "4"], "minutes, snapshots"),
        ("ngram", ["--learning-rate", "0.1", "--eval-tokens", "99"], "learning_rate"),
        ("ngram", ["--eval-tokens", "99", "--sample-prompt", "天", "--snapshots", "0"], None),
        ("word2vec", ["--matrix-rate", "0.1", "--sample-prompt", "天"], "sample_prompt"),
        ("both sides", ["--sample-prompt", "天"], "sample_prompt"),
        ("gpt", ["--optimizer", "adamw", "--matrix-rate", "0.1"], "matrix_rate"),
        ("gpt", ["--schedule", "cosine", "--decay-fraction", "0.3"], "decay_fraction"),
        ("gpt", ["--vocab-size", "300"], "vocab_size"),
        ("gru", ["--tokenizer", "byte", "--min-count", "2"], "min_count"),
        ("lstm", ["--matrix-rate", "0.1", "--snapshots", "2", "--sample-prompt", "天"], None),
    ],
)
def test_settings_without_effect_are_named(
    call: Call, tmp_path: Path, kind: str, said: list[str], named: str | None
):
    done = call("train", *TEXT, "--out", str(tmp_path / "run"), *KINDS[kind], *said)
    assert done.code == 0, done.err
    lines = [line for line in done.out.splitlines() if "without effect" in line]
    assert len(lines) == (named is not None)
    assert named is None or (lines[0].startswith("an n-gram") == (kind == "ngram"))
    assert named is None or named in lines[0]


def test_counting_is_not_logged(call: Call, tmp_path: Path):
    out = tmp_path / "run"
    done = call("train", *TEXT, "--out", str(out), "--model", "ngram", "--log", "tensorboard")
    assert done.code == 0 and "--log has no effect" in done.out
    assert not (out / "tensorboard").exists()


def test_one_step_is_one(call: Call, tmp_path: Path):
    one = [*KINDS["gpt"], "--steps", "1", "--batch-size", "1"]
    done = call("train", *TEXT, "--out", str(tmp_path / "run"), *one)
    assert done.code == 0, done.err
    assert "done: 1 step;" in done.out and "(1 row)" in done.out and "length: 1 step\n" in done.out
    assert "1 steps" not in done.out and "1 rows" not in done.out


@pytest.mark.parametrize("kind", ["lstm", "gru", "ngram"])
def test_a_form_of_writing_for_gpts_is_refused_as_such(call: Call, tmp_path: Path, kind: str):
    folder = str(tmp_path / "run")
    assert call("train", *TEXT, "--out", folder, *KINDS[kind]).code == 0
    for form in (["--precision", "int8"], ["--compile"]):
        done = call("write", folder, "天", *form)
        assert done.code == 2 and "for a GPT" in done.err and done.err.count("\n") == 1
