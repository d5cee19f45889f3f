"""Corpora in memory, and what became of them."""

import hashlib
import random
from collections.abc import Iterable, Iterator
from typing import Literal

from mingyue.data import Dataset
from mingyue.text.document import Document
from mingyue.text.report import Report

HAN = "明月光疑是地上霜舉頭望故鄉白日依山盡黃河入海流春眠不覺曉處聞啼鳥夜來風雨聲花落知多少千里目樓"


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


def poem(lines: int = 4) -> str:
    return "".join("".join(random.choices(HAN, k=5)) + "，。"[line % 2] for line in range(lines))


def poems(n: int, seed: int = 0) -> list[str]:
    random.seed(seed)
    return [poem() for _ in range(n)]


def sides(dataset: Dataset) -> tuple[list[str], list[str]]:
    """The texts on both sides, checked to end as documents do and to be counted right."""
    result = []
    for tokens in (dataset.train, dataset.val):
        documents = [tokens.document(i) for i in range(tokens.n_documents)]
        assert all(d[-1] == dataset.tokenizer.end_id for d in documents)
        assert all((d[:-1] != dataset.tokenizer.end_id).all() for d in documents)
        texts = [dataset.tokenizer.decode(d.tolist()) for d in documents]
        assert tokens.n_characters == sum(map(len, texts))
        assert tokens.n_bytes == sum(len(text.encode()) for text in texts)
        assert tokens.n_tokens == sum(map(len, documents))
        result.append(texts)
    split = dataset.split
    assert (split.train_documents, split.val_documents) == tuple(map(len, result))
    return result[0], result[1]
