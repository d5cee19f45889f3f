"""Headings: a line before a poem that says what follows, so that it can be asked for.

    〔七絕李白《春夜》〕

Form, author and title, each there or not. A model that has seen poems behind their headings goes
on from a heading with such a poem. The brackets 〔 〕 are kept for this alone, so a heading is
told from a poem at its first character, and 《 》 tell a title from an author.

One document in four has a heading, so that a model learns most of its text as it stands, and they
show every choice of parts, so that any part may be given. Which, a hash of the poem says.
"""

import hashlib
import re
from collections.abc import Callable
from itertools import product

from mingyue.text.cleaning import is_han, keep_restored, strip_notes
from mingyue.text.document import Document
from mingyue.text.verse.layout import form_of

HEADING_VERSION = 3
"""Goes up when the same documents would get other headings."""

OPEN, CLOSE = "〔〕"
MARKS = "〔〕《》"
"""The signs of a heading; the brackets stand nowhere else."""

EVERY = 4
"""One document in so many has a heading. Half of them cost twice as much loss (docs/lab-log.md)."""

FORMS = "五七言绝律"
"""What forms are named with."""

LONGEST_TITLE = 12
"""Characters; a longer title tells a story of its own."""

_LONGEST_NAME = 6
_LONGEST_POEM = 2000  # characters; beyond, there is no form to find
_NAMELESS = {"不詳", "不详", "無名氏", "无名氏", "佚名", "失名", "闕名", "阙名"}
_DIGITS = "一二三四五六七八九十百〇"
_NUMBER = re.compile(f"[其第]?[{_DIGITS}]+|[上中下]")  # of a poem in a cycle: 其一
_COUNT = re.compile(f"([{_DIGITS}]+[首章]|其[{_DIGITS}]+)$")  # of the poems in one: 二首
_WITHOUT_MARKS = str.maketrans("", "", MARKS + "\n\r")

Known = Callable[[str], bool]
"""Whether a model knows a character."""


def heading(form: str | None = None, author: str | None = None, title: str | None = None) -> str:
    """The heading with these parts; empty without any."""
    form, author, title = ((part or "").translate(_WITHOUT_MARKS) for part in (form, author, title))
    inside = form + author + (f"《{title}》" if title else "")
    return f"{OPEN}{inside}{CLOSE}" if inside else ""


def split_heading(text: str) -> tuple[str, str]:
    """The heading that ``text`` begins with (or nothing), and what follows it."""
    if text.startswith(OPEN) and (end := text.find(CLOSE)) > 0:
        return text[: end + 1], text[end + 1 :]
    return "", text


def headed(document: Document, known: Known = lambda _: True) -> str:
    """The text of ``document``, or of its first piece, perhaps with a heading before it.

    A part with a character that is not ``known`` is left out.
    """
    parts = (
        spelt(_form(document), known),
        author_of(document.author),
        title_of(document.title),
    )
    there = [part if all(map(known, part)) else "" for part in parts]
    choices = [c for c in product(*(sorted({part, ""}) for part in there)) if any(c)]
    number = int.from_bytes(hashlib.blake2b(document.text.encode(), digest_size=8).digest())
    if number % EVERY or not choices:
        return document.text
    return heading(*choices[number // EVERY % len(choices)]) + document.text


def spelt(form: str, known: Known) -> str:
    """A form's name in the script of a model: 七绝 is 七絕 where only that is known."""
    return form if known("绝") or not known("絕") else form.replace("绝", "絕")


def title_of(title: str) -> str:
    """What a heading says of a title; nothing if that is too long or not wholly 汉字.

    Of 相和歌辭 從軍行六首 五 it is 從軍行: the last part, without numbers.
    """
    parts = [_COUNT.sub("", part) for part in re.split(r"[\s・·]+", strip_notes(title))]
    parts = [part for part in parts if part and not _NUMBER.fullmatch(part)]
    last = parts[-1].translate(_WITHOUT_MARKS) if parts else ""
    return last if len(last) <= LONGEST_TITLE and all(map(is_han, last)) else ""


def author_of(author: str) -> str:
    """What a heading says of an author; nothing for several, for nobody, or for a description."""
    name = keep_restored(strip_notes(author)).rstrip("0123456789")
    known = name not in _NAMELESS and len(name) <= _LONGEST_NAME and all(map(is_han, name))
    return name if known else ""


def _form(document: Document) -> str:
    short = document.ends and len(document.text) <= _LONGEST_POEM
    return (form_of(document.text) or "") if short else ""
