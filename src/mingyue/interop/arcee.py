"""The layout of Arcee's AFM (2025): Llama's, with an ungated ReLU² in the feed-forward layer.

(NanoChat's layout also has ReLU², but its norms carry no weights, it norms queries and keys
after RoPE instead of before, and it norms the embedding: no model of ours is exactly that, so
there is no file for it.)
"""

from collections.abc import Mapping
from typing import Any

from mingyue.interop import llama, rotary
from mingyue.interop.refusals import refuse_unless
from mingyue.interop.weights import Names
from mingyue.model.config import ModelConfig

MODEL_TYPE = "arcee"
ARCHITECTURE = "ArceeForCausalLM"

_DEFAULTS = {
    "vocab_size": 32_000,
    "hidden_size": 2560,
    "intermediate_size": 18_432,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "rms_norm_eps": 1e-5,
}


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return llama.fits(config) and config.activation == "relu2"


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Their settings from ours."""
    return {**llama.to_config(config), "hidden_act": "relu2"}


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    refuse_unless(raw, hidden_act="relu2")
    ours = rotary.from_config(raw, _DEFAULTS)
    return ModelConfig.checked(**ours, activation="relu2", qk_norm=False, **llama.biases(raw))


def names(config: ModelConfig) -> Names:
    """Their tensors by ours."""
    return rotary.names(config, {"up": ("up_proj",), "down": ("down_proj",)})
