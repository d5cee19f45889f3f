"""Showing text that nobody vouches for, numbers that people read, verse that comes in pieces."""

import io
import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mingyue.cli.load import Load
from mingyue.cli.screen import duration, short, visible
from mingyue.cli.tally import tally
from mingyue.cli.written import laid_out
from mingyue.text.document import Document
from mingyue.text.verse import lay_out


@given(st.text())
def test_visible_text_has_nothing_a_terminal_would_obey(text: str):
    shown = visible(text)
    assert len(shown) == len(text)
    assert not any((ord(c) < 32 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in shown)
    assert not set(shown) & set("\u202a\u202e\u2066\u2069")
    assert visible(shown) == shown
    assert [a for a, b in zip(text, shown, strict=True) if a.isalnum() and a != b] == []


@given(st.text(alphabet="山水。！；」 \n\r，a"), st.integers(0, 2**32))
def test_verse_laid_out_piece_by_piece_is_verse_laid_out(text: str, seed: int):
    draw = random.Random(seed)
    cuts = sorted(draw.sample(range(len(text) + 1), min(len(text), draw.randrange(12))))
    ends = [*cuts, len(text)]
    pieces = [text[a:b] for a, b in zip([0, *cuts], ends, strict=True)]
    assert "".join(laid_out(iter(pieces))) == lay_out(text)


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "0:00"), (59.6, "1:00"), (245, "4:05"), (3845, "1:04:05"), (-1, "0:00")],
)
def test_durations(seconds: float, said: str):
    assert duration(seconds) == said


@pytest.mark.parametrize(
    ("value", "said"), [(0, "0"), (999, "999"), (12_345, "12.3 k"), (4.123e9, "4.12 G")]
)
def test_large_numbers(value: float, said: str):
    assert short(value) == said


def test_load_is_a_share():
    load = Load()
    assert load.shown() == ""
    load._before = (load._before[0] - 10, load._before[1] - 5 * load.cores)
    assert "50%" in load.shown() or "51%" in load.shown()


@pytest.mark.parametrize("scale", [1, 1000])
def test_the_parameters_stand_in_columns_on_a_narrow_terminal(scale: int):
    from rich.console import Console

    from mingyue.cli.info import part_rows
    from mingyue.cli.screen import pairs

    rows = part_rows({"embedding": 7 * scale, "attention": 123_456 * scale, "feedforward": scale})
    out = Console(file=io.StringIO(), width=40, force_terminal=True, color_system=None)
    out.print(pairs(rows, "Parameters"))
    lines = out.file.getvalue().splitlines()[1:]  # type: ignore[attr-defined]
    assert len(lines) == len(rows) == 4
    ends = [re.search(r"[\d,]+", line).end() for line in lines]  # type: ignore[union-attr]
    assert len(set(ends)) == 1


class _Corpus(list):
    """As much of a corpus as counting needs."""


@given(
    st.lists(st.lists(st.text(alphabet="天地\n", min_size=1), min_size=1, max_size=3), min_size=1),
    st.integers(0, 5),
)
def test_counting_a_corpus(documents: list[list[str]], wanted: int):
    pieces = [
        Document(piece, ends=i == len(parts) - 1)
        for parts in documents
        for i, piece in enumerate(parts)
    ]
    counted = tally(_Corpus(pieces), wanted)  # type: ignore[arg-type]
    wholes = ["".join(parts) for parts in documents]
    lengths = sorted(map(len, wholes))
    assert counted.shortest == lengths[0] and counted.longest == lengths[-1]
    assert counted.median == lengths[(len(lengths) - 1) // 2]
    assert counted.different == len(set("".join(wholes)))
    assert len(counted.samples) == min(wanted, len(wholes))
    assert all(sample.text in wholes for sample in counted.samples)
