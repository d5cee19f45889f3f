"""Shards on disk are one sequence."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.data.tokens import Pieces, Tokens, TokensWriter

documents_of_ids = st.lists(st.lists(st.integers(0, 60_000), min_size=1, max_size=9), max_size=9)


def pieces_of(lists: list[list[int]], ends: list[bool]) -> Pieces:
    tokens = np.array([len(ids) for ids in lists], np.int64)
    ids = np.array([id for ids in lists for id in ids], np.int64)
    return Pieces(ids, tokens, tokens - ends, 3 * tokens, np.array(ends, bool))


@given(documents_of_ids, st.integers(1, 12))
def test_what_is_written_is_read(
    tmp_path_factory: pytest.TempPathFactory, documents: list[list[int]], shard: int
) -> None:
    folder = tmp_path_factory.mktemp("tokens")
    writer = TokensWriter(folder, "x", np.dtype("<u2"), shard_tokens=shard)
    for ids in documents:  # each in two pieces, the first perhaps empty
        half = len(ids) // 2
        writer.add(pieces_of([ids[:half], ids[half:]], [False, True]))
    writer.close()
    tokens = Tokens.open(folder, "x", np.dtype("<u2"))

    stream = [id for ids in documents for id in ids]
    assert tokens.n_documents == len(documents)
    assert tokens.n_tokens == len(stream)
    assert tokens.n_characters == len(stream) - len(documents)
    assert tokens.n_bytes == 3 * len(stream)
    assert [tokens.document(i).tolist() for i in range(len(documents))] == documents
    for start in range(len(stream) + 1):
        for stop in range(start, len(stream) + 2):
            assert tokens.slice(start, stop).tolist() == stream[start:stop]
    places = np.arange(len(stream))[::-1].copy()
    assert tokens.take(places).tolist() == stream[::-1]
    assert all(path.stat().st_size <= 2 * shard for path in folder.glob("*.bin"))
    assert tokens.sizes(0, len(documents)) == (
        tokens.n_tokens,
        tokens.n_characters,
        tokens.n_bytes,
    )
    same = Tokens.from_documents(documents)
    assert same.slice(0, 99).tolist() == stream
    assert same.offsets.tolist() == tokens.offsets.tolist()


def test_files_are_little_endian(tmp_path: Path) -> None:
    writer = TokensWriter(tmp_path, "x", np.dtype("<u4"))
    writer.add(pieces_of([[1, 70_000]], [True]))
    writer.close()
    assert (tmp_path / "x-00000.bin").read_bytes() == b"\1\0\0\0\x70\x11\1\0"


def test_no_such_document() -> None:
    tokens = Tokens.from_documents([[1, 0]])
    for i in (-1, 1):
        with pytest.raises(IndexError):
            tokens.document(i)
    assert Tokens.from_documents([]).n_tokens == 0
    assert len(Tokens.from_documents([]).slice(0, 5)) == 0


def test_pieces_are_chosen() -> None:
    pieces = pieces_of([[1, 2], [3], [4, 5, 6]], [False, True, True])
    chosen = pieces.where(np.array([True, False, True]))
    assert chosen.ids.tolist() == [1, 2, 4, 5, 6]
    assert chosen.tokens.tolist() == [2, 3]
    assert chosen.ends.tolist() == [False, True]
