"""From text to ids and back.

A model knows only numbers. The tokenizer cuts text into pieces and gives each its number, its
id; the embedding table then holds one row per id. Three ways of cutting are offered, each in a
file of its own: single characters (``char``), single bytes (``byte``), and frequent byte
sequences (``bpe``). Whatever the way, ``tokenizer.json`` in the Hugging Face format is the
truth; where a table does the same work faster, a test holds the two equal.

Special tokens mark what no text contains: ``<|end|>`` the end of a document, ``<|unk|>`` a
character outside the vocabulary, ``<|pad|>`` an empty place. Text that happens to spell
"<|end|>" is text: ``encode`` never makes a special token of it. (transformers does, unless told
``split_special_tokens=True``; all other text gives the same ids there.)
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text import bpe, byte, char
from mingyue.text.decoding import StreamDecoder
from mingyue.text.files import write_atomic

if TYPE_CHECKING:
    import numpy as np
    import tokenizers

Kind = Literal["char", "byte", "bpe", "other"]

_BytesOf = dict[int, bytes]  # named here, since in the class below ``bytes`` is a constructor

_MARKS = "mingyue_marks"  # in tokenizer_config.json

# How tokenizers that we did not make call their end token, where their config does not say.
_ENDS = (char.END, "<|endoftext|>", "</s>", "<|im_end|>", "<eos>", "<|end_of_text|>", "[SEP]")


class Tokenizer:
    """A ``tokenizers.Tokenizer`` together with the meaning of its special tokens.

    ``kind`` is "char", "byte" or "bpe" (byte-level); "other" is any further tokenizer in the
    Hugging Face format that was loaded.
    """

    kind: Kind
    vocab_size: int
    """One more than the largest id."""
    end_id: int
    ends: frozenset[int]
    """All ids that end a text; who loads a model may know of more than the tokenizer does."""
    bos_id: int | None
    """What its makers call the beginning of a text; whether it is used is for ``begin`` to say."""
    unk_id: int | None
    pad_id: int | None

    def __init__(self, backend: "tokenizers.Tokenizer", config: Mapping[str, Any] | None = None):
        """Wrap ``backend``; ``config`` is its ``tokenizer_config.json``, our own by default.

        Raises:
            UserError: it has no end token.
        """
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True  # special tokens spelt out in a text are text
        self._backend = backend
        self._config = dict(config or {})
        state = json.loads(backend.to_str())
        self.kind = _kind_of(state)
        self._ids: dict[str, int] = backend.get_vocab(with_added_tokens=True)
        self.vocab_size = max(self._ids.values(), default=-1) + 1
        self._special = {t["id"] for t in state.get("added_tokens") or () if t["special"]}

        model = state["model"]
        if model["type"] in {"WordLevel", "WordPiece"} and model["unk_token"] not in model["vocab"]:
            raise UserError(
                tr(
                    "the tokenizer's unknown token {token} is not in its vocabulary",
                    token=model["unk_token"],
                )
            )
        if len(set(self._ids.values())) < len(self._ids):
            raise UserError(tr("the tokenizer gives one id to two tokens; its file is damaged"))
        end = self._named("eos_token") or next((e for e in _ENDS if e in self._ids), None)
        if end is None:
            raise UserError(
                tr(
                    "the tokenizer has no end token; name one of its tokens as "
                    '"eos_token" in tokenizer_config.json'
                )
            )
        unknown = self._named("unk_token") or model.get("unk_token")
        if unknown is None and (number := model.get("unk_id")) is not None:  # Unigram
            unknown = backend.id_to_token(number)
        padding = self._named("pad_token") or (char.PADDING if char.PADDING in self._ids else None)
        self.end_id = self._ids[end]
        self.ends = frozenset({self.end_id})
        first = self._named("bos_token") or (end if end == char.END else None)
        self.bos_id = self._ids[first] if first else None
        self.unk_id = self._ids.get(unknown) if unknown else None
        self.pad_id = self._ids.get(padding) if padding else None

    def _named(self, role: str) -> str | None:
        """The token that the config gives a role, if the vocabulary has it."""
        token = self._config.get(role)
        if isinstance(token, Mapping):
            token = token.get("content")
        return token if isinstance(token, str) and token in self._ids else None

    def __repr__(self) -> str:
        return f"Tokenizer({self.kind}, vocab_size={self.vocab_size})"

    @property
    def never_sampled(self) -> list[int]:
        """Ids that must not be generated: they stand for no text and no end."""
        none = {self.unk_id, self.pad_id, *(self._ids.get(mark) for mark in self.marks)}
        return sorted({id for id in none if id is not None} - self.ends | self._gaps)

    @cached_property
    def _gaps(self) -> set[int]:
        """Ids below the largest that no token has."""
        return set(range(self.vocab_size)).difference(self._ids.values())

    @cached_property
    def begin(self) -> list[int]:
        """The ids that stand before every text.

        In our own, which have ``<|end|>``, that is the end token of the text before. Others say
        it in ``tokenizer.json``: Llama's begin with ``<s>``, GLM's with two marks, GPT-2's and
        Qwen's with nothing.
        """
        if self.end_id == self._ids.get(char.END):
            return [self.end_id]
        plain = self._backend.encode("a", add_special_tokens=False).ids
        whole = self._backend.encode("a", add_special_tokens=True).ids
        starts = (i for i in range(len(whole)) if whole[i : i + len(plain)] == plain)
        return whole[: next(starts, 0)]

    @property
    def marks(self) -> str:
        """Characters that stand beside texts and never in one: those around a heading."""
        return str(self._config.get(_MARKS, ""))

    # Text to ids

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``; no end token is added."""
        return self._backend.encode(char.without_surrogates(text), add_special_tokens=False).ids

    def encode_array(self, text: str) -> "np.ndarray":
        """The same ids as ``encode`` in an array of ``dtype``, by table where there is one."""
        return self.encode_many([text])[0]

    def encode_many(
        self, texts: Sequence[str], codes: "np.ndarray | None" = None
    ) -> tuple["np.ndarray", "np.ndarray"]:
        """The ids of all texts in one array after another, and how many each text has.

        Who has the code points of all texts together at hand may give them.
        """
        import numpy as np

        if self.kind == "char":
            codes = char.code_points("".join(texts)) if codes is None else codes
            ids = self._table.take(codes)
            return ids, np.fromiter(map(len, texts), np.int64, len(texts))
        texts = [char.without_surrogates(text) for text in texts]
        if self.kind == "byte":
            pieces = [text.encode("utf-8") for text in texts]
            ids = self._table[np.frombuffer(b"".join(pieces), np.uint8)]
            return ids, np.fromiter(map(len, pieces), np.int64, len(pieces))
        encoded = self._backend.encode_batch_fast(texts, add_special_tokens=False)
        lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
        ids = np.empty(int(lengths.sum()), self.dtype)
        start = 0
        for encoding, length in zip(encoded, lengths.tolist(), strict=True):
            ids[start : start + length] = encoding.ids
            start += length
        return ids, lengths

    @property
    def dtype(self) -> "np.dtype":
        """The smallest array type for ids: uint16 up to 65,536 tokens, else uint32."""
        import numpy as np

        return np.dtype("<u2" if self.vocab_size <= 65_536 else "<u4")

    @cached_property
    def _table(self) -> "np.ndarray":
        """Ids by code point (char) or by byte (byte)."""
        import numpy as np

        if self.kind == "char":
            plain = {t: i for t, i in self._ids.items() if i not in self._special}
            assert self.unk_id is not None, "WordLevel refuses unknown words without it"
            return char.table_of_ids(plain, self.unk_id, self.dtype)
        return np.array([self._ids[c] for c in byte.alphabet()], self.dtype)

    def unknown(self, text: str) -> list[str]:
        """The characters of ``text`` that the vocabulary cannot write, each once, in order."""
        distinct = dict.fromkeys(text)
        if self.kind == "char":
            return [c for c in distinct if self._ids.get(c, self.unk_id) == self.unk_id]
        halves = {c for c in distinct if "\ud800" <= c <= "\udfff"}
        if self.kind == "other" and self.unk_id is not None:
            return [c for c in distinct if c in halves or self.unk_id in self.encode(c)]
        return [c for c in distinct if c in halves]

    # Ids to text

    def knows(self, text: str) -> bool:
        """Whether the vocabulary has all of ``text``."""
        return not self.unknown(text)

    def decode(self, ids: Sequence[int]) -> str:
        """The text of ``ids``, special tokens left out; bytes that are no UTF-8 give U+FFFD."""
        if self._written is None:
            return self._backend.decode([int(i) for i in ids], skip_special_tokens=True)
        written = self._written
        return b"".join([written.get(int(i), b"") for i in ids]).decode("utf-8", "replace")

    def decode_stream(self, after: Sequence[int] = ()) -> StreamDecoder:
        """A decoder that takes ids one by one and gives text as soon as it is complete.

        ``after`` are the ids of the prompt, whose text it does not give.
        """
        return StreamDecoder(self.decode, self._written, after)

    def token_text(self, id: int) -> str:
        """How to show one token: its text; special tokens by name; torn characters as bytes."""
        if self._written is None or id in self._special:
            token = self._backend.id_to_token(id)
            return f"<{id}>" if token is None else token
        raw = self._written.get(id)
        if raw is None:
            return f"<{id}>"
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            return "".join(f"<0x{b:02X}>" for b in raw)

    @cached_property
    def _written(self) -> _BytesOf | None:
        """The bytes that each token writes; None where that depends on its neighbours."""
        if self.kind == "other":
            return None
        as_bytes = str.encode if self.kind == "char" else byte.as_bytes
        return {id: as_bytes(token) for token, id in self._ids.items() if id not in self._special}

    # Files

    def fingerprint(self) -> str:
        """A hash of all that decides how text and ids correspond."""
        roles = f"{self.end_id} {self.unk_id} {self.pad_id} "
        return hashlib.sha256((roles + self._backend.to_str()).encode()).hexdigest()

    def save(self, folder: str | Path, *, max_length: int | None = None) -> None:
        """Write ``tokenizer.json`` and ``tokenizer_config.json``, which AutoTokenizer opens.

        ``max_length`` is the longest text the model takes, in tokens (its block size).

        Raises:
            UserError: the folder cannot be written.
        """
        config = dict(self._config)
        config.setdefault("tokenizer_class", "PreTrainedTokenizerFast")
        config["clean_up_tokenization_spaces"] = False  # else " ." is decoded as "."
        end = self._backend.id_to_token(self.end_id)
        if self.bos_id == self.end_id:
            config.setdefault("bos_token", end)
        config["eos_token"] = end
        for role, id in (("unk_token", self.unk_id), ("pad_token", self.pad_id)):
            if id is not None:
                config[role] = self._backend.id_to_token(id)
        if max_length is not None:
            config["model_max_length"] = max_length
        folder = Path(folder)
        write_atomic(folder / "tokenizer.json", self._backend.to_str(pretty=True).encode())
        text = json.dumps(config, ensure_ascii=False, indent=2) + "\n"
        write_atomic(folder / "tokenizer_config.json", text.encode())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The tokenizer of a folder, ours or any other in the Hugging Face format.

        Raises:
            UserError: there is no ``tokenizer.json``, or it cannot be understood.
        """
        from tokenizers import Tokenizer as Backend

        path = Path(folder) / "tokenizer.json"
        if not path.is_file():
            raise UserError(tr("{path}: no such file, so there is no tokenizer", path=path))
        try:
            backend = Backend.from_str(path.read_text(encoding="utf-8"))
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # Exception, or a panic of the Rust library, which is none
            raise UserError(
                tr("{path}: not a tokenizer: {why}", path=path, why=_first_line(error))
            ) from error
        return cls(backend, _read_config(path.with_name("tokenizer_config.json")))

    # The three kinds

    @classmethod
    def characters(
        cls,
        counts: Mapping[str, int],
        *,
        min_count: int = 1,
        limit: int | None = None,
        marks: str = "",
    ) -> Self:
        """One token per character: see ``char.build``. ``marks`` are among the characters; they
        may stand in a prompt but are never generated."""
        config = {_MARKS: marks} if marks else None
        return cls(char.build(counts, min_count=min_count, limit=limit), config)

    @classmethod
    def train_bpe(cls, texts: Iterable[str], vocab_size: int) -> Self:
        """Frequent byte sequences: see ``bpe.train``."""
        return cls(bpe.train(texts, vocab_size))

    @classmethod
    def bytes(cls) -> Self:
        """One token per byte: see ``byte.build``."""
        return cls(byte.build())


def _kind_of(state: Mapping[str, Any]) -> Kind:
    # Added tokens that are not special are matched in the text before anything else is done.
    added = state.get("added_tokens") or ()
    undisturbed = all(token["special"] and len(token["content"]) > 1 for token in added)
    if undisturbed and char.is_char(state):
        return "char"
    if undisturbed and byte.is_byte(state):
        return "byte"
    return "bpe" if byte.is_byte_level(state) else "other"


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise UserError(
            tr("{path}: not valid JSON: {why}", path=path, why=_first_line(error))
        ) from error
    if not isinstance(config, dict):
        raise UserError(tr("{path}: a JSON object was expected", path=path))
    return config


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
