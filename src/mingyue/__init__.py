"""Mingyue (明月): train a small GPT, write with it, look inside it, take it along.

    import mingyue
    poet = mingyue.load("runs/tang")
    print(poet.generate("床前明月光")[0].text)

Names are loaded on first use, so ``import mingyue`` costs nothing and needs no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.1.0"

if TYPE_CHECKING:
    from mingyue.errors import UserError
    from mingyue.generation.writer import Writer, load
    from mingyue.model.config import ModelConfig
    from mingyue.model.gpt import GPT
    from mingyue.text.tokenizer import Tokenizer
    from mingyue.training.run import train

_HOMES = {
    "GPT": "mingyue.model.gpt",
    "ModelConfig": "mingyue.model.config",
    "Tokenizer": "mingyue.text.tokenizer",
    "UserError": "mingyue.errors",
    "Writer": "mingyue.generation.writer",
    "load": "mingyue.generation.writer",
    "train": "mingyue.training.run",
}

__all__ = ["GPT", "ModelConfig", "Tokenizer", "UserError", "Writer", "load", "train"]


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'mingyue' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
