"""Documents of a prepared text as texts again, and those that several runs held out alike."""

from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

from mingyue.data.tokens import Tokens
from mingyue.text.tokenizer import Tokenizer
from mingyue.text.verse.heading import split_heading

Part = tuple[Tokens, Tokenizer]
"""Documents, and what made tokens of them."""


def texts(tokens: Tokens, tokenizer: Tokenizer) -> Iterator[str]:
    """The documents one after another, without the headings that some may have."""
    for i in range(tokens.n_documents):
        text = tokenizer.decode(tokens.document(i).tolist())
        yield split_heading(text)[1] if tokens.brackets else text


def alike(parts: Sequence[Part]) -> list[Tokens]:
    """Of each part the documents that all parts have, in the order of the first, each once.

    Parts with the same documents stay as they are. Documents are the same if their texts are,
    whatever the tokenizers; one with a character that a tokenizer lacks is another text to it.
    """
    prints = [[_print(text) for text in texts(*part)] for part in parts]
    if all(each == prints[0] for each in prints):
        return [tokens for tokens, _ in parts]
    places = [{p: i for i, p in reversed(list(enumerate(each)))} for each in prints]
    common = [p for p in dict.fromkeys(prints[0]) if all(p in each for each in places)]
    return [
        _chosen(tokens, [here[p] for p in common])
        for (tokens, _), here in zip(parts, places, strict=True)
    ]


def _print(text: str) -> bytes:
    return blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()


def _chosen(tokens: Tokens, documents: Sequence[int]) -> Tokens:
    """Only these documents."""
    ids = [tokens.document(i) for i in documents]
    sizes = np.array([(0, 0, 0), *(tokens.sizes(i, i + 1) for i in documents)], np.int64)
    return Tokens([np.concatenate(ids)] if ids else [], np.cumsum(sizes, axis=0).T)
