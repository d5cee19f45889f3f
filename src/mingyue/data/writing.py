"""The second look at a corpus: text becomes ids, and each document goes to its side.

Training documents are written as they come. The held-out ones wait in memory (there is a limit
to them) until the whole training side has gone by and it is clear which of them are nearly in
it; those are then written to the training side after all, behind the others.

With headings the training side is written as it stands behind them. Dividing and comparing see
the texts alone.

A held-out text of its own is simply written; the corpus is then wholly training.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mingyue.data.blocks import Block, Piece, blocks, utf8_sizes
from mingyue.data.dataset import Split
from mingyue.data.headings import Headings, without_headings
from mingyue.data.prints import prints
from mingyue.data.split import NearCopies
from mingyue.data.survey import Survey
from mingyue.data.together import together
from mingyue.data.tokens import Pieces, TokensWriter
from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus

TRAINING = -1

_NONE = np.empty(0, np.uint64)


class Divider:
    """Says of each piece, block after block, whether it is held out and by which candidate."""

    def __init__(self, found: Survey) -> None:
        self._tails = found.tails
        self._owners = np.full(len(found.lengths), TRAINING)
        for number, candidate in enumerate(found.held_out):
            self._owners[candidate.documents] = number
        self._document, self._position = -1, 0

    def __call__(self, block: Block) -> tuple[Block, np.ndarray]:
        """The pieces, cut in two where a held-out last part begins, and the owner of each.

        The owner (int64 [n_pieces]) is ``TRAINING``, or the number of the candidate, or 0 for
        any last part. Both parts of a divided document end as documents do.
        """
        if not self._tails:
            return block, self._owners[block.documents]
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
        return Block.of(pieces), np.array(owners)


def encode(tokenizer: Tokenizer, block: Block) -> Pieces:
    """The ids of the pieces, each document closed by the end token.

    A document so long that it arrives in pieces is tokenized piece by piece; at a seam BPE may
    cut a word that it would otherwise have kept whole.
    """
    ids, tokens = tokenizer.encode_many(block.texts, block.codes)
    ids = np.insert(ids, np.cumsum(tokens)[block.ends], tokenizer.end_id)
    return Pieces(
        ids=ids,
        tokens=tokens + block.ends,
        characters=block.lengths,
        bytes=utf8_sizes(block),
        ends=block.ends,
    )


def write_tokens(
    corpus: "Corpus",
    found: Survey,
    tokenizer: Tokenizer,
    folder: Path,
    progress: Callable[[float], None],
    held_out: "Corpus | None" = None,
    headings: Headings | None = None,
) -> Split:
    """Write both sides into ``folder``; ``progress`` is told the share of the corpus done.

    Raises:
        UserError: the text is not the one that was surveyed, or the held-out one is empty.
    """
    train = _Side(folder, "train", tokenizer)
    val = _Side(folder, "val", tokenizer)
    if held_out is not None:
        for block in blocks(held_out):
            val.add(encode(tokenizer, block))
        if not val.characters:
            raise UserError(tr("{name}: there is no text in it", name=held_out.name))
    divide = Divider(found)
    near = NearCopies(found.held_out)
    waiting: list[tuple[Pieces, np.ndarray]] = []
    read = documents = headed = 0

    def divided() -> Iterator[tuple[Block, np.ndarray, Block | None]]:
        nonlocal read, documents
        for whole in blocks(corpus if headings is None else headings.written(tokenizer)):
            block = whole if headings is None else without_headings(whole)
            read += len(block.codes)
            documents = int(block.documents[-1]) + 1
            if documents > len(found.lengths) or read > found.n_characters:
                return
            yield *divide(block), None if headings is None else whole

    def work(given: tuple[Block, np.ndarray, Block | None]) -> tuple[Pieces, Pieces, np.ndarray]:
        block, owners, whole = given
        training = owners == TRAINING
        encoded = encode(tokenizer, block)
        learnt = encoded if whole is None else encode(tokenizer, whole)
        sentences = _training_sentences(block, training) if found.held_out else _NONE
        return learnt.where(training), encoded.where(~training), sentences

    done = 0
    for (block, owners, whole), (training, others, sentences) in together(divided(), work):
        train.add(training)
        if whole is not None:
            headed += int((whole.lengths > block.lengths)[owners == TRAINING].sum())
        if len(others.ends):
            waiting.append((others, owners[owners != TRAINING]))
        near.see(sentences)
        done += len(block.codes)
        progress(done / found.n_characters)
    if (read, documents) != (found.n_characters, len(found.lengths)):
        raise changed(corpus.name)

    moved = near.moved() if found.held_out else np.zeros(1, bool)
    for encoded, owners in waiting:
        train.add(encoded.where(moved[owners]))
        val.add(encoded.where(~moved[owners]))
    train.writer.close()
    val.writer.close()
    how = "documents" if found.held_out and not moved.all() else "none"
    if held_out is not None or found.tails:
        how = "given" if held_out is not None else "tails"
    return Split(
        how=how,
        wanted=found.wanted or held_out is not None,
        train_documents=train.documents,
        val_documents=val.documents,
        train_characters=train.characters,
        val_characters=val.characters,
        moved=sum(len(found.held_out[k].documents) for k in np.flatnonzero(moved)),
        train_unknown=train.unknown,
        val_unknown=val.unknown,
        held_out="" if held_out is None else held_out.name,
        headed=headed,
    )


def changed(name: str) -> UserError:
    """The error to raise when the text is no longer the one that was looked at."""
    return UserError(tr("{name}: changed while it was being read; try again", name=name))


def _training_sentences(block: Block, in_training: np.ndarray) -> np.ndarray:
    """The hashes of the sentences in training documents; uint64 [n]."""
    found = prints(block)
    # A part is closed by the piece that ends its document; what is open at the end is the last's.
    part_in_training = np.append(in_training[block.ends], in_training[-1])
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
