"""Messages in English and 简体中文.

The English sentence is the key, so the code reads as plain English::

    raise UserError(tr("{path}: no such file", path=path))

Chinese lives in ``translations/zh/*.json``, one file per package, ``{English: Chinese}``.
A test walks the source and holds every ``tr("…")`` to have its translation with the same
placeholders. The language is chosen once, by ``use()``, or else by the locale.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

Language = Literal["en", "zh"]

_chosen: Language | None = None


def use(language: Language | None) -> None:
    """Fix the language of all messages; ``None`` goes back to the locale's."""
    global _chosen
    _chosen = language


@contextmanager
def speaking(language: Language) -> Iterator[None]:
    """Messages in ``language`` within the block; then as before."""
    global _chosen
    before, _chosen = _chosen, language
    try:
        yield
    finally:
        _chosen = before


def current() -> Language:
    """The language in force: the chosen one, else the locale's, else English."""
    if _chosen is not None:
        return _chosen
    for name in ("LC_ALL", "LC_MESSAGES", "LANG"):
        if value := os.environ.get(name):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"


def tr(message: str, /, **values: object) -> str:
    """``message`` in the current language, its ``{placeholders}`` filled with ``values``."""
    if current() == "zh":
        message = _chinese().get(message, message)
    return message.format(**values) if values else message


def translated(words: str) -> str:
    """Words that came as data in the current language: a knob's description, a kind of pages.

    What stands in the code goes through ``tr``, which the test can collect; of data the test
    collects what it knows to become output, see ``tests/test_translations.py``.
    """
    return _chinese().get(words, words) if current() == "zh" else words


class Message:
    """What ``tr`` would say, not said yet: the English with its values apart.

    Words that go into a file are kept so, for who opens it later may read the other language.
    As text (``str``, ``format``) it is in the language in force.
    """

    def __init__(self, message: str, /, **values: object):
        self.message = message
        self.values = {name: v if isinstance(v, int) else str(v) for name, v in values.items()}

    def __str__(self) -> str:
        words = translated(self.message)
        return words.format(**self.values) if self.values else words

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Message) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(self.message)

    def to_json(self) -> dict[str, Any]:
        """As plain values."""
        return {"message": self.message, "values": self.values}

    @classmethod
    def from_json(cls, saved: Mapping[str, Any]) -> Self:
        """Undo ``to_json``; TypeError or KeyError for anything else."""
        return cls(saved["message"], **saved["values"])


@cache
def _chinese() -> dict[str, str]:
    folder = Path(__file__).parent / "translations" / "zh"
    merged: dict[str, str] = {}
    for file in sorted(folder.glob("*.json")):
        merged.update(json.loads(file.read_text(encoding="utf-8")))
    return merged
