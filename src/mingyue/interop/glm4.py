"""The layout of GLM-4-0414 (``glm4``): that of ``glm``, with norms also on what attention and
feed-forward layer found."""

from collections.abc import Mapping
from typing import Any

from mingyue.interop import glm, rotary
from mingyue.interop.weights import Names
from mingyue.model.config import ModelConfig

MODEL_TYPE = "glm4"
ARCHITECTURE = "Glm4ForCausalLM"

to_config = glm.to_config


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return glm.fits(config) and config.post_norm


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    return glm.from_config(raw).changed(post_norm=True)


def names(config: ModelConfig) -> Names:
    """Their tensors by ours."""
    norms = {"norm_1_post": "post_self_attn_layernorm", "norm_2_post": "post_mlp_layernorm"}
    ffn = {"up": ("gate_up_proj",), "down": ("down_proj",)}
    return rotary.names(config, ffn, norms, neighbours=True)
