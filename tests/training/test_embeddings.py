"""Given vectors reach their rows, whatever the file's format."""

import json

import numpy as np
import pytest
import safetensors.numpy
import torch

from mingyue.errors import UserError
from mingyue.interop.run_folder import load_model
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer
from mingyue.training.embeddings import start_from
from mingyue.training.run import train

from .conftest import SETTINGS

TOKENIZER = Tokenizer.characters({"月": 5, "光": 4, " ": 3, "霜": 2})
V = TOKENIZER.vocab_size
VECTORS = np.arange(3 * 8, dtype=np.float32).reshape(3, 8) / 10
WORDS = ["月", " ", "鱼"]  # one of them is not in the vocabulary


def make(width=8):
    torch.manual_seed(0)
    return GPT(ModelConfig(vocab_size=V, block_size=4, n_layer=1, n_head=1, d_model=width))


def row(model, character):
    return model.embedding.weight[TOKENIZER.encode(character)[0]].detach().numpy()


@pytest.mark.parametrize("header", [True, False])
def test_text(tmp_path, header):
    path = tmp_path / "vectors.txt"
    lines = [f"{w} " + " ".join(map(str, v)) for w, v in zip(WORDS, VECTORS, strict=True)]
    path.write_text("\n".join((["3 8"] if header else []) + lines) + "\n", encoding="utf-8")
    model = make()
    assert start_from(model, TOKENIZER, path) == 2
    assert np.array_equal(row(model, "月"), VECTORS[0])
    assert np.array_equal(row(model, " "), VECTORS[1])
    assert model.embedding.weight.requires_grad


def test_safetensors_with_its_vocabulary(tmp_path):
    path = tmp_path / "vectors.safetensors"
    safetensors.numpy.save_file({"any": VECTORS}, path, {"vocabulary": json.dumps(WORDS)})
    model = make()
    assert start_from(model, TOKENIZER, path, freeze=True) == 2
    assert np.array_equal(row(model, "月"), VECTORS[0])
    assert not model.embedding.weight.requires_grad


def test_npy_in_the_order_of_ids(tmp_path):
    table = np.random.default_rng(0).normal(size=(V, 8))
    np.save(tmp_path / "table.npy", table)
    model = make()
    assert start_from(model, TOKENIZER, tmp_path / "table.npy") == V
    assert np.array_equal(model.embedding.weight.detach().numpy(), table.astype(np.float32))


def test_rows_that_are_not_given_get_the_size_of_those_that_are(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("月 " + " ".join(["3.0"] * 8), encoding="utf-8")
    model = make()
    start_from(model, TOKENIZER, path)
    assert 1 < np.abs(row(model, "光")).max() < 12


@pytest.mark.parametrize(
    ("name", "content", "named"),
    [
        ("none.txt", None, "no such file"),
        ("wide.txt", "月 1 2 3", "d_model"),
        ("strange.txt", "鱼 " + "1 " * 8, "vocabulary"),
        ("words.txt", "月 a b c d e f g h", "vectors"),
        ("ragged.txt", "月 1 2 3 4 5 6 7 8\n光 1 2", "vectors"),
        ("empty.txt", "", "vectors"),
        ("nan.txt", "月 " + "nan " * 8, "finite"),
        ("bad.npy", "not numpy", "vectors"),
        ("bad.safetensors", "not safetensors", "vectors"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(tmp_path, name, content, named):
    path = tmp_path / name
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=named) as refusal:
        start_from(make(), TOKENIZER, path)
    assert "\n" not in str(refusal.value)


def test_wrong_number_of_rows_and_pickles_are_refused(tmp_path):
    np.save(tmp_path / "short.npy", np.zeros((V - 1, 8)))
    with pytest.raises(UserError, match=str(V)):
        start_from(make(), TOKENIZER, tmp_path / "short.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError):
        start_from(make(), TOKENIZER, tmp_path / "objects.npy")


def test_a_frozen_table_comes_out_of_training_as_it_went_in(poems, tmp_path):
    train(poems, tmp_path / "first", steps=2, **SETTINGS)
    given = tmp_path / "first" / "model.safetensors"
    first, _, _ = load_model(tmp_path / "first")
    settings = {**SETTINGS, "embeddings": str(given), "seed": 4, "embedding_rate": 0.004}
    train(poems, tmp_path / "frozen", steps=3, freeze_embeddings=True, **settings)
    frozen, tokenizer, _ = load_model(tmp_path / "frozen")
    train(poems, tmp_path / "free", steps=3, **settings)
    free, _, _ = load_model(tmp_path / "free")
    rows = [i for i in range(tokenizer.vocab_size) if tokenizer.decode([i])]
    start = first.embedding.weight[rows]
    assert torch.equal(frozen.embedding.weight[rows], start)
    assert not torch.equal(free.embedding.weight[rows], start)
    assert (free.embedding.weight[rows] - start).abs().max() < 0.05
