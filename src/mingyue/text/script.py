"""Traditional and simplified characters, and prompts in the characters a model knows.

The Tang corpus is in traditional characters (the fuller script: 后 and 後, 云 and 雲 are
different words there), most people type simplified ones, and half-width signs besides.
``adapt`` turns what somebody typed into what a given vocabulary has, character for character,
and says what it changed.
"""

import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from mingyue.text.char import without_surrogates

# The full-width forms of each half-width sign, the usual one first.
_FULL_WIDTH = {
    ",": "，、",
    ".": "。．",
    "?": "？",
    "!": "！",
    ";": "；",
    ":": "：",
    "(": "（",
    ")": "）",
    "<": "《〈",
    ">": "》〉",
    "[": "［【",
    "]": "］】",
    "~": "～",
    '"': "“「『",
    "'": "‘『「",
}
_HALF_WIDTH = {full: half for half, forms in _FULL_WIDTH.items() for full in forms}

# OpenCC's conversions from simplified (s), traditional (t), Taiwan, Hong Kong and Japanese
# glyphs, in the order in which a prompt's character is likely to need them. Two names in a row:
# 为 → 爲 → 為.
_ROUTES = (
    ("s2t",),
    ("s2t", "t2tw"),
    ("s2t", "t2hk"),
    ("t2s",),
    ("t2tw",),
    ("t2hk",),
    ("tw2t",),
    ("hk2t",),
    ("jp2t",),
)


def to_traditional(text: str) -> str:
    """``text`` in traditional characters, words seen as wholes (头发 is 頭髮, 发展 is 發展)."""
    return _convert("s2t", text)


def to_simplified(text: str) -> str:
    """``text`` in simplified characters."""
    return _convert("t2s", text)


def adapt(text: str, known: Callable[[str], bool]) -> tuple[str, list[tuple[str, str]]]:
    """``text`` with unknown characters replaced by known forms of the same, and the changes.

    A character for which ``known`` holds is never touched. For any other the forms are tried in
    this order: a sign in the other width; the other script as the whole sentence suggests; the
    other script and the regional glyphs of the character alone (里 裏 裡); its compatibility
    form. What has no known form stays, for the caller to refuse or drop.

    The changes are pairs (old, new), each once, in order of occurrence.
    """
    if all(map(known, text)):
        return text, []
    sentences = [to_traditional(text), to_simplified(text)]
    sentences = [s for s in sentences if len(s) == len(text)]  # else places do not correspond
    adapted: list[str] = []
    changes: dict[tuple[str, str], None] = {}
    for place, character in enumerate(text):
        new = character
        if not known(character):
            in_context = [sentence[place] for sentence in sentences]
            forms = [*_other_width(character), *in_context, *_variants(character)]
            new = next(filter(known, forms), character)
        if new != character:
            changes[character, new] = None
        adapted.append(new)
    return "".join(adapted), list(changes)


def _other_width(sign: str) -> str:
    return _FULL_WIDTH.get(sign, "") + _HALF_WIDTH.get(sign, "")


def _variants(character: str) -> Iterator[str]:
    """Other written forms of one character, the likeliest first."""
    for route in _ROUTES:
        form = character
        for conversion in route:
            form = _convert(conversion, form)
        if len(form) == 1:
            yield form
    for normal_form in ("NFC", "NFKC"):
        form = unicodedata.normalize(normal_form, character)
        if len(form) == 1:
            yield form


def _convert(conversion: str, text: str) -> str:
    return _converter(conversion).convert(without_surrogates(text))


@cache
def _converter(name: str) -> Any:
    import opencc  # 80 ms and only for those who need it

    return opencc.OpenCC(name)
