"""The settings of RoPE in the words of transformers, in both directions.

transformers 5 keeps them in one table, ``rope_parameters``; before, there were ``rope_theta`` and,
for longer texts, ``rope_scaling``. Both are read, the first is written.
"""

import math
from collections.abc import Mapping
from typing import Any

from mingyue.errors import UserError
from mingyue.interop.refusals import refuse_unless
from mingyue.language import tr
from mingyue.model.config import ModelConfig

_SHORTEST_YARN = 2 * math.pi
"""Positions; with fewer, no pair turns once, and transformers' ramp runs backwards."""

_KINDS = ("default", "linear", "dynamic", "yarn", "llama3")


def fits(config: ModelConfig) -> bool:
    """Whether theirs turn as ours do."""
    too_short = config.rope.scaling == "yarn" and config.rotary_length <= _SHORTEST_YARN
    return config.position == "rope" and not too_short


def to_parameters(config: ModelConfig) -> dict[str, Any]:
    """Their table; NTK scaling is a larger base there as here."""
    rope, original = config.rope, {"original_max_position_embeddings": config.rotary_length}
    match rope.scaling:
        case "linear" | "dynamic":
            scaling = {"factor": rope.factor}
        case "yarn":
            scaling = {"factor": rope.factor, **original}
        case "llama3":
            limits = {"low_freq_factor": rope.low_turns, "high_freq_factor": rope.high_turns}
            scaling = {"factor": rope.factor, **original, **limits}
        case _:
            scaling = {}
    kind = rope.scaling if scaling else "default"
    return {"rope_theta": config.rotary_base, "rope_type": kind, **scaling}


def from_config(raw: Mapping[str, Any], length: Any, fraction: float = 1.0) -> dict[str, Any]:
    """Our settings from their ``config.json``.

    ``length`` is the context; ``fraction`` how much of a head the family turns where nothing is
    said.

    Raises:
        UserError: they turn in a way that has no counterpart here.
    """
    parameters = raw.get("rope_scaling") or raw.get("rope_parameters") or {}
    if not isinstance(parameters, Mapping):
        raise UserError(tr("config.json: {name} is not a table", name="rope_parameters"))
    if any(isinstance(value, Mapping) for value in parameters.values()):
        raise UserError(
            tr("config.json: RoPE that differs from layer to layer has no counterpart here")
        )
    told = {**raw, **{name: value for name, value in parameters.items() if value is not None}}
    kind = parameters.get("rope_type") or parameters.get("type") or "default"
    if kind not in _KINDS:
        raise UserError(
            tr(
                "config.json: RoPE of the kind {kind} is not known here; there are {known}",
                kind=repr(kind),
                known=", ".join(_KINDS),
            )
        )
    if fraction == 1:
        refuse_unless(told, partial_rotary_factor=1.0)
    turned = told.get("partial_rotary_factor")
    ours = {
        "base": told.get("rope_theta") or 10_000.0,
        "fraction": fraction if turned is None else turned,
    }
    if kind == "default":
        return ours
    limits = {"low_turns": "low_freq_factor", "high_turns": "high_freq_factor"}
    for name in ("factor", *(limits.values() if kind == "llama3" else ())):
        if name not in told:
            raise UserError(
                tr("config.json: RoPE of the kind {kind} needs {name}", kind=repr(kind), name=name)
            )
    ours |= {"scaling": kind, "factor": told["factor"]}
    if kind in ("yarn", "llama3"):
        original = told.get("original_max_position_embeddings") or length
        ours |= {"original_block_size": original}
    if kind == "llama3":
        ours |= {name: told[theirs] for name, theirs in limits.items()}
    if kind == "yarn":
        refuse_unless(parameters, attention_factor=None, beta_fast=32, beta_slow=1)
        refuse_unless(parameters, mscale=None, mscale_all_dim=None, truncate=True)
    return ours
