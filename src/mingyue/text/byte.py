"""Tokens that are bytes: 256 of them write any text there is, at three tokens per 汉字.

Byte-level tokenizers in the Hugging Face format cannot hold raw bytes in their JSON, so by a
convention that began with GPT-2 each byte is written as one printable character: those that
print in Latin-1 as themselves, the other 68 as U+0100, U+0101, … in turn. BPE (``bpe.py``)
builds on the same alphabet.
"""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from mingyue.text.char import END, PADDING

if TYPE_CHECKING:
    import tokenizers


@cache
def alphabet() -> tuple[str, ...]:
    """The character that stands for each byte, by byte."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return tuple(chr(b if b in printable else next(others)) for b in range(256))


@cache
def _byte_of() -> dict[str, int]:
    return {character: byte for byte, character in enumerate(alphabet())}


def as_bytes(token: str) -> bytes:
    """The bytes that a token of a byte-level vocabulary stands for.

    A token with characters outside the alphabet was added by hand (as plain text): its UTF-8.
    """
    byte_of = _byte_of()
    try:
        return bytes([byte_of[c] for c in token])
    except KeyError:
        return token.encode("utf-8")


def build() -> "tokenizers.Tokenizer":
    """A tokenizer in which byte b has id b; the end and padding tokens are 256 and 257."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    specials = [END, PADDING]
    vocabulary = {token: id for id, token in enumerate([*alphabet(), *specials])}
    backend = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return backend


def is_byte_level(state: Mapping[str, Any]) -> bool:
    """Whether the tokens of a parsed ``tokenizer.json`` are sequences of bytes."""
    return (
        state["model"]["type"] == "BPE" and (state.get("decoder") or {}).get("type") == "ByteLevel"
    )


def is_byte(state: Mapping[str, Any]) -> bool:
    """Whether a parsed ``tokenizer.json`` makes each byte a token, as ``build`` does."""
    splitter = state.get("pre_tokenizer") or {}
    return (
        is_byte_level(state)
        and state.get("normalizer") is None
        and not state["model"]["merges"]
        and splitter.get("type") == "ByteLevel"
        and splitter.get("add_prefix_space") is False
        and all(character in state["model"]["vocab"] for character in alphabet())
    )
