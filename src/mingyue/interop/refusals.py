"""Settings of theirs that our model has only one value for."""

from collections.abc import Mapping
from typing import Any

from mingyue.errors import UserError
from mingyue.language import tr


def refuse_unless(raw: Mapping[str, Any], **expected: object) -> None:
    """Take the one value that there is here, or none.

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


def refuse_windows(raw: Mapping[str, Any], layers: Any, length: Any) -> None:
    """Take ``layers`` that see the whole context of ``length`` tokens.

    In Qwen those from ``max_window_layers`` on see only the last ``sliding_window`` tokens, if
    ``use_sliding_window`` says so; or ``layer_types`` names them.

    Raises:
        UserError: there are layers that see less.
    """
    window = raw.get("sliding_window", 4096) if raw.get("use_sliding_window") else None
    kinds, whole = raw.get("layer_types"), raw.get("max_window_layers", 28)
    if kinds is None and window is not None:
        all_see = isinstance(whole, int) and isinstance(layers, int) and whole >= layers
        kinds = ["full_attention" if all_see else "sliding_attention"]
    if all(kind == "full_attention" for kind in kinds or ()):
        return
    if not (isinstance(window, int) and isinstance(length, int) and window >= length):
        raise UserError(
            tr(
                "config.json: layers that see only the last {window} tokens (sliding_window) have "
                "no counterpart here",
                window=window,
            )
        )
