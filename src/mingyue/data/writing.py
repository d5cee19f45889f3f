"""The second look at a corpus: text becomes ids, and each document goes to its side.

Training documents are written as they come. The held-out ones wait in memory (there is a limit
to them) until the whole training side has gone by and it is clear which of them are nearly in
it; those are then written to the training side after all, behind the others.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mingyue.data.blocks import Piece, blocks, utf8_lengths
from mingyue.data.dataset import Split
from mingyue.data.prints import prints
from mingyue.data.split import NearCopies
from mingyue.data.survey import Survey
from mingyue.data.tokens import Pieces, TokensWriter
from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.char import code_points
from mingyue.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus

TRAINING = -1


class Divider:
    """Says of each piece, block after block, whether it is held out and by which candidate."""

    def __init__(self, found: Survey) -> None:
        self._tails = found.tails
        self._owners = np.full(len(found.lengths), TRAINING)
        for number, candidate in enumerate(found.held_out):
            self._owners[candidate.documents] = number
        self._document, self._position = -1, 0

    def __call__(self, block: list[Piece]) -> tuple[list[Piece], np.ndarray]:
        """The pieces, cut in two where a held-out last part begins, and the owner of each.

        The owner (int64 [n_pieces]) is ``TRAINING``, or the number of the candidate, or 0 for
        any last part. Both parts of a divided document end as documents do.
        """
        if not self._tails:
            return block, self._owners[[piece.document for piece in block]]
        pieces: list[Piece] = []
        owners: list[int] = []
        for document, text, ends in block:
            if document != self._document:
                self._document, self._position = document, 0
            tail = self._tails.get(document)
            before_tail = len(text) if tail is None else max(0, tail - self._position)
            self._position += len(text)
            head, rest = text[:before_tail], text[before_tail:]
            if head or (tail is None and ends):
                whole = ends if tail is None else self._position >= tail
                pieces.append(Piece(document, head, whole))
                owners.append(TRAINING)
            if rest or (tail is not None and ends):
                pieces.append(Piece(document, rest, ends))
                owners.append(0)
        return pieces, np.array(owners)


def encode(tokenizer: Tokenizer, pieces: list[Piece]) -> Pieces:
    """The ids of the pieces, each document closed by the end token.

    A document so long that it arrives in pieces is tokenized piece by piece; at a seam BPE may
    cut a word that it would otherwise have kept whole.
    """
    texts = [piece.text for piece in pieces]
    ends = np.array([piece.ends for piece in pieces], bool)
    ids, tokens = tokenizer.encode_many(texts)
    ids = np.insert(ids, np.cumsum(tokens)[ends], tokenizer.end_id)
    characters = np.array([len(text) for text in texts], np.int64)
    codes = code_points("".join(texts))
    bytes_before = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(utf8_lengths(codes), out=bytes_before[1:])
    bounds = np.cumsum([0, *characters])
    return Pieces(
        ids=ids,
        tokens=tokens + ends,
        characters=characters,
        bytes=np.diff(bytes_before[bounds]),
        ends=ends,
    )


def write_tokens(
    corpus: "Corpus",
    found: Survey,
    tokenizer: Tokenizer,
    folder: Path,
    progress: Callable[[float], None],
) -> Split:
    """Write both sides of the corpus into ``folder``; ``progress`` is told the share done.

    Raises:
        UserError: the text is not the one that was surveyed.
    """
    train = _Side(folder, "train", tokenizer)
    val = _Side(folder, "val", tokenizer)
    divide = Divider(found)
    near = NearCopies(found.held_out)
    waiting: list[tuple[Pieces, np.ndarray]] = []
    read = documents = 0
    for block in blocks(corpus):
        read += sum(len(piece.text) for piece in block)
        documents = block[-1].document + 1
        if documents > len(found.lengths) or read > found.n_characters:
            break
        pieces, owners = divide(block)
        encoded = encode(tokenizer, pieces)
        in_training = owners == TRAINING
        train.add(encoded.where(in_training))
        if not in_training.all():
            waiting.append((encoded.where(~in_training), owners[~in_training]))
        if found.held_out:
            near.see(_training_sentences(pieces, in_training))
        progress(read / found.n_characters)
    if (read, documents) != (found.n_characters, len(found.lengths)):
        raise UserError(tr("{name}: changed while it was being read; try again", name=corpus.name))

    moved = near.moved() if found.held_out else np.zeros(1, bool)
    for encoded, owners in waiting:
        train.add(encoded.where(moved[owners]))
        val.add(encoded.where(~moved[owners]))
    train.writer.close()
    val.writer.close()
    none = "tails" if found.tails else "none"
    return Split(
        how="documents" if found.held_out and not moved.all() else none,
        wanted=found.wanted,
        train_documents=train.documents,
        val_documents=val.documents,
        train_characters=train.characters,
        val_characters=val.characters,
        moved=sum(len(found.held_out[k].documents) for k in np.flatnonzero(moved)),
        train_unknown=train.unknown,
        val_unknown=val.unknown,
    )


def changed(name: str) -> UserError:
    """The error to raise when the text is no longer the one that was looked at."""
    return UserError(tr("{name}: changed while it was being read; try again", name=name))


def _training_sentences(pieces: list[Piece], in_training: np.ndarray) -> np.ndarray:
    """The hashes of the sentences in training documents; uint64 [n]."""
    found = prints(pieces)
    ends = np.array([piece.ends for piece in pieces], bool)
    # A part is closed by the piece that ends its document; what is open at the end is the last's.
    part_in_training = np.append(in_training[ends], in_training[-1])
    return found.sentences[part_in_training[found.part_of]]


class _Side:
    """A writer that counts."""

    def __init__(self, folder: Path, name: str, tokenizer: Tokenizer) -> None:
        self.writer = TokensWriter(folder, name, tokenizer.dtype)
        unknown = tokenizer.unk_id  # GPT-2 names one token for unknown and end: not that one
        self._unknown_id = None if unknown == tokenizer.end_id else unknown
        self.documents = self.characters = self.unknown = 0

    def add(self, pieces: Pieces) -> None:
        self.writer.add(pieces)
        self.documents += int(pieces.ends.sum())
        self.characters += int(pieces.characters.sum())
        if self._unknown_id is not None:
            self.unknown += int((pieces.ids == self._unknown_id).sum())
