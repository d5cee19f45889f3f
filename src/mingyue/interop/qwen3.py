"""The layout of Qwen3 (Yang et al. 2025): Llama's, with norms on queries and keys.

Mingyue's default recipe. Its biases, if any, are on attention alone.
"""

from collections.abc import Mapping
from typing import Any

from mingyue.interop import llama, qwen2, rotary
from mingyue.interop.refusals import refuse_unless, refuse_windows
from mingyue.model.config import ModelConfig

MODEL_TYPE = "qwen3"
ARCHITECTURE = "Qwen3ForCausalLM"

names = llama.names

_DEFAULTS = {**qwen2.DEFAULTS, "head_dim": 128}


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
