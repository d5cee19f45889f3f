"""Small models of every family, and a tokenizer for them."""

from collections import Counter
from typing import Any

from hypothesis import strategies as st

from mingyue.model.config import ModelConfig, preset
from mingyue.text.tokenizer import Tokenizer

TOKENIZER = Tokenizer.characters(Counter("床前明月光，疑是地上霜。舉頭望明月，低頭思故鄉。"))
SIZES = {"vocab_size": TOKENIZER.vocab_size, "block_size": 24, "n_layer": 2, "d_model": 32}


def small(*presets: str, **values: Any) -> ModelConfig:
    """A tiny model of a family, some words changed."""
    named = {k: v for name in presets for k, v in preset(name).items()}
    return ModelConfig.checked(**{**SIZES, "n_head": 4, **named, **values})


@st.composite
def gpt2_like(draw: st.DrawFn) -> ModelConfig:
    return small(
        "gpt2",
        position=draw(st.sampled_from(["learned", "sinusoidal"])),
        n_head=draw(st.sampled_from([1, 2, 4])),
        n_layer=draw(st.integers(1, 2)),
        d_ff=draw(st.sampled_from([None, 37])),
        activation=draw(st.sampled_from(["gelu", "gelu_tanh", "relu2"])),
        bias=draw(st.booleans()),
        tie_embeddings=draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-5, 1e-2])),
        dropout=draw(st.sampled_from([0.0, 0.1])),
    )


@st.composite
def rotary_like(draw: st.DrawFn) -> ModelConfig:
    """Llama, Qwen3 and Arcee in all their freedom."""
    kind = draw(st.sampled_from(["llama", "qwen3", "arcee"]))
    kv_heads = draw(st.sampled_from([1, 2]))
    scaling = draw(st.sampled_from(["none", "linear", "ntk", "yarn"]))
    return small(
        n_head=kv_heads * draw(st.sampled_from([1, 2])),
        n_kv_head=kv_heads,
        d_head=draw(st.sampled_from([None, 6, 12])),
        n_layer=draw(st.integers(1, 2)),
        d_ff=draw(st.sampled_from([None, 37])),
        activation="relu2" if kind == "arcee" else "swiglu",
        qk_norm=kind == "qwen3",
        bias=draw(st.booleans()) and kind != "qwen3",
        tie_embeddings=draw(st.booleans()),
        norm_eps=draw(st.sampled_from([1e-6, 1e-2])),
        rope={
            "base": draw(st.sampled_from([50.0, 10_000.0])),
            "scaling": scaling,
            "factor": 1.0 if scaling == "none" else draw(st.sampled_from([1.0, 2.0, 3.5])),
            "original_block_size": draw(st.sampled_from([None, 12, 100])),
        },
    )


ONLY_OURS = [
    small(position="alibi"),
    small(position="none"),
    small(causal=False),
    small(n_layer=0),
    small("gpt2", qk_norm=True),
    small("gpt2", position="rope"),
    small("gpt2", norm="rmsnorm", n_head=2, n_kv_head=1),
    small(position="sinusoidal", dropout=0.1),
    small(activation="relu2"),  # with QK-norm, which Arcee has not
    small(bias=True),  # with QK-norm, where Qwen3 has none in the feed-forward layer
    small(rope={"fraction": 0.5}),  # with QK-norm, which GLM has not
    small(rope={"scaling": "yarn", "factor": 8.0}),  # original length 3: no pair turns once
    small("llama", n_head=3, n_kv_head=1, d_head=8, bias=True),  # 32 is no multiple of 3
    small(attention_bias="qkv"),  # with QK-norm, where Qwen3 has all or none
    small("qwen2", activation="relu2"),
    small("glm4", qk_norm=True),
    small("gpt2", post_norm=True),
]
