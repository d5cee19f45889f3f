"""Documents as texts, and those that several runs have held out alike."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mingyue.data.tokens import Tokens
from mingyue.evaluation.documents import Part, alike, texts
from mingyue.text.tokenizer import Tokenizer

CHARACTERS = Tokenizer.characters(dict.fromkeys("天地玄黄", 1))
FEWER = Tokenizer.characters(dict.fromkeys("天地玄", 1))
BYTES = Tokenizer.bytes()


def part(documents: list[str], tokenizer: Tokenizer) -> Part:
    ids = [[*tokenizer.encode(text), tokenizer.end_id] for text in documents]
    sizes = [(len(i), len(t), len(t.encode())) for i, t in zip(ids, documents, strict=True)]
    starts = np.cumsum([(0, 0, 0), *sizes], axis=0).T
    return Tokens([np.concatenate([*map(np.asarray, ids), np.empty(0, int)])], starts), tokenizer


TEXTS = st.lists(st.text("天地玄", max_size=3), max_size=6)


@given(TEXTS, TEXTS)
def test_the_documents_of_all(mine: list[str], others: list[str]):
    parts = [part(mine, CHARACTERS), part(others, BYTES)]
    found = alike(parts)
    read = [list(texts(t, tokenizer)) for t, (_, tokenizer) in zip(found, parts, strict=True)]
    assert read[0] == read[1]
    if mine == others:
        assert read[0] == mine
    else:
        assert read[0] == [text for text in dict.fromkeys(mine) if text in others]
    for tokens, documents in zip(found, read, strict=True):
        assert tokens.n_characters == sum(map(len, documents))
        assert tokens.n_bytes == sum(len(text.encode()) for text in documents)


def test_a_document_with_an_unknown_character_is_another():
    parts = [part(["天地", "天黄"], CHARACTERS), part(["天地", "天黄"], FEWER)]
    assert [tokens.n_documents for tokens in alike(parts)] == [1, 1]


def test_headings_are_no_part_of_a_text():
    heads = Tokenizer.characters(dict.fromkeys("天地五言〔〕《》", 1), marks="〔〕《》")
    open_, close = (heads.encode(sign)[0] for sign in "〔〕")
    documents = [[*heads.encode(t), heads.end_id] for t in ("〔五言《天》〕天地", "地")]
    tokens = Tokens.from_documents(documents, (open_, close))
    assert list(texts(tokens, heads)) == ["天地", "地"]
