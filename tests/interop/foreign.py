"""Model folders as transformers makes them: random models of each family in all their freedom,
and tokenizers built like those that these families have."""

import json
import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import strategies as st
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

TEXTS = [
    "床前明月光，疑是地上霜。\n舉頭望明月，低頭思故鄉。",
    "The cat sat on the mat, and the hat was red.",
    "  two  blanks\t1984 — it's naïve 🐈",
] * 3
LENGTH = 32


@cache
def transformers() -> Any:
    """Imported once, and quiet."""
    module = pytest.importorskip("transformers")
    module.logging.set_verbosity_error()
    module.logging.disable_progress_bar()
    warnings.filterwarnings("ignore", module="transformers")
    return module


def theirs(folder: str | Path, **settings: Any) -> Any:
    """The model of a folder, opened by transformers; nothing may be missing or left over."""
    model, found = transformers().AutoModelForCausalLM.from_pretrained(
        str(folder), output_loading_info=True, **settings
    )
    assert not any(found.values()), found
    return model.eval()


# Models

_ROPE = st.sampled_from(
    [
        {"rope_type": "default"},
        {"rope_type": "linear", "factor": 2.0},
        {"rope_type": "dynamic", "factor": 3.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
        *(
            {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": low,
                "high_freq_factor": high,
                "original_max_position_embeddings": 24,
            }
            for low, high in ((1.0, 4.0), (0.3, 1.1))
        ),
    ]
)


@st.composite
def settings_of(draw: st.DrawFn, family: str) -> dict[str, Any]:
    """Random settings that transformers takes for this family."""
    if family == "gpt2":
        return {
            "n_embd": draw(st.sampled_from([16, 24])),
            "n_layer": draw(st.integers(1, 2)),
            "n_head": draw(st.sampled_from([1, 2, 4])),
            "n_inner": draw(st.sampled_from([None, 37])),
            "n_positions": LENGTH,
            "activation_function": draw(
                st.sampled_from(["gelu_new", "gelu", "gelu_pytorch_tanh", "relu2"])
            ),
            "layer_norm_epsilon": draw(st.sampled_from([1e-5, 1e-2])),
            "tie_word_embeddings": draw(st.booleans()),
        }
    kv_heads = draw(st.sampled_from([1, 2]))
    theta = draw(st.sampled_from([100.0, 10_000.0, 500_000.0]))
    settings = {
        "hidden_size": 24,
        "intermediate_size": draw(st.sampled_from([20, 37])),
        "num_hidden_layers": draw(st.integers(1, 2)),
        "num_attention_heads": kv_heads * draw(st.sampled_from([1, 2])),
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.sampled_from([8, 12, 20])),
        "max_position_embeddings": LENGTH,
        "rms_norm_eps": draw(st.sampled_from([1e-6, 1e-2])),
        "rope_parameters": {"rope_theta": theta, **draw(_ROPE)},
        "tie_word_embeddings": draw(st.booleans()),
    }
    if family in ("llama", "arcee"):
        settings["attention_bias"] = draw(st.booleans())
        settings["mlp_bias"] = settings["attention_bias"] and draw(st.booleans())
    if family in ("qwen3", "glm", "glm4"):
        settings["attention_bias"] = draw(st.booleans())
    if family in ("qwen2", "qwen3") and draw(st.booleans()):  # a window that no layer has
        settings |= {"use_sliding_window": True, "max_window_layers": 2, "sliding_window": 4}
    if family in ("glm", "glm4"):
        fraction = draw(st.sampled_from([None, 0.5, 1.0]))
        if fraction is not None:
            settings["rope_parameters"]["partial_rotary_factor"] = fraction
    return settings


FAMILIES = ["gpt2", "llama", "qwen2", "qwen3", "arcee", "glm", "glm4"]

USUAL: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 24, "n_layer": 2, "n_head": 2, "n_positions": 64},
    **{
        family: {
            "hidden_size": 24,
            "intermediate_size": 40,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "head_dim": 12,
            "max_position_embeddings": 64,
        }
        for family in FAMILIES[1:]
    },
}
USUAL["llama"]["rope_parameters"] = {
    "rope_theta": 500_000.0,
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
"""What a folder of each family says, only smaller."""


def random_model(family: str, vocab_size: int, seed: int = 0, **settings: Any) -> Any:
    """A model of transformers with large random weights, so that no part of it is silent."""
    settings = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0, **settings}
    config = transformers().AutoConfig.for_model(family, vocab_size=vocab_size, **settings)
    model = transformers().AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            norm = ("norm" in name or ".ln_" in name) and name.endswith("weight")
            parameter.normal_(1.0 if norm else 0.0, 0.3)
    return model


# Tokenizers

_GPT4 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def _bytes(special: list[str], *, cut: str | None) -> Tokenizer:
    """Byte-level BPE: GPT-2's way to cut words, or a later one."""
    backend = Tokenizer(models.BPE())
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=cut is None)
    if cut is not None:
        first = pre_tokenizers.Split(Regex(cut), "isolated")
        whole = pre_tokenizers.Sequence([first, whole])
        backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer, backend.decoder = whole, decoders.ByteLevel()
    backend.train_from_iterator(
        TEXTS,
        trainers.BpeTrainer(
            vocab_size=320,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in special])
    return backend


def _begun(backend: Tokenizer, *marks: str) -> Tokenizer:
    """Every text begins with these marks."""
    ids = [(mark, backend.token_to_id(mark)) for mark in marks]
    backend.post_processor = processors.TemplateProcessing(
        single=" ".join([*marks, "$A"]), pair=" ".join([*marks, "$A $B"]), special_tokens=ids
    )
    return backend


def _pieces() -> Tokenizer:
    """As SentencePiece made Llama's: blanks are ▁, and what it lacks is written in bytes."""
    special = ["<unk>", "<s>", "</s>"]
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    backend.train_from_iterator(
        TEXTS[1:2] * 3 + ["明月"],
        trainers.BpeTrainer(vocab_size=90, special_tokens=special, show_progress=False),
    )
    state = json.loads(backend.to_str())
    pieces = [p for p in state["model"]["vocab"] if p not in special]
    order = [*special, *(f"<0x{b:02X}>" for b in range(256)), *pieces]
    state["model"] |= {
        "vocab": {piece: id for id, piece in enumerate(order)},
        "unk_token": "<unk>",
        "byte_fallback": True,
        "fuse_unk": True,
    }
    backend = Tokenizer.from_str(json.dumps(state))
    backend.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    return _begun(backend, "<s>")


_END = "<|endoftext|>"
_TALK = [_END, "<|im_start|>", "<|im_end|>"]

TOKENIZERS: dict[str, tuple[Any, dict[str, Any]]] = {
    "gpt2": (
        lambda: _bytes([_END], cut=None),
        {"tokenizer_class": "GPT2Tokenizer", "bos_token": _END, "unk_token": _END},
    ),
    "qwen2": (
        lambda: _bytes(_TALK, cut=_GPT4),
        {"tokenizer_class": "Qwen2Tokenizer", "bos_token": None, "eos_token": "<|im_end|>"},
    ),
    "llama2": (_pieces, {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}),
    "llama": (
        lambda: _begun(
            _bytes(["<|begin_of_text|>", "<|end_of_text|>"], cut=_GPT4), "<|begin_of_text|>"
        ),
        {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"},
    ),
    "glm": (
        lambda: _begun(_bytes([_END, "[gMASK]", "<sop>"], cut=_GPT4), "[gMASK]", "<sop>"),
        {"pad_token": _END},
    ),
}
"""By the family whose way it is; the second is ``tokenizer_config.json``."""

TOKENIZERS |= {"qwen3": TOKENIZERS["qwen2"], "glm4": TOKENIZERS["glm"]}
TOKENIZERS["arcee"] = TOKENIZERS["llama"]


@cache
def _made(kind: str) -> str:
    return TOKENIZERS[kind][0]().to_str()


def save_tokenizer(kind: str, folder: Path) -> None:
    """Write its two files."""
    usual = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": _END}
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "tokenizer.json").write_text(_made(kind), "utf-8")
    config = {**usual, **TOKENIZERS[kind][1]}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")


def save_family(family: str, folder: Path, seed: int = 0, **settings: Any) -> Any:
    """A whole folder of a family, its own kind of tokenizer too; the model."""
    save_tokenizer(family, folder)
    tokenizer = transformers().AutoTokenizer.from_pretrained(str(folder))
    first = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    marks = {"bos_token_id": first, "eos_token_id": tokenizer.eos_token_id, "pad_token_id": None}
    size = len(tokenizer) + 3  # rows for nothing, as most have
    model = random_model(family, size, seed, **{**USUAL[family], **marks, **settings})
    model.save_pretrained(folder)
    return model
