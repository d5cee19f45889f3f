"""Start from given character vectors (article: 词嵌入; SPEC A1).

An embedding table usually starts at random and is trained end to end. But vectors learned
elsewhere, by Word2Vec or by another run, know already which characters are alike. They may come

- as ``.npy``, [V, C] in the order of our token ids;
- in the text format of word2vec and GloVe: a line per character, the character and its C
  numbers, with or without the first line that says how many;
- as ``.safetensors`` with a two-dimensional tensor, and its characters as a JSON list under
  ``vocabulary`` in the metadata; or the weights of a Mingyue or transformers run, whose
  ``tokenizer.json`` lies beside them.
"""

import json
from pathlib import Path

import numpy as np
import torch

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel
from mingyue.text.tokenizer import Tokenizer

_TABLES = ("embedding.weight", "model.embed_tokens.weight", "transformer.wte.weight", "wte.weight")


@torch.no_grad()
def start_from(
    model: LanguageModel, tokenizer: Tokenizer, path: Path, *, freeze: bool = False
) -> int:
    """Put the vectors of ``path`` into ``model``'s embedding table; how many rows were found.

    Rows of characters that the file lacks stay random, but get the size of those given.
    ``freeze`` takes the table (all of it) out of training.

    Raises:
        UserError: the file cannot be read, its vectors are not d_model wide, or none of its
            characters is in the vocabulary.
    """
    rows, vectors = read_vectors(path, tokenizer)  # [n] token ids, [n, C]
    table = model.embedding.weight  # [V, C]
    if vectors.shape[1] != table.shape[1]:
        raise UserError(
            tr(
                "{path}: vectors of {width} numbers do not fit d_model {d_model}; "
                "set d_model to {width} or give other vectors",
                path=path,
                width=vectors.shape[1],
                d_model=table.shape[1],
            )
        )
    if len(rows) == 0:
        raise UserError(tr("{path}: none of its characters is in the vocabulary", path=path))
    if not np.isfinite(vectors).all():
        raise UserError(tr("{path}: some numbers are not finite", path=path))
    given = torch.from_numpy(vectors).to(table)
    size = given.square().mean().sqrt()
    if size > 0:
        table.mul_(size / table.square().mean().sqrt())
    table[torch.from_numpy(rows).to(table.device)] = given
    if freeze:
        table.requires_grad_(False)
    return len(rows)


def read_vectors(path: Path, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Token ids [n] and their vectors [n, C] in fp32, for the characters the vocabulary has.

    Raises:
        UserError: no such file, or not of the format its ending says.
    """
    if not path.is_file():
        raise UserError(tr("{path}: no such file", path=path))
    try:
        if path.suffix == ".npy":
            return _from_npy(path, tokenizer)
        if path.suffix == ".safetensors":
            return _from_safetensors(path, tokenizer)
        return _from_text(path, tokenizer)
    except (ValueError, OSError, KeyError, UnicodeDecodeError) as error:
        raise UserError(
            tr("{path}: not a file of vectors: {why}", path=path, why=str(error) or repr(error))
        ) from None


def _from_npy(path: Path, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    vectors = np.load(path, allow_pickle=False)
    if vectors.ndim != 2 or len(vectors) != tokenizer.vocab_size:
        raise UserError(
            tr(
                "{path}: shape {shape}, but one row for each of the {vocab} tokens is needed",
                path=path,
                shape=list(vectors.shape),
                vocab=tokenizer.vocab_size,
            )
        )
    return np.arange(len(vectors)), vectors.astype(np.float32)


def _from_text(path: Path, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    words: list[str] = []
    vectors: list[np.ndarray] = []
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\n").rstrip(" ").split(" ")
            if number == 1 and len(fields) == 2 and all(f.isdigit() for f in fields):
                continue  # how many, and how wide
            if len(fields) < 2:
                continue
            # The word is what is left: it may itself hold or be a space.
            width = len(vectors[0]) if vectors else len(fields) - 1
            vector = np.array(fields[-width:], dtype=np.float32)
            if len(vector) != width:
                raise ValueError(tr("line {number} is cut short", number=number))
            words.append(" ".join(fields[:-width]))
            vectors.append(vector)
    if not vectors:
        raise ValueError(tr("no vectors in it"))
    return _known(words, np.stack(vectors), tokenizer)


def _from_safetensors(path: Path, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="pt") as file:
            names = list(file.keys())
            name = next((n for n in _TABLES if n in names), names[0] if len(names) == 1 else None)
            if name is None:
                raise ValueError(tr("which of its tensors is the table?"))
            vectors = file.get_tensor(name).float().numpy()
            vocabulary = (file.metadata() or {}).get("vocabulary")
    except SafetensorError as error:
        raise ValueError(str(error)) from None
    if vocabulary is not None:
        words = [str(word) for word in json.loads(vocabulary)]
    elif (path.parent / "tokenizer.json").exists():
        other = Tokenizer.load(path.parent)
        words = [other.decode([id]) for id in range(other.vocab_size)]
    else:
        raise ValueError(tr("it does not say which row is which character"))
    if vectors.ndim != 2 or len(words) != len(vectors):
        raise ValueError(tr("its table and its vocabulary differ in length"))
    return _known(words, vectors, tokenizer)


def _known(
    words: list[str], vectors: np.ndarray, tokenizer: Tokenizer
) -> tuple[np.ndarray, np.ndarray]:
    """Only the rows whose word is a token of ours; the first, if one comes twice."""
    row_of: dict[str, int] = {}
    for row, word in enumerate(words):
        row_of.setdefault(word, row)
    pairs = [
        (id, row_of[text])
        for id in range(tokenizer.vocab_size)
        if (text := tokenizer.decode([id])) and text in row_of  # special tokens decode to nothing
    ]
    ids = np.array([id for id, _ in pairs], dtype=np.int64)
    return ids, vectors[[row for _, row in pairs]].astype(np.float32)
