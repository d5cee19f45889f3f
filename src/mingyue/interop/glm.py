"""The layout of GLM-4 as first published (GLM team 2024, ``glm-4-9b``): half of each head turns,
neighbouring dimensions together, and the gate and what it gates are one matrix, as they are here.
"""

from collections.abc import Mapping
from typing import Any

from mingyue.interop import rotary
from mingyue.interop.refusals import refuse_unless
from mingyue.interop.weights import Names
from mingyue.model.config import ModelConfig

MODEL_TYPE = "glm"
ARCHITECTURE = "GlmForCausalLM"

_DEFAULTS = {
    "vocab_size": 151_552,
    "hidden_size": 4096,
    "intermediate_size": 13_696,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "max_position_embeddings": 131_072,
    "rms_norm_eps": 1.5625e-07,
}


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return fits(config) and not config.post_norm


def fits(config: ModelConfig) -> bool:
    """What both layouts of GLM ask of a model."""
    return (
        rotary.fits(config, partly=True)
        and config.activation == "swiglu"
        and not config.qk_norm
        and not config.out_bias
    )


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Their settings from ours."""
    theirs = rotary.to_config(config)
    theirs["rope_parameters"]["partial_rotary_factor"] = config.rope.fraction
    return {**theirs, "hidden_act": "silu", "attention_bias": config.qkv_bias}


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    refuse_unless(raw, hidden_act="silu")
    ours = rotary.from_config(raw, _DEFAULTS, fraction=0.5)
    biased = "qkv" if raw.get("attention_bias", True) else None
    return ModelConfig.checked(**ours, activation="swiglu", qk_norm=False, attention_bias=biased)


def names(config: ModelConfig) -> Names:
    """Their tensors by ours."""
    return rotary.names(config, {"up": ("gate_up_proj",), "down": ("down_proj",)}, neighbours=True)
