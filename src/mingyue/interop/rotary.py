"""What the families with RoPE have in common: Llama, Qwen3, Arcee.

They name their tensors alike and differ in the feed-forward layer and the norms of queries and
keys. All turn dimension i with i + D/2, as we do, so no row has to be moved.
"""

import math
import re
from collections.abc import Mapping
from typing import Any

from mingyue.errors import UserError
from mingyue.interop.weights import Match, Names
from mingyue.language import tr
from mingyue.model.config import ModelConfig

_SHORTEST_YARN = 2 * math.pi
"""Positions; with fewer, no pair turns once, and transformers' ramp runs backwards."""


def fits(config: ModelConfig) -> bool:
    """What all of them ask of a model."""
    return (
        config.position == "rope"
        and config.rotary_width == config.head_width  # none of them turns only a part
        and config.norm == "rmsnorm"
        and config.causal
        and config.n_layer > 0
        and (config.rope.scaling != "yarn" or config.rotary_length > _SHORTEST_YARN)
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
        "attention_bias": config.bias,
        "tie_word_embeddings": config.tie_embeddings,
        "rope_parameters": _rope_to_parameters(config),
    }


def from_config(raw: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Our settings from theirs; ``defaults`` are what the family assumes where nothing stands."""
    get = {**defaults, **{k: v for k, v in raw.items() if v is not None}}.get
    length = get("max_position_embeddings")
    return {
        "vocab_size": get("vocab_size"),
        "d_model": get("hidden_size"),
        "d_ff": get("intermediate_size"),
        "n_layer": get("num_hidden_layers"),
        "n_head": get("num_attention_heads"),
        "n_kv_head": get("num_key_value_heads"),
        "d_head": get("head_dim"),
        "block_size": length,
        "norm": "rmsnorm",
        "norm_eps": get("rms_norm_eps"),
        "position": "rope",
        "rope": _rope_from_parameters(raw, length),
        "tie_embeddings": get("tie_word_embeddings", False),
    }


def names(config: ModelConfig, ffn: Mapping[str, tuple[str, ...]]) -> Names:
    """The table; ``ffn`` gives the tensors of the feed-forward layer, by ours."""
    q, kv = config.n_head * config.head_width, config.kv_heads * config.head_width
    matches = [Match("embedding.weight", ("model.embed_tokens.weight",))]
    for i in range(config.n_layer):
        ours, theirs = f"blocks.{i}", f"model.layers.{i}"
        for kind in ("weight", "bias") if config.bias else ("weight",):
            qkv = tuple(f"{theirs}.self_attn.{x}_proj.{kind}" for x in "qkv")
            out = f"{theirs}.self_attn.o_proj.{kind}"
            matches += [
                Match(f"{ours}.attention.qkv.{kind}", qkv, (q, kv, kv)),
                Match(f"{ours}.attention.out.{kind}", (out,)),
            ]
            for name, parts in ffn.items():
                tensors = tuple(f"{theirs}.mlp.{part}.{kind}" for part in parts)
                rows = (config.ffn_width,) * len(parts) if len(parts) > 1 else ()
                matches.append(Match(f"{ours}.ffn.{name}.{kind}", tensors, rows))
        norms = {"norm_1": "input_layernorm", "norm_2": "post_attention_layernorm"}
        if config.qk_norm:
            norms |= {f"attention.{x}_norm": f"self_attn.{x}_norm" for x in "qk"}
        matches += [
            Match(f"{ours}.{a}.weight", (f"{theirs}.{b}.weight",)) for a, b in norms.items()
        ]
    matches.append(Match("norm.weight", ("model.norm.weight",)))
    ignored = r"\.rotary_emb\.inv_freq$"
    if config.tie_embeddings:
        ignored += r"|^lm_head\.weight$"  # a copy of the table
    else:
        matches.append(Match("head.weight", ("lm_head.weight",)))
    return Names(matches, ignored=re.compile(ignored), prefix="model.")


def refuse_unless(raw: Mapping[str, Any], **expected: object) -> None:
    """Settings of theirs that our model has only one value for.

    Raises:
        UserError: one of them is different.
    """
    for name, value in expected.items():
        if raw.get(name, value) not in (value, None):
            raise UserError(
                tr(
                    "config.json: {name} {value} has no counterpart here, only {expected}",
                    name=name,
                    value=repr(raw[name]),
                    expected=repr(value),
                )
            )


def _rope_to_parameters(config: ModelConfig) -> dict[str, Any]:
    rope = config.rope
    match rope.scaling:
        case "linear":
            scaling = {"rope_type": "linear", "factor": rope.factor}
        case "yarn":
            scaling = {
                "rope_type": "yarn",
                "factor": rope.factor,
                "original_max_position_embeddings": config.rotary_length,
            }
        case _:
            scaling = {"rope_type": "default"}
    return {"rope_theta": config.rotary_base, **scaling}


def _rope_from_parameters(raw: Mapping[str, Any], length: Any) -> dict[str, Any]:
    """RoPE as written by transformers 5 (``rope_parameters``) or before (``rope_scaling``)."""
    parameters = raw.get("rope_parameters") or raw.get("rope_scaling") or {}
    if not isinstance(parameters, Mapping):
        raise UserError(tr("config.json: {name} is not a table", name="rope_parameters"))
    base = parameters.get("rope_theta") or raw.get("rope_theta") or 10_000.0
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    refuse_unless({**raw, **parameters}, partial_rotary_factor=1.0)
    if kind == "default":
        return {"base": base}
    if kind == "linear":
        return {"base": base, "scaling": "linear", "factor": parameters.get("factor")}
    if kind == "yarn":
        refuse_unless(
            parameters,
            attention_factor=None,
            beta_fast=32,
            beta_slow=1,
            mscale=None,
            mscale_all_dim=None,
            truncate=True,
        )
        original = parameters.get("original_max_position_embeddings") or length
        return {
            "base": base,
            "scaling": "yarn",
            "factor": parameters.get("factor"),
            "original_block_size": original,
        }
    raise UserError(
        tr(
            "config.json: RoPE of the kind {kind} is not known here; there are {known}",
            kind=repr(kind),
            known="default, linear, yarn",
        )
    )
