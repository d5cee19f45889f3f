"""Token ids on disk, far more of them than memory holds.

A corpus becomes one long sequence of ids, document after document, each closed by its end
token. It is stored as raw little-endian numbers in files of bounded size (shards) and mapped
into memory, so that reading a slice touches only the pages it lies on. Beside the shards one
small array says where each document begins, counted in tokens, characters and UTF-8 bytes; the
latter two make losses comparable between tokenizers (bits per character, bits per byte).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Self

import numpy as np

SHARD_TOKENS = 32 * 1024 * 1024
"""Tokens in a full shard: 64 MiB of uint16."""


class Tokens:
    """Documents as token ids; each ends with its end token."""

    def __init__(
        self,
        shards: Sequence[np.ndarray],
        documents: np.ndarray,
        brackets: tuple[int, int] | None = None,
    ) -> None:
        """``shards``: the ids, cut into arrays of equal length (the last may be shorter).
        ``documents``: int64 [3, n_documents + 1], where each document begins and, in the last
        column, where all ends: in tokens, in characters, in bytes. ``brackets``: the two ids
        that a heading stands between, where documents have headings.
        """
        self.brackets = brackets
        self._shards = list(shards)
        self._shard_tokens = len(shards[0]) if shards else 1
        self._documents = documents
        self.n_documents = documents.shape[1] - 1
        self.n_tokens, self.n_characters, self.n_bytes = (int(n) for n in documents[:, -1])
        if sum(map(len, shards)) != self.n_tokens:
            raise ValueError("the shards do not hold as many tokens as the documents have")

    @classmethod
    def from_documents(
        cls, documents: Iterable[Sequence[int]], brackets: tuple[int, int] | None = None
    ) -> Self:
        """In memory, from ids that include the end tokens; each other id counts as a character
        and a byte. For tests and small experiments."""
        arrays = [np.asarray(ids, dtype="<u4") for ids in documents]
        tokens = np.cumsum([0, *map(len, arrays)], dtype=np.int64)
        characters = tokens - np.arange(len(tokens))
        whole = [np.concatenate(arrays)] if arrays else []
        return cls(whole, np.stack([tokens, characters, characters]), brackets)

    @classmethod
    def open(
        cls,
        folder: Path,
        name: str,
        dtype: np.dtype,
        brackets: tuple[int, int] | None = None,
    ) -> Self:
        """Map what ``TokensWriter`` wrote under ``name`` in ``folder``."""
        documents = np.load(folder / f"{name}.documents.npy", mmap_mode="r", allow_pickle=False)
        paths = sorted(folder.glob(f"{name}-*.bin"))
        shards = [np.memmap(path, dtype, mode="r") for path in paths]
        return cls(shards, np.asarray(documents), brackets)

    @property
    def offsets(self) -> np.ndarray:
        """Where each document begins, and where the last one ends; int64 [n_documents + 1]."""
        return self._documents[0]

    def document(self, i: int) -> np.ndarray:
        """The ids of document ``i``, its end token included.

        Raises:
            IndexError: there is no such document.
        """
        if not 0 <= i < self.n_documents:
            raise IndexError(f"document {i} of {self.n_documents}")
        return self.slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def slice(self, start: int, stop: int) -> np.ndarray:
        """The ids from ``start`` to ``stop``, across documents and shards."""
        start, stop = max(start, 0), min(stop, self.n_tokens)
        if start >= stop:
            return np.empty(0, self._shards[0].dtype if self._shards else np.uint16)
        size = self._shard_tokens
        first, last = start // size, (stop - 1) // size
        parts = [
            self._shards[k][max(start - k * size, 0) : stop - k * size]
            for k in range(first, last + 1)
        ]
        return np.asarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)

    def take(self, positions: np.ndarray) -> np.ndarray:
        """The ids at ``positions`` (int64 [n]) as int64 [n]."""
        if len(self._shards) == 1:
            return np.asarray(self._shards[0])[positions].astype(np.int64)
        ids = np.empty(len(positions), np.int64)
        shard_of = positions // self._shard_tokens
        for k in np.unique(shard_of):
            here = shard_of == k
            ids[here] = np.asarray(self._shards[k])[positions[here] - k * self._shard_tokens]
        return ids

    def sizes(self, first: int, last: int) -> tuple[int, int, int]:
        """Tokens (with end tokens), characters and bytes of documents ``first`` to ``last - 1``."""
        tokens, characters, size = (self._documents[:, last] - self._documents[:, first]).tolist()
        return tokens, characters, size


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces of documents as ids: what goes into a ``TokensWriter``.

    ``ids`` has the pieces one after another, end tokens included. The other arrays have one
    entry per piece: how many tokens, characters and bytes it has, and whether its document ends
    with it.
    """

    ids: np.ndarray
    tokens: np.ndarray
    characters: np.ndarray
    bytes: np.ndarray
    ends: np.ndarray

    def where(self, chosen: np.ndarray) -> "Pieces":
        """Only the pieces for which ``chosen`` (bool [n_pieces]) is true."""
        if chosen.all():
            return self
        ids = self.ids.compress(np.repeat(chosen, self.tokens))
        rest = {f.name: getattr(self, f.name)[chosen] for f in fields(self) if f.name != "ids"}
        return Pieces(ids, **rest)


class TokensWriter:
    """Writes shards, one after another, and last the array of documents."""

    def __init__(
        self, folder: Path, name: str, dtype: np.dtype, shard_tokens: int = SHARD_TOKENS
    ) -> None:
        self._folder, self._name, self._dtype = folder, name, dtype
        self._shard_tokens = shard_tokens
        self._totals = np.zeros(3, np.int64)
        self._begins = [np.zeros((3, 1), np.int64)]

    def add(self, pieces: Pieces) -> None:
        """Append pieces; those of one document must come in order, with nothing between."""
        sizes = np.stack([pieces.tokens, pieces.characters, pieces.bytes])
        until = self._totals[:, None] + np.cumsum(sizes, axis=1)
        self._write(pieces.ids)
        self._begins.append(until[:, pieces.ends])
        self._totals = self._totals + sizes.sum(axis=1)

    def _write(self, ids: np.ndarray) -> None:
        ids = np.ascontiguousarray(ids, self._dtype)
        written = int(self._totals[0])
        while len(ids):
            shard, filled = divmod(written, self._shard_tokens)
            part = ids[: self._shard_tokens - filled]
            with (self._folder / f"{self._name}-{shard:05d}.bin").open("ab") as file:
                file.write(part.data)
            written += len(part)
            ids = ids[len(part) :]

    def close(self) -> None:
        """Write where the documents begin."""
        np.save(self._folder / f"{self._name}.documents.npy", np.concatenate(self._begins, axis=1))
