"""The code blocks of a Markdown file."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    language: str
    text: str


def blocks(path: str) -> list[Block]:
    """In order, those that name their language."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return [Block(*found.groups()) for found in _FENCE.finditer(text)]
