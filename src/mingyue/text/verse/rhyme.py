"""Which of the 106 rhyme classes of 平水韵 a character belongs to.

Two syllables rhyme if they belong to one class. The classes are those of Middle Chinese, so
modern pronunciation misleads both ways: 斜 rhymes with 花 (麻), 東 does not with 冬. Many
characters have several readings (看: 寒 or 翰), and only the sense of a line could tell which is
meant; so all are given, and whoever asks accepts either.
"""

import unicodedata
from collections import defaultdict
from functools import cache
from pathlib import Path

from mingyue.errors import UserError
from mingyue.language import tr

Classes = frozenset[str]
"""Names of rhyme classes, in traditional characters: ``{"寒", "翰"}``."""

_FILE = Path(__file__).parent / "rhymes.txt"


def classes(char: str, *, simplified: bool = False) -> Classes:
    """All classes of ``char``; empty if it is unknown.

    A character that only the simplified script has is looked up as the traditional ones for
    which it stands (发: 發 or 髮). Some characters are in both scripts and not the same there:
    种 is a surname in one (東), and 種 (腫 or 宋) in the other. ``simplified`` says that the
    text is in simplified characters, and both are meant.
    """
    own = _table().get(char)
    if own is None:
        char = unicodedata.normalize("NFC", char)  # the compatibility block has twins
        own = _table().get(char, Classes())
    return own | _simplified().get(char, Classes()) if simplified or not own else own


def looks_simplified(text: str) -> bool:
    """Whether ``text`` has more characters of the simplified script alone than of the other."""
    table, simplified, forms = _table(), _simplified(), _simple_forms()
    only_simplified = sum(char in simplified and char not in table for char in text)
    return only_simplified > sum(char in forms for char in text)


@cache
def names() -> dict[str, str]:
    """The 106 classes in their order, each with its tone: 平, 上, 去 or 入."""
    return {name: tone for tone, name, _ in _lines()}


def members(name: str) -> str:
    """The characters of a class."""
    return _members()[name]


def find(name: str) -> str:
    """The class that ``name`` means: ``東``, simplified ``东``, or with its number ``上平一东``.

    Raises:
        UserError: there is no such class.
    """
    last = name.strip()[-1:]
    for candidate in (last, *_traditional(last)):
        if candidate in names():
            return candidate
    raise UserError(
        tr(
            "{name}: no rhyme class of 平水韵; the level ones are {classes}",
            name=name.strip() or "''",
            classes="".join(n for n, tone in names().items() if tone == "平"),
        )
    )


def _lines() -> list[list[str]]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [line.split(" ") for line in lines if not line.startswith("#")]


@cache
def _members() -> dict[str, str]:
    return {name: characters for _, name, characters in _lines()}


@cache
def _table() -> dict[str, Classes]:
    table: dict[str, set[str]] = defaultdict(set)
    for name, characters in _members().items():
        for char in characters:
            table[char].add(name)
    return {char: Classes(found) for char, found in table.items()}


@cache
def _simplified() -> dict[str, Classes]:
    """The classes of each simplified character: those of all that it stands for."""
    table: dict[str, Classes] = {}
    for char, found in _table().items():
        for form in _simple_forms().get(char, ()):
            table[form] = table.get(form, Classes()) | found
    return table


@cache
def _simple_forms() -> dict[str, str]:
    from mingyue.text.script import to_simplified

    characters = list(_table())
    simple = to_simplified("\n".join(characters)).split("\n")
    return {c: s for c, s in zip(characters, simple, strict=True) if s != c and len(s) == 1}


def _traditional(char: str) -> list[str]:
    return [c for c, s in _simple_forms().items() if s == char]
