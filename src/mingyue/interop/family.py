"""What a family of transformers models is here: one file with these six names.

``llama`` is the shortest to read. To add a family, write such a file and put it on the list
``FAMILIES`` in ``run_folder``; nothing else speaks of families by name. Where it has something
that no other has, the model in ``model/`` needs a setting for it first. The tests in
``tests/interop`` take a family from a line in ``tests/interop/foreign.py``.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from mingyue.interop.weights import Names
from mingyue.model.config import ModelConfig


class Family(Protocol):
    """A file is a module, and a module that has these is one."""

    @property
    def MODEL_TYPE(self) -> str:  # noqa: N802 (a constant of the module)
        """What ``config.json`` calls it."""
        ...

    @property
    def ARCHITECTURE(self) -> str:  # noqa: N802
        """The class of transformers that opens it."""
        ...

    def expresses(self, config: ModelConfig) -> bool:
        """Whether the layout holds such a model exactly."""
        ...

    def to_config(self, config: ModelConfig) -> dict[str, Any]:
        """Their settings from ours."""
        ...

    def from_config(self, raw: Mapping[str, Any]) -> ModelConfig:
        """Our settings from theirs; what has no counterpart here is refused by name."""
        ...

    def names(self, config: ModelConfig) -> Names:
        """Their tensors by ours."""
        ...
