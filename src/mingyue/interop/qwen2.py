"""The layout of Qwen2 and Qwen2.5 (Yang et al. 2024): Llama's, with biases on queries, keys and
values."""

from collections.abc import Mapping
from typing import Any

from mingyue.interop import llama, rotary
from mingyue.interop.refusals import refuse_unless, refuse_windows
from mingyue.model.config import ModelConfig

MODEL_TYPE = "qwen2"
ARCHITECTURE = "Qwen2ForCausalLM"

names = llama.names

DEFAULTS = {
    "vocab_size": 151_936,
    "hidden_size": 4096,
    "intermediate_size": 22_016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32_768,
    "rms_norm_eps": 1e-6,
}


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return (
        rotary.fits(config)
        and config.activation == "swiglu"
        and not config.qk_norm
        and not config.post_norm
        and config.qkv_bias
        and not config.out_bias
    )


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Their settings from ours."""
    return {**rotary.to_config(config), "hidden_act": "silu", "use_sliding_window": False}


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    refuse_unless(raw, hidden_act="silu")
    ours = rotary.from_config(raw, DEFAULTS)
    refuse_windows(raw, ours["n_layer"], ours["block_size"])
    return ModelConfig.checked(**ours, activation="swiglu", qk_norm=False, attention_bias="qkv")
