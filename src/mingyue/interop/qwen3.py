"""The layout of Qwen3 (Yang et al. 2025): Llama's, with norms on queries and keys.

Mingyue's default recipe. Its biases, if any, are on attention alone.
"""

from collections.abc import Mapping
from typing import Any

from mingyue.interop import rotary
from mingyue.interop.refusals import refuse_unless, refuse_windows
from mingyue.interop.weights import Names
from mingyue.model.config import ModelConfig

MODEL_TYPE = "qwen3"
ARCHITECTURE = "Qwen3ForCausalLM"

_DEFAULTS = {
    "vocab_size": 151_936,
    "hidden_size": 4096,
    "intermediate_size": 22_016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": 32_768,
    "rms_norm_eps": 1e-6,
}


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return (
        rotary.fits(config)
        and config.activation == "swiglu"
        and config.qk_norm
        and not config.post_norm
        and not config.bias
        and config.qkv_bias == config.out_bias
    )


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Their settings from ours."""
    rest = {"hidden_act": "silu", "attention_bias": config.out_bias, "use_sliding_window": False}
    return {**rotary.to_config(config), **rest}


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    refuse_unless(raw, hidden_act="silu")
    ours = rotary.from_config(raw, _DEFAULTS)
    refuse_windows(raw, ours["n_layer"], ours["block_size"])
    biased = "all" if raw.get("attention_bias") else None
    return ModelConfig.checked(**ours, activation="swiglu", qk_norm=True, attention_bias=biased)


def names(config: ModelConfig) -> Names:
    """Their tensors by ours."""
    return rotary.names(config, {"up": ("gate_proj", "up_proj"), "down": ("down_proj",)})
