"""What the families with RoPE have in common: Llama, Qwen2, Qwen3, Arcee, GLM.

They name their tensors alike and differ in biases, the feed-forward layer and norms. Most turn
dimension i of a head with i + R/2, as we do. GLM turns 2i with 2i + 1: there the rows of queries
and keys change places on their way.
"""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from mingyue.interop import rope
from mingyue.interop.weights import Match, Names
from mingyue.model.config import ModelConfig


def fits(config: ModelConfig, *, partly: bool = False) -> bool:
    """What all of them ask of a model; ``partly``: theirs may turn a part of each head."""
    turned = int(config.head_width * config.rope.fraction)  # they do not round to even
    return (
        rope.fits(config)
        and (turned == config.rotary_width if partly else turned == config.head_width)
        and turned % 2 == 0
        and config.norm == "rmsnorm"
        and config.causal
        and config.n_layer > 0
    )


def to_config(config: ModelConfig) -> dict[str, Any]:
    """The settings that all of them share."""
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.d_model,
        "intermediate_size": config.ffn_width,
        "num_hidden_layers": config.n_layer,
        "num_attention_heads": config.n_head,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_width,
        "max_position_embeddings": config.block_size,
        "rms_norm_eps": config.norm_eps,
        "attention_dropout": config.dropout,
        "tie_word_embeddings": config.tie_embeddings,
        "rope_parameters": rope.to_parameters(config),
    }


def from_config(
    raw: Mapping[str, Any], defaults: Mapping[str, Any], fraction: float = 1.0
) -> dict[str, Any]:
    """Our settings from theirs; ``defaults`` are what the family assumes where nothing stands,
    ``fraction`` how much of a head it turns then."""
    get = {**defaults, **{k: v for k, v in raw.items() if v is not None}}.get
    shared = get("num_key_value_heads")
    if raw.get("num_key_value_heads", shared) is None:  # said to be none: as many as of queries
        shared = None
    return {
        "vocab_size": get("vocab_size"),
        "d_model": get("hidden_size"),
        "d_ff": get("intermediate_size"),
        "n_layer": get("num_hidden_layers"),
        "n_head": get("num_attention_heads"),
        "n_kv_head": shared,
        "d_head": get("head_dim"),
        "block_size": get("max_position_embeddings"),
        "norm": "rmsnorm",
        "norm_eps": get("rms_norm_eps"),
        "position": "rope",
        "rope": rope.from_config(raw, get("max_position_embeddings"), fraction),
        "tie_embeddings": get("tie_word_embeddings", False),
    }


def names(
    config: ModelConfig,
    ffn: Mapping[str, tuple[str, ...]],
    norms: Mapping[str, str] | None = None,
    *,
    neighbours: bool = False,
) -> Names:
    """The table. ``ffn`` gives the tensors of the feed-forward layer, ``norms`` those that not
    all have, by ours; ``neighbours``: dimensions 2i and 2i + 1 turn together."""
    q, kv = config.n_head * config.head_width, config.kv_heads * config.head_width
    order = _from_neighbours(config) if neighbours else None
    between = {
        "norm_1": "input_layernorm",
        "norm_2": "post_attention_layernorm",
        **({f"attention.{x}_norm": f"self_attn.{x}_norm" for x in "qk"} if config.qk_norm else {}),
        **(norms or {}),
    }
    matches = [Match("embedding.weight", ("model.embed_tokens.weight",))]
    for i in range(config.n_layer):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        for kind in ["weight"] + ["bias"] * config.qkv_bias:
            qkv = tuple(f"{theirs}.self_attn.{x}_proj.{kind}" for x in "qkv")
            matches.append(Match(f"{ours}.attention.qkv.{kind}", qkv, (q, kv, kv), order=order))
        for kind in ["weight"] + ["bias"] * config.out_bias:
            out = (f"{theirs}.self_attn.o_proj.{kind}",)
            matches.append(Match(f"{ours}.attention.out.{kind}", out))
        for kind in ["weight"] + ["bias"] * config.bias:
            for name, parts in ffn.items():
                tensors = tuple(f"{theirs}.mlp.{part}.{kind}" for part in parts)
                rows = (config.ffn_width,) * len(parts) if len(parts) > 1 else ()
                matches.append(Match(f"{ours}.ffn.{name}.{kind}", tensors, rows))
        matches += [
            Match(f"{ours}.{a}.weight", (f"{theirs}.{b}.weight",)) for a, b in between.items()
        ]
    matches.append(Match("norm.weight", ("model.norm.weight",)))
    copies = {}
    if config.tie_embeddings:
        copies["lm_head.weight"] = "model.embed_tokens.weight"
    else:
        matches.append(Match("head.weight", ("lm_head.weight",)))
    ignored = re.compile(r"\.rotary_emb\.inv_freq$")
    return Names(matches, copies=copies, ignored=ignored, prefix="model.")


def _from_neighbours(config: ModelConfig) -> Tensor:
    """Row i of our Q, K and V is row order[i] of theirs: 0, 2, 4, … 1, 3, 5, … in what turns."""
    D, R = config.head_width, config.rotary_width
    place = torch.arange(D)
    head = torch.cat((place[0:R:2], place[1:R:2], place[R:]))  # [D]
    first = torch.arange(config.n_head + config.kv_heads)[:, None] * D  # of each head
    turning = (first + head).flatten()  # [(H + Hkv)·D]
    return torch.cat((turning, len(turning) + torch.arange(config.kv_heads * D)))
