"""Tokens that are single characters: the default, and the natural unit of Chinese verse.

Every different character of the corpus gets its own number (id). Ids go by falling frequency
after the special tokens, so the first rows of the embedding table are the ones most in use and
the table is the same whenever the counts are the same.

The tokenizer is stored in the Hugging Face format as a ``WordLevel`` model whose words are the
pieces matched by ``[\\s\\S]``: any single character, newline and space included. Decoding fuses
the pieces without putting spaces between them.
"""

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    import numpy as np
    import tokenizers

END, UNKNOWN, PADDING = "<|end|>", "<|unk|>", "<|pad|>"

CODE_POINTS = 0x110000
"""How many code points Unicode has, used or not."""

REPLACEMENT = "\ufffd"
"""What stands for half of a surrogate pair, which is not a character and has no UTF-8."""

_LARGEST = 65_536
_ANY_CHARACTER = r"[\s\S]"


def code_points(text: str) -> "np.ndarray":
    """The characters of ``text`` as numbers, uint32 of length ``len(text)``."""
    import numpy as np

    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def without_surrogates(text: str) -> str:
    """``text`` with every lone surrogate replaced by U+FFFD, one for one.

    Such halves come from broken JSON escapes and from bytes smuggled through a command line.
    """
    if not has_surrogates(text):
        return text
    return "".join(REPLACEMENT if "\ud800" <= c <= "\udfff" else c for c in text)


def has_surrogates(text: str) -> bool:
    """Whether ``text`` holds half of a surrogate pair."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def build(
    counts: Mapping[str, int], *, min_count: int = 1, limit: int | None = None
) -> "tokenizers.Tokenizer":
    """A tokenizer with one token per character that occurs at least ``min_count`` times.

    ``limit`` keeps only that many of the most frequent characters. Ids: the special tokens
    first, then by falling count, characters of equal count by code point.

    Raises:
        UserError: nothing is left, or the text looks mis-decoded (see ``check_plausible``).
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    check_plausible(counts)
    frequent = [c for c, n in counts.items() if n >= min_count and not "\ud800" <= c <= "\udfff"]
    frequent.sort(key=lambda c: (-counts[c], c))
    if limit is not None:
        frequent = frequent[:limit]
    if not frequent:
        raise UserError(
            tr(
                "no character occurs {min_count} times, so there is no vocabulary; "
                "give more text or a lower minimum count",
                min_count=min_count,
            )
        )
    if len(frequent) > _LARGEST:
        raise UserError(
            tr(
                "{n} different characters: no script has so many, the file is probably "
                "mis-decoded; name its encoding, or keep only the frequent ones by a minimum "
                "count, or choose bytes or BPE",
                n=f"{len(frequent):,}",
            )
        )
    specials = [END, UNKNOWN, PADDING]
    vocabulary = {token: id for id, token in enumerate([*specials, *frequent])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token=UNKNOWN))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(_ANY_CHARACTER), "isolated")
    backend.decoder = decoders.Fuse()
    backend.add_special_tokens([AddedToken(s, special=True, normalized=False) for s in specials])
    return backend


def check_plausible(counts: Mapping[str, int]) -> None:
    """Refuse text that is mostly what no writing contains.

    Bytes read in the wrong encoding come out as private-use characters, unassigned code points,
    U+FFFD and control characters. A real text has next to none of them; above a tenth of all
    characters the cause is the decoding.

    Raises:
        UserError: more than a tenth of the text is of that kind.
    """
    total = sum(counts.values())
    strange = sum(n for c, n in counts.items() if c == REPLACEMENT or _is_strange(c))
    if total and strange > total / 10:
        raise UserError(
            tr(
                "{percent}% of the text is private-use, unassigned, control or replacement "
                "characters: the file is probably mis-decoded or not text; name its encoding",
                percent=round(100 * strange / total),
            )
        )


def _is_strange(character: str) -> bool:
    category = unicodedata.category(character)
    return category in {"Co", "Cn", "Cs"} or (category == "Cc" and character not in "\t\n\r\f\v")


def is_char(state: Mapping[str, Any]) -> bool:
    """Whether a parsed ``tokenizer.json`` works character by character, as ``build`` makes it."""
    splitter = state.get("pre_tokenizer") or {}
    return (
        state["model"]["type"] == "WordLevel"
        and state.get("normalizer") is None
        and splitter.get("type") == "Split"
        and splitter.get("pattern") == {"Regex": _ANY_CHARACTER}
        and splitter.get("behavior") == "Isolated"
        and splitter.get("invert") is False
        and (state.get("decoder") or {}).get("type") == "Fuse"
    )


def table_of_ids(vocabulary: Mapping[str, int], unknown_id: int, dtype: Any) -> "np.ndarray":
    """``table[code point] = id``, so that a whole text is encoded by one indexing."""
    import numpy as np

    table = np.full(CODE_POINTS, unknown_id, dtype)
    for token, id in vocabulary.items():
        if len(token) == 1:
            table[ord(token)] = id
    table[0xD800:0xE000] = table[ord(REPLACEMENT)]
    return table
