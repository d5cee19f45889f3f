"""The layout of Llama (Touvron et al. 2023): RoPE, RMSNorm, SwiGLU, no QK-norm."""

from collections.abc import Mapping
from typing import Any

from mingyue.errors import UserError
from mingyue.interop import rotary
from mingyue.interop.refusals import refuse_unless
from mingyue.interop.weights import Names
from mingyue.language import tr
from mingyue.model.config import ModelConfig

MODEL_TYPE = "llama"
ARCHITECTURE = "LlamaForCausalLM"

_DEFAULTS = {
    "vocab_size": 32_000,
    "hidden_size": 4096,
    "intermediate_size": 11_008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6,
}


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return fits(config) and config.activation == "swiglu"


def fits(config: ModelConfig) -> bool:
    """What Llama and Arcee both ask of a model."""
    return (
        rotary.fits(config)
        and not config.qk_norm
        and not config.post_norm
        and config.qkv_bias == config.out_bias
        and config.d_model % config.n_head == 0  # asked for even when head_dim is given
    )


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Their settings from ours."""
    biases = {"attention_bias": config.out_bias, "mlp_bias": config.bias}
    return {**rotary.to_config(config), "hidden_act": "silu", **biases}


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    refuse_unless(raw, hidden_act="silu")
    ours = rotary.from_config(raw, _DEFAULTS)
    return ModelConfig.checked(**ours, activation="swiglu", qk_norm=False, **biases(raw))


def biases(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Our settings of biases from their two switches.

    Raises:
        UserError: there are some in the feed-forward layer alone.
    """
    attention, ffn = bool(raw.get("attention_bias")), bool(raw.get("mlp_bias"))
    if ffn and not attention:
        raise UserError(tr("config.json: mlp_bias without attention_bias has no counterpart here"))
    return {"bias": ffn, "attention_bias": "all" if attention and not ffn else None}


def names(config: ModelConfig) -> Names:
    """Their tensors by ours."""
    return rotary.names(config, {"up": ("gate_proj", "up_proj"), "down": ("down_proj",)})
