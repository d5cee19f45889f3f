"""What can be shown: seven kinds of panel, each pure data that says what its numbers are.

A panel may have *pages*: one matrix for each head of each layer, say. Then its numbers have as
many leading dimensions as there are pages' names, in the same order; a renderer shows one page,
lets the reader turn them, or puts all side by side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from mingyue.language import translated

Pages = Mapping[str, Sequence[str]]
"""Names of the leading dimensions and of each page in them: {"layer": ["0", "1"], …}.

The names are English words, since they are options too (``--layer 1``); they are translated where
they are shown.
"""

Scale = Literal["share", "signed", "size"]
"""How numbers become colours: shares from 0 to 1; both signs around 0; from least to most."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """Numbers in rows and columns, as colours; -inf and nan are drawn as empty."""

    title: str
    values: np.ndarray  # [*pages, rows, columns]
    rows: Sequence[str]
    columns: Sequence[str]
    row_label: str = ""
    column_label: str = ""
    scale: Scale = "size"
    unit: str = ""
    pages: Pages = field(default_factory=dict)
    page: Sequence[int] = ()  # the one to begin with; the first unless said


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Lines over a common x; nan where a line has no point."""

    title: str
    x: np.ndarray  # [n]
    lines: Mapping[str, np.ndarray]  # [n] each
    x_label: str
    y_label: str
    log_x: bool = False
    log_y: bool = False
    marks: Mapping[str, float] = field(default_factory=dict)  # upright lines at an x, with a name


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A number for each name, longest or first on top as the order says."""

    title: str
    names: Sequence[str]
    values: np.ndarray  # [*pages, n]
    unit: str = ""
    pages: Pages = field(default_factory=dict)
    page: Sequence[int] = ()
    beside: Mapping[str, np.ndarray] = field(default_factory=dict)  # further bars, same names


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """Points in a plane, each with a name; groups are told apart by colour."""

    title: str
    points: np.ndarray  # [n, 2]
    names: Sequence[str]
    groups: Sequence[str]  # of each point; all equal: one colour
    x_label: str = ""
    y_label: str = ""


@dataclass(frozen=True, kw_only=True)
class Strip:
    """A text, token by token, coloured by a number, with words below each token."""

    title: str
    tokens: Sequence[str]
    values: np.ndarray  # [*pages, n]
    below: Sequence[str] = ()  # one for each token, or none at all
    scale: Scale = "size"
    unit: str = ""
    pages: Pages = field(default_factory=dict)
    page: Sequence[int] = ()


@dataclass(frozen=True, kw_only=True)
class Table:
    """Words and numbers in rows under headings."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | int]]


@dataclass(frozen=True)
class Step:
    """One step of a computation: what it is, its shape, the line of code that made it."""

    name: str
    shape: Sequence[int]
    letters: str  # of the shape, as "[B, T, C]"
    code: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Steps:
    """A walk through a computation."""

    title: str
    steps: Sequence[Step]


Panel = Matrix | Curves | Bars | Scatter | Strip | Table | Steps
Paged = Matrix | Bars | Strip


def page_of(panel: Paged, wanted: Sequence[int] | None = None) -> tuple[np.ndarray, list[str]]:
    """The numbers of one page, and its name in words; ``wanted`` None: the one to begin with."""
    numbers = list(panel.page if wanted is None else wanted)
    numbers += [0] * (len(panel.pages) - len(numbers))
    names = [
        f"{translated(name)} {labels[i]}"
        for i, (name, labels) in zip(numbers, panel.pages.items(), strict=True)
    ]
    return panel.values[tuple(numbers)], names
