"""Drawings in a terminal: they fit it, columns stand under each other, and nothing is hidden in
colours alone."""

import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from mingyue import language
from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit, Verdict
from mingyue.explain.pages import dimensions, turned
from mingyue.explain.panels import (
    Bars,
    Curves,
    Matrix,
    Panel,
    Scatter,
    Step,
    Steps,
    Strip,
    Table,
)
from mingyue.explain.terminal import lines, render
from mingyue.explain.terminal_cells import Ink, Paper, compact, fit, visible, wrap

POEM = list("▷床前明月光，疑是地上霜。")
ENGLISH = ["▷", "The", " animal", " didn", "'t", " cross", " the", " street", "."]
NUMBERS = np.random.default_rng(0)


def exhibit(*panels: Panel, **said: object) -> Exhibit:
    words: dict[str, object] = {
        "name": "demo",
        "title": "题",
        "see": "Look at 这里。",
        "verdicts": [],
        "panels": panels,
    }
    return Exhibit(**(words | said))  # type: ignore[arg-type]


def drawn(panel: Panel, width: int = 80, coloured: bool = False, **said: object) -> list[str]:
    """The lines of a panel below its title."""
    whole = [line.plain for line in lines(exhibit(panel, **said), Paper(width, coloured))]
    return whole[whole.index(panel.title) + 1 :]


def pattern(n: int, *pages: int) -> np.ndarray:
    values = np.tril(NUMBERS.random((*pages, n, n)))
    return values / values.sum(axis=-1, keepdims=True)


def panels(labels: list[str]) -> list[Panel]:
    n = len(labels)
    return [
        Matrix(title="m", values=pattern(n, 2, 3), rows=labels, columns=labels, scale="share",
               pages={"layer": list("01"), "head": list("012")}, page=(1, 2)),
        Matrix(title="s", values=np.full((n, 2), np.nan), rows=labels, columns=["a", "月"]),
        Strip(title="t", tokens=labels, values=NUMBERS.random(n), below=["7.5%"] * n),
        Strip(title="t2", tokens=labels, values=NUMBERS.random(n)),
        Bars(title="b", names=labels, values=NUMBERS.normal(size=n), unit="nats",
             beside={"other": NUMBERS.random(n)}),
        Curves(title="c", x=np.arange(n), lines={"a": NUMBERS.random(n), "乙": np.zeros(n)},
               x_label="x", y_label="y", marks={"here": 0.0}),
        Scatter(title="p", points=NUMBERS.normal(size=(n, 2)), names=labels,
                groups=[str(i % 2) for i in range(n)], x_label="x", y_label="y"),
        Table(title="tb", columns=["字", "p"], rows=[[label, 0.5] for label in labels]),
        Steps(title="st", steps=[Step("ids", [1, n], "[B, T]", "ids = 1", "注" * 60)]),
    ]  # fmt: skip


@pytest.mark.parametrize("labels", [POEM, POEM * 6, ENGLISH, ENGLISH * 4, ["▷"]])
@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("coloured", [True, False])
def test_everything_fits_the_terminal(labels: list[str], width: int, coloured: bool):
    free = {"c", "st"}  # legends and code keep their words
    for panel in panels(labels):
        for line in drawn(panel, width, coloured):
            if panel.title not in free:
                assert cell_len(line) <= width, (panel.title, line)


def test_columns_of_a_matrix_stand_under_their_labels():
    values = np.eye(5)
    for labels in (list("床前明月光"), list("abcde")):
        panel = Matrix(title="m", values=np.tile(values, (1, 4)), rows=labels,
                       columns=labels * 4, scale="share")  # fmt: skip
        head, *rows = drawn(panel)
        for i, row in enumerate(rows[:5]):
            place = cell_len(row[: row.index("██")])
            before = head[: head.index(labels[i])]
            assert cell_len(before) == place


def test_numbers_in_the_cells_of_a_small_matrix_if_there_is_room():
    values = pattern(6)
    panel = Matrix(title="m", values=values, rows=POEM[:6], columns=POEM[:6], scale="share")
    rows = drawn(panel)[1:7]
    for i, row in enumerate(rows):
        found = [float(word) for word in re.findall(r"\d(?:\.\d\d)?", row)]
        np.testing.assert_allclose(found, values[i], atol=0.005)
    narrow = drawn(panel, width=24)[1:7]
    assert not any(re.search(r"\d", row) for row in narrow)
    long = Matrix(title="m", values=pattern(13), rows=POEM, columns=POEM, scale="share")
    assert not re.search(r"\d", "".join(drawn(long, 200)[1:14]))


def test_empty_cells_are_not_drawn_as_numbers():
    values = np.where(np.tri(3) > 0, 1.0, -np.inf)
    panel = Matrix(title="m", values=values, rows=list("abc"), columns=list("abc"))
    rows = drawn(panel)[1:4]
    assert [row.count("·") for row in rows] == [2, 1, 0]


def test_what_is_left_out_is_said():
    labels = POEM * 6
    square = Matrix(title="m", values=pattern(len(labels)), rows=labels, columns=labels)
    last = "".join(drawn(square, 60)[-2:]).partition("shown")[2]
    shown, all_rows, columns, all_columns = map(int, re.findall(r"\d+", last))
    assert (all_rows, all_columns) == (len(labels),) * 2 and shown == columns == (60 - 2 - 3) // 2
    assert "shown" not in "".join(drawn(square, 300)[:-1])
    bars = Bars(title="b", names=labels, values=NUMBERS.random(len(labels)))
    assert f"40 of {len(labels)}" in drawn(bars)[-1]
    strip = Strip(title="s", tokens=labels * 5, values=NUMBERS.random(len(labels) * 5))
    assert f"256 of {len(labels) * 5}" in drawn(strip)[-1]
    table = Table(title="t", columns=["a"], rows=[[label] for label in labels])
    assert f"64 of {len(labels)}" in drawn(table)[-1]


def test_the_page_is_named_with_how_to_turn_it():
    panel = panels(POEM[:4])[0]
    assert "layer 1 · head 2" in drawn(panel)[0]
    with language.speaking("zh"):
        assert "层 1 · 头 2" in drawn(panel)[0] and "--layer" in drawn(panel)[0]
    assert "--layer 0, 1 --head 0 … 2" in drawn(panel)[0]
    other = turned(exhibit(panel), {"layer": "0", "head": "1"}).panels[0]
    assert "layer 0 · head 1" in drawn(other)[0]
    wanted = panel.values[0, 1]  # type: ignore[union-attr]
    for i, row in enumerate(drawn(other)[2:6]):
        found = [float(word) for word in re.findall(r"\d(?:\.\d\d)?", row)]
        np.testing.assert_allclose(found, wanted[i], atol=0.005)
    with pytest.raises(UserError, match=r"--layer: there is no 9 here; there are 0, 1"):
        turned(exhibit(panel), {"layer": "9"})


def test_pages_have_names_of_any_kind():
    panel = Bars(title="b", names=["a"], values=np.ones((2, 1)), pages={"Kind of 头": ["x", "y z"]})
    assert dimensions(exhibit(panel)) == {"kind_of_头": ["x", "y z"]}
    assert turned(exhibit(panel), {"kind_of_头": "y z"}).panels[0].page == [1]  # type: ignore[union-attr]


@pytest.mark.parametrize("scale", ["share", "signed", "size"])
def test_shades_rise_with_the_numbers(scale: str):
    ink = Ink.of(np.linspace(-1, 1, 9), scale, False)  # type: ignore[arg-type]
    shades = [" ░▒▓█".index(ink.shade(v)) for v in np.linspace(0, 1, 9)]
    assert shades == sorted(shades) and shades[-1] == 4
    both = [ink.cell(v, 2).plain for v in (-1.0, 1.0)]
    assert both[0] != both[1]


def test_without_colour_nothing_is_coloured(monkeypatch: pytest.MonkeyPatch):
    everything = exhibit(*panels(POEM), verdicts=[Verdict("c", "1", True)], notes=["n"])
    outputs = {}
    for no_color in (False, True):
        monkeypatch.setenv("NO_COLOR", "1" if no_color else "")
        out = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor",
                      width=80, markup=False)  # fmt: skip
        render(everything, out)
        outputs[no_color] = out.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[" in outputs[False] and "48;2;" in outputs[False]
    assert not re.search(r"\x1b\[[\d;]*[34]8;", outputs[True])
    assert "█" in outputs[True] and "▒" in outputs[True]
    piped = Console(file=io.StringIO(), width=80, markup=False)
    render(everything, piped)
    assert "\x1b" not in piped.file.getvalue()  # type: ignore[attr-defined]


def test_verdicts_show_what_was_measured():
    verdicts = [
        Verdict("it holds", "1.2e-7", True),
        Verdict("it does not", "0.9", False),
        Verdict("unclear", "one token", None),
    ]
    whole = [line.plain for line in lines(exhibit(verdicts=verdicts), Paper(80, False))]
    for line in ("✓ it holds — 1.2e-7", "✗ it does not — 0.9", "? unclear — one token"):
        assert line in whole


def test_curves_are_where_their_numbers_are():
    x = np.arange(50.0)
    rising = Curves(title="c", x=x, lines={"l": x}, x_label="x", y_label="y")
    rows = [row.partition("┤")[2] or row.partition("│")[2] for row in drawn(rising)[1:13]]
    first = [len(row) - len(row.lstrip()) for row in rows]
    assert first == sorted(first, reverse=True) and first[-1] == 0 and len(rows[0]) > 60
    both = Curves(title="c", x=x, lines={"up": x, "down": -x}, x_label="x", y_label="y")
    whole = "\n".join(drawn(both))
    assert "* up" in whole and "o down" in whole and whole.count("*") > 20
    gap = Curves(title="c", x=x, lines={"l": np.where(abs(x - 25) < 10, np.nan, x)},
                 x_label="x", y_label="y")  # fmt: skip
    middle = [row.partition("┤")[2] or row.partition("│")[2] for row in drawn(gap)[5:9]]
    assert not "".join(middle).strip()


def test_curves_over_logarithms_and_over_nothing():
    x = np.logspace(0, 3, 20)
    straight = Curves(title="c", x=x, lines={"l": x**2}, x_label="n", y_label="v", log_x=True,
                      log_y=True)  # fmt: skip
    whole = "\n".join(drawn(straight))
    assert "n, logarithmic" in whole and "1000" in whole and "1,000,000" in whole
    for empty in (np.array([]), np.full(3, np.nan)):
        panel = Curves(title="c", x=empty, lines={"l": empty}, x_label="x", y_label="y")
        assert "no finite number" in drawn(panel)[0]


def test_every_point_is_named_or_counted():
    names = [chr(ord("一") + i) for i in range(60)]
    points = NUMBERS.normal(size=(60, 2)) * 0.01
    points[0] = 9
    panel = Scatter(title="p", points=points, names=names, groups=["g"] * 60)
    whole = drawn(panel, 60)
    named = sum(name in "".join(whole) for name in names)
    hidden = int(re.findall(r"names: (\d+)", whole[-1])[0])
    assert named + hidden == 60 and 0 < hidden < 60
    assert names[0] in whole[1]  # the one far away lies in the upper right corner


def test_groups_are_told_apart_without_colour():
    panel = Scatter(title="p", points=np.eye(2), names=["月", "月"], groups=["moon", "month"])
    whole = "\n".join(drawn(panel))
    assert "月₁" in whole and "月₂" in whole and "₁ moon ₂ month" in whole
    assert "₁" not in "\n".join(drawn(panel, coloured=True))


def test_bars_are_as_long_as_their_numbers():
    panel = Bars(title="b", names=["a", "乙"], values=np.array([1.0, 0.5]))
    long, short = (line.count("█") for line in drawn(panel))
    assert long == 48 and short == 24
    signed = Bars(title="b", names=["a", "b"], values=np.array([-1.0, 1.0]))
    left, right = (line.split("│") for line in drawn(signed))
    assert "█" in left[0] and "█" not in left[1] and "█" in right[1] and "█" not in right[0]


@given(st.text(max_size=60), st.integers(2, 30))
def test_fit_is_exact(text: str, width: int):
    for align in ("left", "right", "center"):
        assert cell_len(fit(text, width, align)) == width


@given(st.text(alphabet="ab 月明，。\n…x", max_size=80), st.integers(4, 30))
@settings(max_examples=200)
def test_wrapping_loses_nothing_and_keeps_to_the_width(text: str, width: int):
    broken = wrap(text, width)
    assert all(cell_len(line) <= width and line == line.strip() for line in broken)
    seen = visible(text).replace(" ", "")
    assert "".join(broken).replace(" ", "") == seen


@given(st.text())
def test_nothing_a_terminal_would_obey_is_printed(text: str):
    assert all(c.isprintable() for c in visible(text))


def test_numbers_of_a_matrix_have_as_many_decimals():
    assert compact(np.array([[0.5, -np.inf, 0.0]]), "share") == [["0.50", "", "0"]]
    assert compact(np.array([[12.5, -3.25]]), "signed") == [["+12.5", "-3.2"]]
    assert compact(np.array([[1234.0, 7.0]]), "size") == [["1234", "7"]]
