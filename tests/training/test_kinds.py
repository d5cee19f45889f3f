"""All kinds of models go the same road: trained, resumed, saved, loaded, measured, writing."""

from typing import Any

import pytest
import torch

from mingyue.data.preparation import prepare
from mingyue.errors import UserError
from mingyue.evaluation.loss import evaluate
from mingyue.generation.writer import load
from mingyue.interop.run_folder import load_model
from mingyue.text.corpus import open_corpus
from mingyue.training.log import read_log
from mingyue.training.run import train

from .conftest import SETTINGS, Notes

SIZES: dict[str, dict[str, Any]] = {
    "lstm": {"d_model": 32, "n_layer": 2, "block_size": 16},
    "gru": {"d_model": 32, "n_layer": 1, "block_size": 16, "tie_embeddings": True},
    "word2vec": {"d_model": 16, "block_size": 16, "window": 3},
    "ngram": {"order": 3, "block_size": 16},
}
BOTH_SIDES = {"kind": "gpt", "d_model": 32, "n_layer": 2, "n_head": 2, "causal": False}
MODELS = [{"kind": kind, **sizes} for kind, sizes in SIZES.items()] + [BOTH_SIDES]
NAMES = [*SIZES, "both sides"]
each = pytest.mark.parametrize("model", MODELS, ids=NAMES)
learning = pytest.mark.parametrize(
    "model", [m for m in MODELS if m["kind"] != "ngram"], ids=[n for n in NAMES if n != "ngram"]
)


def run(poems, folder, model: dict[str, Any], steps: int = 40, **settings: Any):
    return train(poems, folder, **{**SETTINGS, "model": model, "steps": steps, **settings})


@each
def test_the_road(poems, tmp_path, model):
    notes = Notes()
    result = run(poems, tmp_path / "run", model, observer=notes)
    assert result.reason == "done"
    assert result.best_loss is not None
    if notes.evals:
        first = notes.evals[0].val_loss
        assert first is not None
        assert result.best_loss < first
        assert (notes.evals[0].bits_per_character is None) == (
            model["kind"] == "word2vec" or not model.get("causal", True)
        )
    loaded, tokenizer, about = load_model(tmp_path / "run")
    assert (loaded.config.kind, about["status"]) == (model["kind"], "done")
    assert any("Mingyue only" in message for message in notes.messages)
    held_out = prepare(open_corpus(poems, documents="line"), tokenizer).val
    assert held_out.n_documents
    writer = load(tmp_path / "run")
    if loaded.predicts:
        loss = evaluate(loaded, held_out, end_id=tokenizer.end_id)
        assert loss.nats_per_token == pytest.approx(result.best_loss, abs=1e-4)
        written = writer.generate("春江", n=3, seed=1, max_tokens=40)
        assert [w.text for w in written] == [
            w.text for w in writer.generate("春江", n=3, seed=1, max_tokens=40)
        ]
    else:
        with pytest.raises(UserError, match="no next-token loss"):
            evaluate(loaded, held_out, end_id=tokenizer.end_id)
        with pytest.raises(UserError, match="cannot"):
            writer.generate("春江")


@learning
def test_interrupted_and_resumed_is_the_same(poems, tmp_path, model):
    import os
    import signal

    def press(step: int) -> None:
        if step == 7:
            os.kill(os.getpid(), signal.SIGINT)

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    run(poems, whole, model, 15)
    assert run(poems, parts, model, 15, observer=Notes(press)).reason == "interrupted"
    assert train(None, parts, resume=True).reason == "done"
    one, other = (load_model(folder)[0].state_dict() for folder in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_counted_model_has_nothing_to_resume(poems, tmp_path):
    run(poems, tmp_path / "run", {"kind": "ngram"})
    (line,) = read_log(tmp_path / "run" / "log.jsonl")
    assert line["val_loss"] > 0
    with pytest.raises(UserError, match="counted in one go"):
        train(None, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("kind", "settings", "name"),
    [
        ("lstm", {"n_head": 2}, "n_head"),
        ("gru", {"position": "learned"}, "position"),
        ("ngram", {"d_model": 32}, "d_model"),
        ("word2vec", {"order": 3}, "order"),
        ("gpt", {"window": 3}, "window"),
    ],
)
def test_settings_of_another_kind_are_refused(poems, tmp_path, kind, settings, name):
    with pytest.raises(UserError, match=f"{name}: a model of the kind {kind}"):
        run(poems, tmp_path / "run", {"kind": kind, **settings})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["lstm", "gru", "word2vec"])
def test_the_dial_turns_for_them_too(poems, tmp_path, kind):
    notes = Notes()
    settings = {k: v for k, v in SETTINGS.items() if k not in ("model", "batch_size")}
    train(poems, tmp_path / "run", model={"kind": kind}, minutes=0.05, observer=notes, **settings)
    assert notes.runs[0].model.kind == kind
    assert notes.runs[0].total_steps is None


def test_vectors_of_word2vec_begin_a_gpt(poems, tmp_path):
    run(poems, tmp_path / "vectors", {"kind": "word2vec", "d_model": 32})
    table = load_model(tmp_path / "vectors")[0].embedding.weight
    train(
        poems,
        tmp_path / "run",
        **{**SETTINGS, "steps": 2},
        embeddings=str(tmp_path / "vectors" / "model.safetensors"),
        freeze_embeddings=True,
    )
    gpt, tokenizer, _ = load_model(tmp_path / "run")
    id = tokenizer.encode("春")[0]
    assert torch.equal(gpt.embedding.weight[id], table[id])


def test_damaged_counts_are_refused(poems, tmp_path):
    import safetensors.torch

    run(poems, tmp_path / "run", {"kind": "ngram"})
    path = tmp_path / "run" / "model.safetensors"
    tensors = safetensors.torch.load_file(path)
    tensors["keys_2"][5] = 10**15
    safetensors.torch.save_file(tensors, path, {"format": "pt"})
    with pytest.raises(UserError, match="damaged"):
        load_model(tmp_path / "run")
