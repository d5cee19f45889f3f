"""Still figures: they open, are not blank, say what the exhibit says, and fail in one line."""

import builtins
import io
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from mingyue import language
from mingyue.errors import UserError
from mingyue.explain import figure
from mingyue.explain.figure import fonts
from mingyue.explain.figure.sheet import inches, wrap
from mingyue.explain.panels import Curves, Matrix, Panel, Scatter, Table
from tests.explain.galleries import NASTY, TOKENS, attention, gallery

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def any_font(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine of a test need not have a Chinese font; what is drawn is the same."""
    if fonts.installed([*fonts.SANS, *fonts.SERIF], look_again=True) is None:
        monkeypatch.setattr(figure, "find", lambda *_: ["DejaVu Sans"])


def picture(content: bytes) -> np.ndarray:
    from matplotlib.image import imread

    return imread(io.BytesIO(content), format="png")  # [height, width, 4]


@pytest.mark.parametrize("dark", [False, True])
def test_a_png_opens_and_has_ink_all_the_way_down(tmp_path: Path, dark: bool):
    figure.save(gallery(), tmp_path / "g.png", dark=dark)
    image = picture((tmp_path / "g.png").read_bytes())[..., :3]
    assert image.shape[1] == 9 * 160 and image.shape[0] > 2 * image.shape[1]
    paper = image[0, 0]
    assert (paper.mean() < 0.5) == dark
    inked = (np.abs(image - paper).max(-1) > 0.2).any(-1)  # of each row of dots
    strips = np.array_split(inked, 24)
    assert all(strip.any() for strip in strips[1:-1])
    margin = int(0.3 * 160)
    assert np.abs(image[:, -margin:] - paper).max() < 0.02  # nothing runs off the page


def test_the_cells_have_the_colours_of_their_numbers():
    """Two matrices that differ in one cell differ in the picture, and only near that cell."""
    one = np.zeros((4, 4))
    two = one.copy()
    two[1, 2] = 1.0
    names = list("abcd")
    images = [
        picture(
            figure.render(
                replace(
                    gallery(),
                    panels=[Matrix(title="m", values=v, rows=names, columns=names, scale="share")],
                ),
                "png",
            )
        )
        for v in (one, two)
    ]
    assert images[0].shape == images[1].shape
    changed = np.argwhere(np.abs(images[0] - images[1]).max(-1) > 0.01)
    height, width = changed.max(0) - changed.min(0) + 1
    assert 60 <= height <= 82 and 60 <= width <= 82  # a cell is half an inch: 80 dots


def test_an_svg_is_xml_whose_words_are_text(tmp_path: Path):
    figure.save(gallery(), tmp_path / "g.svg")
    tree = ElementTree.parse(tmp_path / "g.svg")
    said = [e.text or "" for e in tree.iter() if e.tag.endswith("}text")]
    expected = ["A gallery", "Look at it.", "rows sum to 1", "heads differ", "✗", "attention"]
    expected += ["layer 1", "head 2", "rope", "learned", "training length"]
    expected += ["nats", "月", "床", "[B, H, T, T] = [1, 4, 6, 6]", "q @ k", NASTY, "1.0e-6", "p3"]
    assert [words for words in expected if words not in said] == []
    with language.speaking("zh"):
        assert "头 2" in figure.render(gallery(), "svg").decode()


def test_the_same_exhibit_gives_the_same_bytes():
    assert figure.render(gallery(), "svg") == figure.render(gallery(), "svg")


def test_of_many_pages_the_one_to_begin_with_is_drawn_and_named():
    n = 6
    many = Matrix(
        title="m",
        values=attention(12, 12, n),
        rows=TOKENS[:n],
        columns=TOKENS[:n],
        pages={"layer": [str(i) for i in range(12)], "head": [str(i) for i in range(12)]},
        page=(3, 7),
    )
    text = figure.render(replace(gallery(), panels=[many]), "svg").decode()
    assert "m · layer 3 · head 7" in text and "layer 4" not in text
    value = attention(12, 12, n)[3, 7, 5, 0]
    assert f"{value:.2f}" in text


@pytest.mark.parametrize("sizes", [(64,), (1, 64), (4, 16), (2, 2, 3), (1, 1)])
def test_pages_of_any_number_of_dimensions_are_drawn(sizes: tuple[int, ...]):
    """Side by side where they fit, each named; else the first one."""
    pages = {f"d{i}": [f"{i}:{p}" for p in range(size)] for i, size in enumerate(sizes)}
    values = np.random.default_rng(0).random((*sizes, 3, 5))
    panel = Matrix(title="m", values=values, rows="abc", columns="abcde", pages=pages)
    text = figure.render(replace(gallery(), panels=[panel]), "svg").decode()
    alone = sizes in [(1, 64), (1, 1)]
    shown = [label for labels in pages.values() for label in labels if f"{label}<" in text]
    assert alone or len(shown) == sum(sizes)
    assert ("m · d0 0:0 · d1 1:0" in text) == alone


def test_rows_that_are_left_out_are_counted():
    long = Table(title="t", columns=["n"], rows=[[i] for i in range(1000, 1100)])
    text = figure.render(replace(gallery(), panels=[long]), "svg").decode()
    assert "and 60 more" in text and "1039" in text and "1040" not in text


def test_numbers_that_are_none_and_panels_without_contrast_are_drawn():
    for values in (np.full((3, 3), np.nan), np.full((3, 3), 2.0), np.full((3, 3), -np.inf)):
        for scale in ("share", "signed", "size"):
            panel = Matrix(title="m", values=values, rows="abc", columns="abc", scale=scale)
            assert figure.render(replace(gallery(), panels=[panel]), "png")


def test_another_suffix_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match=r"g\.pdf: a still figure is \.svg or \.png"):
        figure.save(gallery(), tmp_path / "g.pdf")
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_one_line_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    really = builtins.__import__

    def without(name: str, *rest: object, **more: object):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return really(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(UserError, match=r"mingyue\[plots\]"):
        figure.save(gallery(), tmp_path / "g.png")


def test_without_a_chinese_font_chinese_is_refused_and_english_drawn(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setattr(figure, "find", fonts.find)
    monkeypatch.setattr(fonts, "installed", lambda *_, **__: None)
    with pytest.raises(UserError, match="apt install fonts-noto-cjk"):
        figure.render(gallery(), "png")
    english = replace(gallery(), panels=[Table(title="t", columns=["n"], rows=[[1]])])
    assert figure.render(english, "png")


def test_lines_break_between_words_and_anywhere_in_chinese_but_before_a_mark():
    english = "every row sums to one and the future is exactly zero " * 3
    lines = wrap(english, 10, 2.0)
    assert " ".join(lines).split() == english.split()
    assert all(inches(line, 10) <= 2.0 for line in lines)
    chinese = "床前明月光，疑是地上霜。" * 4
    lines = wrap(chinese, 10, 1.0)
    assert "".join(lines) == chinese and len(lines) > 5
    assert not any(line[0] in "，。" for line in lines)


def words_of(panel: Panel) -> list[str]:
    """All that is written in a figure of one panel."""
    svg = figure.render(replace(gallery(), panels=[panel], notes=[]), "svg")
    texts = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    return ["".join(text.itertext()) for text in texts]


def test_there_is_no_layer_and_a_half():
    line = {"x": np.arange(3.0), "lines": {"loss": np.array([3.0, 2.0, 1.0])}}
    panel = Curves(title="t", x_label="layer", y_label="nats", **line)
    ticks = [word for word in words_of(panel) if word.replace(".", "").isdigit()]
    assert ticks[:3] == ["0", "1", "2"]
    short = replace(panel, x=np.array([16.0, 32, 64]), log_x=True)
    assert {"16", "32", "64"} <= {*words_of(short)}
    large = replace(panel, lines={"speed": np.array([1e4, 2e4, 3e4])})
    assert "20,000" in words_of(large)


def test_numbers_of_a_column_have_as_many_decimals():
    rows = [[0.5, 238.25, 12288.0, 0.0], [0.13, 34.0, 7.0, 0.25], [1e-6, np.nan, 3.0, 0.001]]
    said = words_of(Table(title="t", columns=["a", "b", "c", "d"], rows=rows))
    assert {"0.5000", "0.1300", "1.0e-6", "238.2", "34.0", "12,288", "7", "0"} <= {*said}
    assert "0.0000" not in said


def test_names_of_points_do_not_cover_each_other():
    """24 points in a heap, as the figure places their names; the same without care is worse."""
    points = np.random.default_rng(5).normal(size=(24, 2)) * [1, 0.3]
    names = [f"行{i}" for i in range(24)]
    panel = Scatter(title="t", points=points, names=names, groups=["a"] * 24)
    svg = ElementTree.fromstring(figure.render(replace(gallery(), panels=[panel], notes=[]), "svg"))
    placed = []
    for text in svg.iter("{http://www.w3.org/2000/svg}text"):
        if (text.text or "") in names:
            style = text.attrib
            found = [float(n) for n in re.findall(r"-?[\d.]+", style["transform"])]
            x, y = found[-2:]
            placed.append((x, y, 72 * inches(text.text or "", 9)))
    assert len(placed) == 24
    pairs = [(a, b) for i, a in enumerate(placed) for b in placed[:i]]
    covering = [
        (a, b)
        for a, b in pairs
        if a[0] < b[0] + b[2] and b[0] < a[0] + a[2] and abs(a[1] - b[1]) < 8
    ]
    assert len(covering) <= 1


def test_an_svg_names_fonts_of_other_machines():
    svg = figure.render(gallery(), "svg").decode()
    families = {*re.findall(r"font-family: ([^;]*);", svg)}
    assert families
    for family in families:
        assert "PingFang SC" in family or "Songti SC" in family
        assert family.endswith(("sans-serif", "serif"))


@pytest.mark.parametrize(("n", "named"), [(4, True), (25, True), (120, False)])
def test_maps_side_by_side_say_what_their_rows_and_columns_are(n: int, named: bool):
    """By name at the left ones and below the lowest, if there is room; in words in any case."""
    labels = [chr(0x4E00 + i) for i in range(n)]
    panel = Matrix(
        title="m",
        values=np.random.default_rng(0).random((2, 3, n, n)),
        rows=labels,
        columns=labels,
        row_label="from here",
        column_label="to there",
        pages={"layer": ["0", "1"], "head": ["0", "1", "2"]},
    )
    words = words_of(panel)
    assert {"rows: from here · columns: to there", "layer 1", "head 2"} <= {*words}
    drawn = [words.count(label) for label in labels]
    assert drawn == [2 + 3 if named else 0] * n  # beside two lines of maps, below three columns


def test_a_table_too_wide_is_broken_and_stays_on_the_page():
    rows = [[i, "床前明月光" * 12, "words and more words " * 9] for i in range(3)]
    panel = Table(title="t", columns=["n", "a", "b"], rows=rows)
    words = words_of(panel)
    assert all(inches(word, 9.5) <= 4 for word in words)
    whole = "".join(words).replace(" ", "")
    assert whole.count("床") == 36 and whole.count("more") == 27
    picture_of = figure.render(replace(gallery(), panels=[panel], notes=[]), "png")
    image = picture(picture_of)[..., :3]
    assert np.abs(image[:, -int(0.3 * 160) :] - image[0, 0]).max() < 0.02
