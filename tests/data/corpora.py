"""Corpora in memory."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Literal

from mingyue.text.document import Document
from mingyue.text.report import Report


class Memory:
    """A list of documents in the shape of a ``Corpus``; texts stand for whole documents."""

    layout: Literal["verse", "plain"] = "verse"

    def __init__(self, documents: Iterable[str | Document], name: str = "memory") -> None:
        self.name = name
        self.report = Report()
        self.documents = [Document(d) if isinstance(d, str) else d for d in documents]
        self.passes = 0

    def fingerprint(self) -> str:
        return hashlib.sha256(repr(self.documents).encode()).hexdigest()

    def __iter__(self) -> Iterator[Document]:
        self.passes += 1
        self.report = Report()
        for document in self.documents:
            self.report.documents += document.ends
            self.report.characters += len(document.text)
            yield document
