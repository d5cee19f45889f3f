"""Headings before the training documents (``text.verse.heading``), for who wants them.

Only what is trained on gets them. What is held out stays plain, and so does whatever is counted
or compared: a text is divided in the same way with headings and without.

A model is never asked to predict a heading, only to go on from it (``batches``), so it never
begins with one by itself, and its losses are of the same text as those of any other model.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from mingyue.data.blocks import Block, lengths_of
from mingyue.data.survey import Survey
from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.document import Document
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse.heading import (
    CLOSE,
    FORMS,
    MARKS,
    OPEN,
    author_of,
    headed,
    spelt,
    split_heading,
    title_of,
)

if TYPE_CHECKING:
    from mingyue.text.corpus import Corpus

FREQUENT = 20
"""A character that only titles and authors have is worth a token from so many documents on."""


class Headings:
    """The documents of a corpus on both their ways through preparation."""

    def __init__(self, corpus: "Corpus") -> None:
        self._corpus = corpus
        self._counts: Counter[str] = Counter()

    def seen(self) -> Iterator[Document]:
        """The documents as they are, while the characters of titles and authors are counted."""
        for document in self._corpus:
            self._counts.update({*title_of(document.title), *author_of(document.author)})
            yield document

    def tokenizer(self, found: Survey, min_count: int) -> Tokenizer:
        """Of all characters that get a token; after ``seen``.

        Raises:
            UserError: the text itself has the brackets that headings are told by.
        """
        if found.counts[ord(OPEN)] or found.counts[ord(CLOSE)]:
            raise UserError(
                tr(
                    "{name}: the brackets {marks} occur in its texts, but headings are told by "
                    "them; train with --no-headings",
                    name=self._corpus.name,
                    marks=OPEN + CLOSE,
                )
            )
        texts = found.characters()
        names = {c: n for c, n in self._counts.items() if n >= FREQUENT}
        often = max(found.n_characters, min_count)
        forms = dict.fromkeys(spelt(FORMS, texts.__contains__), often)
        return Tokenizer.characters(
            {**forms, **names, **texts, **dict.fromkeys(MARKS, often)},
            min_count=min_count,
            marks="".join(mark for mark in MARKS if mark not in texts),
        )

    def written(self, tokenizer: Tokenizer) -> Iterator[Document]:
        """The documents again, some of them behind their headings."""
        begins = True
        for document in self._corpus:
            if begins and document.text:
                yield replace(document, text=headed(document, tokenizer.knows))
            else:
                yield document
            begins = document.ends or (begins and not document.text)


def without_headings(block: Block) -> Block:
    """The same pieces as they were."""
    texts = [split_heading(text)[1] for text in block.texts]
    return Block.made(block.documents, texts, lengths_of(texts), block.ends)
