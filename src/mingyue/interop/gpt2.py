"""The layout of GPT-2 (Radford et al. 2019): a learned position table, LayerNorm, biases.

Two kinds of models fit in that have less than GPT-2: without biases, since a bias of zeros is
none; and with sinusoidal positions, which become a position table with the clock in it. Both are
stored as constants and recognised when they come back; if somebody trained them in between, they
are read as what they have become.
"""

import math
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import torch

from mingyue.errors import UserError
from mingyue.interop.refusals import refuse_unless
from mingyue.interop.weights import Constant, Match, Names
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.position import sinusoid

MODEL_TYPE = "gpt2"
ARCHITECTURE = "GPT2LMHeadModel"

_ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_new", "relu2": "relu2"}
_OURS = {
    **{theirs: ours for ours, theirs in _ACTIVATIONS.items()},
    "gelu_pytorch_tanh": "gelu_tanh",  # the same formula under another name
}


def expresses(config: ModelConfig) -> bool:
    """Whether this layout holds the model exactly."""
    return (
        config.position in ("learned", "sinusoidal")
        and config.norm == "layernorm"
        and config.activation in _ACTIVATIONS
        and config.kv_heads == config.n_head
        and config.head_width * config.n_head == config.d_model
        and not config.qk_norm
        and not config.post_norm
        and config.qkv_bias == config.out_bias == config.bias
        and config.causal
        and config.n_layer > 0
    )


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Their settings from ours."""
    return {
        "vocab_size": config.vocab_size,
        "n_positions": config.block_size,
        "n_embd": config.d_model,
        "n_layer": config.n_layer,
        "n_head": config.n_head,
        "n_inner": config.ffn_width,
        "activation_function": _ACTIVATIONS[config.activation],
        "layer_norm_epsilon": config.norm_eps,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "tie_word_embeddings": config.tie_embeddings,
    }


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings from theirs.

    Raises:
        UserError: a setting has no counterpart here.
    """
    refuse_unless(
        raw,
        scale_attn_weights=True,
        scale_attn_by_inverse_layer_idx=False,
        add_cross_attention=False,
    )
    activation = raw.get("activation_function", "gelu_new")
    if activation not in _OURS:
        raise UserError(
            tr(
                "config.json: the activation {name} is not known here; there are {known}",
                name=repr(activation),
                known=", ".join(_OURS),
            )
        )
    return ModelConfig.checked(
        vocab_size=raw.get("vocab_size", 50_257),
        block_size=raw.get("n_positions", 1024),
        d_model=raw.get("n_embd", 768),
        n_layer=raw.get("n_layer", 12),
        n_head=raw.get("n_head", 12),
        d_ff=raw.get("n_inner"),
        activation=_OURS[activation],
        norm="layernorm",
        norm_eps=raw.get("layer_norm_epsilon", 1e-5),
        position="learned",
        qk_norm=False,
        bias=True,
        tie_embeddings=raw.get("tie_word_embeddings", True),
        dropout=raw.get("resid_pdrop", 0.1),
    )


def names(config: ModelConfig) -> Names:
    """Their tensors by ours. Their matrices are [in, out], the transpose of ours."""
    matches = [Match("embedding.weight", ("transformer.wte.weight",))]
    if config.position == "learned":
        matches.append(Match("position.weight", ("transformer.wpe.weight",)))
    kinds = ("weight", "bias") if config.bias else ("weight",)
    for ours, theirs, _ in _layers(config):
        matrix = "norm" not in ours
        for kind in kinds:
            turned = matrix and kind == "weight"
            matches.append(Match(f"{ours}.{kind}", (f"{theirs}.{kind}",), transposed=turned))
    copies = {}
    if config.tie_embeddings:
        copies["lm_head.weight"] = "transformer.wte.weight"
    else:
        matches.append(Match("head.weight", ("lm_head.weight",)))
    ignored = re.compile(r"\.attn\.(masked_)?bias$")  # masks that older versions stored
    return Names(matches, list(_constants(config)), copies, ignored, "transformer.")


def _constants(config: ModelConfig) -> Iterator[Constant]:
    if config.position == "sinusoidal":
        shape = (config.block_size, config.d_model)
        yield Constant("transformer.wpe.weight", shape, lambda: _clock(config))
    if not config.bias:
        for _, theirs, width in _layers(config):
            yield Constant(f"{theirs}.bias", (width,), partial(torch.zeros, width))


def _clock(config: ModelConfig) -> torch.Tensor:
    """The rows that ``SinusoidalPosition`` adds, [block_size, C]."""
    return sinusoid(config.block_size, config.d_model) / math.sqrt(config.d_model)


def _layers(config: ModelConfig) -> Iterator[tuple[str, str, int]]:
    """Every layer with weight and bias: our name, theirs, the width of its output."""
    width = config.d_model
    for i in range(config.n_layer):
        ours, theirs = f"blocks.{i}", f"transformer.h.{i}"
        yield f"{ours}.norm_1", f"{theirs}.ln_1", width
        yield f"{ours}.attention.qkv", f"{theirs}.attn.c_attn", 3 * width
        yield f"{ours}.attention.out", f"{theirs}.attn.c_proj", width
        yield f"{ours}.norm_2", f"{theirs}.ln_2", width
        yield f"{ours}.ffn.up", f"{theirs}.mlp.c_fc", config.ffn_width
        yield f"{ours}.ffn.down", f"{theirs}.mlp.c_proj", width
    yield "norm", "transformer.ln_f", width
