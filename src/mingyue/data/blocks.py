"""Documents in handfuls of equal size, for work in bulk.

Sixty characters of a poem are too few to be worth a call into NumPy, and a novel is too much to
hold. So the pieces of documents are put together, and long ones cut, into blocks of about half
a million characters, and each block is treated as one array of code points, in which a number
that is no code point marks the end of each document.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mingyue.text.char import CODE_POINTS, code_points
from mingyue.text.document import Document, Handful, gather

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus

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


@dataclass(frozen=True, slots=True)
class Block:
    """Pieces of documents, each thing about them in a list or array of its own."""

    documents: np.ndarray  # int64 [n], the number of each piece's document
    texts: list[str]
    lengths: np.ndarray  # int64 [n], in characters
    ends: np.ndarray  # bool [n]
    codes: np.ndarray  # int64 [lengths.sum()], the code points of all texts

    @classmethod
    def of(cls, pieces: Iterable[Piece]) -> "Block":
        """From pieces one by one."""
        return cls.made(*_Pieces.of(list(pieces)))

    @classmethod
    def made(
        cls, documents: np.ndarray, texts: list[str], lengths: np.ndarray, ends: np.ndarray
    ) -> "Block":
        """With the code points of ``texts``.

        NumPy looks tables up by int64; anything else it would turn into that each time anew.
        """
        return cls(documents, texts, lengths, ends, code_points("".join(texts)).astype(np.int64))

    def __iter__(self) -> Iterator[Piece]:
        return map(Piece, self.documents.tolist(), self.texts, self.ends.tolist())


def blocks(
    documents: "Iterable[Document] | Corpus", size: int = BLOCK_CHARACTERS
) -> Iterator[Block]:
    """The documents, numbered from 0, in blocks of pieces of about ``size`` characters in all.

    Documents without a single character are left out and get no number. The last piece of each
    document has ``ends``, also where the last ``Document`` forgot to say so.
    """
    waiting: list[_Pieces] = []
    filled = 0
    for some in _numbered(documents, size):
        waiting.append(some)
        filled += some.size
        if filled < size:  # small handfuls are put together once for a block, not one by one
            continue
        pieces = _joined(waiting)
        until = np.cumsum(pieces.lengths + pieces.ends)
        start, before = 0, 0
        while (last := int(np.searchsorted(until, before + size))) < len(until):
            yield Block.made(*pieces.part(start, last + 1))
            start, before = last + 1, int(until[last])
        waiting = [pieces.part(start, len(until))]
        filled -= before
    if filled:
        yield Block.made(*_joined(waiting))


class _Pieces(NamedTuple):
    """Pieces in columns: what ``Block.made`` takes."""

    documents: np.ndarray
    texts: list[str]
    lengths: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, pieces: list[Piece]) -> "_Pieces":
        texts = [piece.text for piece in pieces]
        return cls(
            np.array([piece.document for piece in pieces], np.int64),
            texts,
            lengths_of(texts),
            np.array([piece.ends for piece in pieces], bool),
        )

    @property
    def size(self) -> int:
        """Characters and ends of documents."""
        return int(self.lengths.sum() + self.ends.sum())

    def part(self, start: int, stop: int) -> "_Pieces":
        part = slice(start, stop)
        return _Pieces(self.documents[part], self.texts[part], self.lengths[part], self.ends[part])


def _joined(some: list[_Pieces]) -> _Pieces:
    documents, texts, lengths, ends = zip(*some, strict=True)
    return _Pieces(
        np.concatenate(documents),
        list(chain.from_iterable(texts)),
        np.concatenate(lengths),
        np.concatenate(ends),
    )


def _numbered(documents: "Iterable[Document] | Corpus", size: int) -> Iterator[_Pieces]:
    """Pieces of at most ``size`` characters, as they come."""
    # A corpus that reads many documents at once does; any other sequence of them will do.
    many = getattr(documents, "handfuls", None)
    number, begun = 0, False
    for handful in many() if many is not None else gather(documents):
        texts, lengths = handful.texts, lengths_of(handful.texts)
        if handful.ends is None and not begun and 0 < lengths.min() <= lengths.max() <= size:
            n = len(texts)
            yield _Pieces(np.arange(number, number + n), texts, lengths, np.ones(n, bool))
            number += n
        else:
            pieces, number, begun = _cut(handful, size, number, begun)
            yield _Pieces.of(pieces)
    if begun:
        yield _Pieces.of([Piece(number, "", True)])


def _cut(handful: Handful, size: int, number: int, begun: bool) -> tuple[list[Piece], int, bool]:
    """The pieces of a handful, from document ``number``, which may have ``begun`` before it;
    and the number of the document that is next, and whether it has begun."""
    pieces: list[Piece] = []
    for text, ends in zip(handful.texts, handful.ends or [True] * len(handful.texts), strict=True):
        begun = begun or bool(text)
        while len(text) > size:
            pieces.append(Piece(number, text[:size], False))
            text = text[size:]
        if text or (ends and begun):
            pieces.append(Piece(number, text, ends))
        if ends:
            number, begun = number + begun, False
    return pieces, number, begun


def lengths_of(texts: list[str]) -> np.ndarray:
    """How many characters each text has; int64 [n]."""
    return np.fromiter(map(len, texts), np.int64, len(texts))


def marked(block: Block) -> np.ndarray:
    """The code points of all pieces, ``END_MARK`` after each document's last; int64 [n]."""
    if not block.ends.any():
        return block.codes
    return np.insert(block.codes, np.cumsum(block.lengths)[block.ends], END_MARK)


@cache
def classes() -> np.ndarray:
    """OTHER, WORD or BREAK by code point; the end mark is a BREAK; uint8 [CODE_POINTS + 1]."""
    table = np.zeros(CODE_POINTS + 1, np.uint8)
    table[:0x40000] = [chr(c).isalnum() for c in range(0x40000)]  # beyond, there are no letters
    table[[*map(ord, _SENTENCE_ENDS), END_MARK]] = BREAK
    return table


def utf8_sizes(block: Block) -> np.ndarray:
    """How many bytes each piece takes in UTF-8; int64 [n]."""
    if len(block.codes) == 0 or block.codes.max() < 0x80:
        return block.lengths
    until = np.zeros(len(block.codes) + 1, np.int64)
    np.cumsum(_utf8_lengths().take(block.codes), out=until[1:])
    return np.diff(until[np.append(0, np.cumsum(block.lengths))])


@cache
def _utf8_lengths() -> np.ndarray:
    """Bytes in UTF-8 by code point; uint8 [CODE_POINTS]."""
    table = np.full(CODE_POINTS, 4, np.uint8)
    table[:0x10000], table[:0x800], table[:0x80] = 3, 2, 1
    return table
