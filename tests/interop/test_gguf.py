"""What we write as GGUF, llama.cpp reads and computes as we do."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch

from mingyue.errors import UserError
from mingyue.interop import gguf as ours
from mingyue.interop.run_folder import save_model
from mingyue.model.config import ModelConfig, preset
from mingyue.model.gpt import GPT
from mingyue.text.tokenizer import Tokenizer
from tests.model.configs import lively

gguf = pytest.importorskip("gguf")

TEXT = "床前 明月\n𠀀 a 。"
CHARACTERS = Tokenizer.characters(
    Counter("床前明月光，疑是地上霜。舉頭望明月，低頭思 故鄉。\n a𠀀▁")
)
BYTES = Tokenizer.bytes()
PAIRS = Tokenizer.train_bpe(["hello hello world 明月 明月 the the there's 12"] * 5, 300)

PLAIN = {"qk_norm": False}
MODELS: dict[str, dict[str, Any]] = {
    "qwen3": {},
    "qwen3, shared keys, tied": {"n_kv_head": 2, "tie_embeddings": True},
    "llama": PLAIN,
    "llama with biases": {**PLAIN, "bias": True, "n_kv_head": 2},
    "arcee": {**PLAIN, "activation": "relu2"},
    "gpt2": preset("gpt2"),
    "gpt2, no biases, clock": {**preset("gpt2"), "bias": False, "position": "sinusoidal"},
    "linear": {"rope": {"scaling": "linear", "factor": 2.0}},
    "ntk": {"rope": {"scaling": "ntk", "factor": 2.0}},
    "yarn": {"rope": {"scaling": "yarn", "factor": 2.0, "original_block_size": 32}},
    "more rows than tokens": {"vocab_size": CHARACTERS.vocab_size + 5},
}


def model(tokenizer: Tokenizer = CHARACTERS, **values: Any) -> GPT:
    sizes = {"block_size": 64, "n_layer": 2, "n_head": 4, "d_head": 16, "d_model": 64}
    return lively(ModelConfig.checked(**{"vocab_size": tokenizer.vocab_size, **sizes, **values}))


def saved(made: GPT, tokenizer: Tokenizer, folder: Path, stored: Any = "f32") -> Path:
    save_model(made, tokenizer, folder / "run")
    ours.save_gguf(folder / "run", folder / "sub" / "model.gguf", stored)
    return folder / "sub" / "model.gguf"


def logits_of_llama_cpp(path: Path, ids: list[int]) -> torch.Tensor:
    llama_cpp = pytest.importorskip("llama_cpp")
    # Keys and values in f32 (type 0), which it would else keep in f16.
    exact = {"type_k": 0, "type_v": 0}
    llama = llama_cpp.Llama(str(path), n_ctx=64, logits_all=True, verbose=False, **exact)
    llama.eval(ids)
    return torch.tensor(llama.scores[: len(ids)])


def logits(made: GPT, ids: list[int]) -> torch.Tensor:
    with torch.no_grad():
        found = made(torch.tensor([ids])).logits
    assert found is not None
    return found[0]


def error(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a - b).abs().max() / b.abs().max())


@pytest.mark.parametrize("name", MODELS)
def test_llama_cpp_computes_the_same(name: str, tmp_path: Path) -> None:
    made = model(**MODELS[name])
    ids = [CHARACTERS.end_id, *CHARACTERS.encode(TEXT)]
    found = logits_of_llama_cpp(saved(made, CHARACTERS, tmp_path), ids)
    assert error(found, logits(made, ids)) < 1e-3  # it looks activations up in tables of f16


@pytest.mark.parametrize(("stored", "bound"), [("f16", 0.01), ("bf16", 0.05), ("q8_0", 0.1)])
def test_narrow_types(stored: str, bound: float, tmp_path: Path) -> None:
    made = model()
    ids = [CHARACTERS.end_id, *CHARACTERS.encode(TEXT)]
    found = logits_of_llama_cpp(saved(made, CHARACTERS, tmp_path, stored), ids)
    wanted = logits(made, ids)
    assert (found - wanted).norm() / wanted.norm() < bound


@pytest.mark.parametrize(
    ("tokenizer", "text"),
    [(CHARACTERS, TEXT), (BYTES, TEXT + "\x00\x00 é"), (PAIRS, "hello there's  明月 12\n\n x")],
)
def test_llama_cpp_cuts_text_as_we_do(tokenizer: Tokenizer, text: str, tmp_path: Path) -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    path = saved(model(tokenizer), tokenizer, tmp_path)
    llama = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    ids = llama.tokenize(text.encode(), add_bos=True, special=False)
    assert ids == [tokenizer.end_id, *tokenizer.encode(text)]
    assert llama.detokenize(ids).decode() == text
    assert llama.token_eos() == tokenizer.end_id


def test_a_character_outside_the_vocabulary(tmp_path: Path) -> None:
    llama_cpp = pytest.importorskip("llama_cpp")
    path = saved(model(), CHARACTERS, tmp_path)
    llama = llama_cpp.Llama(str(path), vocab_only=True, verbose=False)
    ids = llama.tokenize("床龘前".encode(), add_bos=False, special=False)
    assert ids == CHARACTERS.encode("床龘前")


@pytest.mark.parametrize("stored", ["f32", "f16", "bf16", "q8_0"])
def test_tensors_and_settings(stored: str, tmp_path: Path) -> None:
    """As the package's own reader finds them."""
    made = model(d_ff=40)  # no multiple of 32: what q8_0 cannot hold stays f16
    reader = gguf.GGUFReader(saved(made, CHARACTERS, tmp_path, stored))

    def field(name: str) -> Any:
        return reader.get_field(name).contents()

    assert field("general.architecture") == "qwen3"
    assert field("qwen3.block_count") == 2
    assert field("qwen3.attention.layer_norm_rms_epsilon") == pytest.approx(1e-6)
    assert field("tokenizer.ggml.bos_token_id") == CHARACTERS.end_id
    tokens = field("tokenizer.ggml.tokens")
    assert len(tokens) == CHARACTERS.vocab_size == len(set(tokens))
    assert tokens[CHARACTERS.encode(" ")[0]] == "▁"
    kinds = {tensor.name: tensor.tensor_type.name.lower() for tensor in reader.tensors}
    assert len(kinds) == 2 * 11 + 3
    assert kinds["blk.1.attn_q.weight"] == kinds["token_embd.weight"] == stored
    assert kinds["blk.1.attn_q_norm.weight"] == "f32"
    assert kinds["blk.1.ffn_down.weight"] == ("f16" if stored == "q8_0" else stored)
    values = {
        t.name: torch.tensor(gguf.quants.dequantize(t.data, t.tensor_type)) for t in reader.tensors
    }
    bound = {"f32": 0.0, "f16": 1e-3, "bf16": 1e-2, "q8_0": 1e-2}[stored]
    q = made.blocks[1].attention.qkv.weight[:64].detach()  # type: ignore[union-attr, index]
    assert error(values["blk.1.attn_q.weight"], q) <= bound
    assert error(values["output.weight"], made.unembedding.detach()) <= bound


def test_what_cannot_be_taken_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="alibi"):
        saved(model(position="alibi"), CHARACTERS, tmp_path)
    with pytest.raises(UserError, match="relu2"):
        saved(model(**{**preset("gpt2"), "activation": "relu2"}), CHARACTERS, tmp_path)
    with pytest.raises(UserError, match=r"q4_9.*q8_0"):
        saved(model(), CHARACTERS, tmp_path, "q4_9")
    assert not (tmp_path / "sub" / "model.gguf").exists()
    with pytest.raises(UserError, match="no such folder"):
        ours.save_gguf(tmp_path / "nowhere", tmp_path / "model.gguf")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(UserError, match=r"mingyue\[gguf\]"):
        saved(model(), CHARACTERS, tmp_path)
