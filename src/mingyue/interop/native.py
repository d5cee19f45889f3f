"""Our own layout, for what no family of transformers can say: ALiBi, no positions at all, a
model that sees both directions, QK-norm with ReLU², and every other mixture.

The same files as the others; names and settings are our own.
"""

from collections.abc import Mapping
from typing import Any

from mingyue.errors import UserError
from mingyue.interop.weights import Match, Names, parameter_shapes
from mingyue.language import tr
from mingyue.model.config import ModelConfig

MODEL_TYPE = "mingyue"
ARCHITECTURE = "GPT"


def expresses(config: ModelConfig) -> bool:
    """Always."""
    return True


def to_config(config: ModelConfig) -> dict[str, Any]:
    """Nothing besides the ``mingyue`` entry that every run folder has."""
    return {}


def from_config(raw: Mapping[str, Any]) -> ModelConfig:
    """Our settings as they stand.

    Raises:
        UserError: they are not there, or do not make a model.
    """
    ours = raw.get("mingyue")
    if not isinstance(ours, Mapping):
        raise UserError(
            tr('config.json: the entry "mingyue" with the model\'s settings is missing')
        )
    return ModelConfig.checked(**{str(name): value for name, value in ours.items()})


def names(config: ModelConfig) -> Names:
    """Every parameter under its own name."""
    return Names([Match(name, (name,)) for name in parameter_shapes(config)])
