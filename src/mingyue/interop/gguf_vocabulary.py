"""A tokenizer as llama.cpp wants it: all tokens in order, what each is, and how text is cut.

Bytes and BPE are what llama.cpp calls ``gpt2``: tokens in the same alphabet of bytes, and the
joins in order. Characters are cut like the pieces of a unigram model (``t5``) of which none is
longer than a character; there a space is written ▁, and a character outside the vocabulary
becomes the unknown token. As everywhere, a text begins with the end token of another.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from gguf import GGUFWriter, TokenType

_SPACE = "\u2581"


def add_vocabulary(
    writer: "GGUFWriter", tokenizer: Tokenizer, state: Mapping[str, Any], n_rows: int
) -> None:
    """Put a tokenizer into the file, with a token for each of the ``n_rows`` of the table.

    ``state`` is what ``tokenizer.json`` holds.

    Raises:
        UserError: it is a foreign tokenizer.
    """
    if tokenizer.kind == "other":
        raise UserError(
            tr("this tokenizer is of another kind than ours; only those can be put into GGUF")
        )
    tokens, types = _tokens(tokenizer, state, n_rows)
    as_characters = tokenizer.kind == "char"
    writer.add_tokenizer_model("t5" if as_characters else "gpt2")
    writer.add_tokenizer_pre("default" if as_characters else "gpt-2")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    if as_characters:
        writer.add_token_scores([0.0] * len(tokens))
        writer.add_add_space_prefix(False)
        writer.add_remove_extra_whitespaces(False)
    else:
        # The file must hold a join; where there is none, one that no text asks for.
        writer.add_token_merges(_merges(state) or [f"{tokens[tokenizer.end_id]} <>"])
    writer.add_bos_token_id(tokenizer.end_id)
    writer.add_eos_token_id(tokenizer.end_id)
    writer.add_add_bos_token(True)
    writer.add_add_eos_token(False)
    if tokenizer.unk_id is not None:
        writer.add_unk_token_id(tokenizer.unk_id)
    if tokenizer.pad_id is not None:
        writer.add_pad_token_id(tokenizer.pad_id)


def _tokens(
    tokenizer: Tokenizer, state: Mapping[str, Any], n_rows: int
) -> "tuple[list[str], list[TokenType]]":
    from gguf import TokenType

    tokens = [f"<|{id}|>" for id in range(n_rows)]  # rows of the table that nothing stands for
    types = [TokenType.UNUSED] * n_rows
    special = {token["id"]: token["content"] for token in state["added_tokens"]}
    for token, id in state["model"]["vocab"].items():
        tokens[id], types[id] = token, TokenType.NORMAL
    if tokenizer.kind == "char":
        for token, id in state["model"]["vocab"].items():
            if token == _SPACE:  # its place is taken by the space
                tokens[id], types[id] = f"<|{id}|>", TokenType.UNUSED
            elif token == " ":
                tokens[id] = _SPACE
    for id, token in special.items():
        tokens[id], types[id] = token, TokenType.CONTROL
    if tokenizer.unk_id is not None:
        types[tokenizer.unk_id] = TokenType.UNKNOWN
    return tokens, types


def _merges(state: Mapping[str, Any]) -> list[str]:
    """The joins, "a b"; older files have them so, newer ones as pairs."""
    merges = state["model"].get("merges", [])
    return [join if isinstance(join, str) else " ".join(join) for join in merges]
