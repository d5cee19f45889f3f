"""A run's own text for exhibits that need one: documents, held out or not."""

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from mingyue.data.tokens import Tokens
from mingyue.explain.subject import Subject


def with_text(subject: Subject, train: Sequence[str] = (), val: Sequence[str] = ()) -> Subject:
    """The subject with a corpus beside it, as far as exhibits look at one."""

    def tokens(texts: Sequence[str]) -> Tokens:
        end = subject.tokenizer.end_id
        return Tokens.from_documents([[*subject.tokenizer.encode(text), end] for text in texts])

    dataset: Any = SimpleNamespace(
        name="poems", tokenizer=subject.tokenizer, train=tokens(train), val=tokens(val)
    )
    return replace(subject, dataset=dataset)
