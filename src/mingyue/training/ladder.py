"""The models that the dial chooses among, small to large.

All are of one recipe and differ in width and depth. Where something is asked
for in so many words, a width or a number of heads, every rung has that.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from mingyue.errors import UserError
from mingyue.model.config import ModelConfig
from mingyue.training.config import MODELS

RUNGS = (
    # d_model, n_layer, n_head
    (32, 2, 2),
    (64, 4, 2),
    (96, 4, 3),
    (128, 4, 4),
    (192, 4, 4),
    (256, 4, 4),
    (320, 5, 5),
    (384, 6, 6),
    (512, 8, 8),
    (640, 10, 10),
    (768, 12, 12),
    (1024, 16, 16),
    (1280, 20, 20),
    (1600, 24, 25),
)

RECURRENT = (
    # d_model, n_layer
    (64, 1),
    (128, 1),
    (192, 2),
    (256, 2),
    (384, 2),
    (512, 2),
    (768, 2),
    (1024, 2),
    (1536, 2),
    (2048, 3),
)
"""Of LSTM and GRU, which want to be wide rather than deep."""


def ladder(fixed: Mapping[str, Any], vocab_size: int, block_size: int) -> Iterator[ModelConfig]:
    """The rungs that go with what is fixed, each another model."""
    seen: set[ModelConfig] = set()
    for sizes in _rungs(fixed):
        free = {**sizes, "block_size": block_size, "vocab_size": vocab_size}
        try:
            rung = ModelConfig.checked(**{**free, **fixed})
        except UserError:
            continue  # these heads do not fit that width; another rung's may
        if rung not in seen:
            seen.add(rung)
            yield rung


def _rungs(fixed: Mapping[str, Any]) -> list[dict[str, int]]:
    match fixed.get("kind", "gpt"):
        case "lstm" | "gru":
            return [{"d_model": d_model, "n_layer": n_layer} for d_model, n_layer in RECURRENT]
        case "word2vec":  # more numbers in a vector are no better by its own loss
            return [MODELS["word2vec"]]
        case _:
            return [
                dict(zip(("d_model", "n_layer", "n_head"), rung, strict=True)) for rung in RUNGS
            ]
