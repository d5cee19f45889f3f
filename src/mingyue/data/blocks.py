"""Documents in handfuls of equal size, for work in bulk.

Sixty characters of a poem are too few to be worth a call into NumPy, and a novel is too much to
hold. So the pieces of documents are put together, and long ones cut, into blocks of about half
a million characters, and each block is treated as one array of code points, in which a number
that is no code point marks the end of each document.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np

from mingyue.text.char import CODE_POINTS, code_points
from mingyue.text.document import Document

BLOCK_CHARACTERS = 1 << 19

END_MARK = CODE_POINTS
"""Stands in an array of code points where a document ends."""

OTHER, WORD, BREAK = 0, 1, 2
"""What a code point is: a letter, digit or 汉字; the end of a sentence or line; anything else."""

_SENTENCE_ENDS = "。！？；.!?;…‥｡؟।॥\n\r\v\f\x85\u2028\u2029"


class Piece(NamedTuple):
    """A stretch of a document's text."""

    document: int
    text: str
    ends: bool
    """Whether the document ends here."""


def blocks(documents: Iterable[Document], size: int = BLOCK_CHARACTERS) -> Iterator[list[Piece]]:
    """The documents, numbered from 0, in lists of pieces of about ``size`` characters in all.

    Documents without a single character are left out and get no number. The last piece of each
    document has ``ends``, also where the last ``Document`` forgot to say so.
    """
    block: list[Piece] = []
    filled = 0
    for piece in _pieces(documents, size):
        block.append(piece)
        filled += len(piece.text) + piece.ends
        if filled >= size:
            yield block
            block, filled = [], 0
    if block:
        yield block


def _pieces(documents: Iterable[Document], size: int) -> Iterator[Piece]:
    number, begun = 0, False
    for document in documents:
        text, ends = document.text, document.ends
        begun = begun or bool(text)
        while len(text) > size:
            yield Piece(number, text[:size], False)
            text = text[size:]
        if text or (ends and begun):
            yield Piece(number, text, ends)
        if ends:
            number, begun = number + begun, False
    if begun:
        yield Piece(number, "", True)


def marked(pieces: list[Piece]) -> np.ndarray:
    """The code points of all pieces, ``END_MARK`` after each document's last; uint32 [n]."""
    codes = code_points("".join([piece.text for piece in pieces]))
    ends = np.cumsum([len(piece.text) for piece in pieces])[[piece.ends for piece in pieces]]
    return np.insert(codes, ends, END_MARK)


@cache
def classes() -> np.ndarray:
    """OTHER, WORD or BREAK by code point; the end mark is a BREAK; uint8 [CODE_POINTS + 1]."""
    table = np.zeros(CODE_POINTS + 1, np.uint8)
    table[:0x40000] = [chr(c).isalnum() for c in range(0x40000)]  # beyond, there are no letters
    table[[*map(ord, _SENTENCE_ENDS), END_MARK]] = BREAK
    return table


def utf8_lengths(codes: np.ndarray) -> np.ndarray:
    """How many bytes each code point takes in UTF-8; uint8 [n]."""
    return (
        np.uint8(1)
        + (codes > 0x7F).view(np.uint8)
        + (codes > 0x7FF).view(np.uint8)
        + (codes > 0xFFFF).view(np.uint8)
    )
