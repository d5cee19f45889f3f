"""The HTML page: self-contained, its numbers exact, and in a browser it shows what it was given."""

import base64
import json
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pytest

from mingyue import language
from mingyue.explain import page
from mingyue.explain.colours import limits, ramp
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.panels import Bars, Curves, Matrix, Scatter, Strip
from tests.explain.galleries import NASTY, TOKENS, attention, gallery


def both() -> dict[Any, list[Exhibit]]:
    return {"en": [gallery()], "zh": [gallery(chinese=True)]}


def data_of(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found
    return json.loads(found.group(1))


def unpacked(data: dict[str, Any], place: dict[str, int]) -> np.ndarray:
    array = data["arrays"][place["array"]]
    raw = np.frombuffer(base64.b64decode(array["bytes"]), dtype=array["kind"])
    return raw.reshape(array["shape"])


def test_nothing_is_asked_of_the_network():
    text = page.render(both())
    assert not re.search(r"https?://|//cdn|@import|url\(|<link(?! rel=.icon. href=.data:,)", text)
    assert "src=" not in text


@pytest.mark.parametrize("of", ["en", "zh"])
def test_the_json_gives_back_every_number_and_word(of: str):
    data = data_of(page.render(both()))
    (packed,), (exhibit,) = data["languages"][of]["exhibits"], both()[of]
    assert packed["title"] == exhibit.title and packed["notes"] == [NASTY]
    assert [verdict["holds"] for verdict in packed["verdicts"]] == [True, False, None]
    for panel, plain in zip(exhibit.panels, packed["panels"], strict=True):
        assert plain["title"] == panel.title and plain["kind"] == type(panel).__name__.lower()
        if isinstance(panel, Matrix | Strip | Bars):
            np.testing.assert_array_equal(unpacked(data, plain["values"]), panel.values)
            assert plain["pages"] == panel.pages
        if isinstance(panel, Matrix | Strip):
            assert tuple(plain["limits"]) == limits(panel.values, panel.scale)
        if isinstance(panel, Curves):
            np.testing.assert_array_equal(unpacked(data, plain["lines"]["learned"])[2], np.nan)
        if isinstance(panel, Scatter):
            np.testing.assert_array_equal(unpacked(data, plain["points"]), panel.points)


def test_numbers_of_both_languages_are_stored_once():
    data = data_of(page.render(both()))
    alone = data_of(page.render({"en": [gallery()]}))
    assert data["arrays"] == alone["arrays"]
    assert list(alone["languages"]) == ["en"]


def test_the_page_speaks_each_language_and_leaves_ours_as_it_was():
    language.use("zh")
    text = page.render(both())
    assert '<html lang="zh-Hans">' in text and "<title>陈列室</title>" in text
    assert language.current() == "zh"
    words = {of: each["words"] for of, each in data_of(text)["languages"].items()}
    assert words["en"]["contents"] == "Contents" and words["zh"]["contents"] == "目录"
    assert words["en"].keys() == words["zh"].keys()
    assert '<html lang="en">' in page.render({"en": [gallery()]})


@pytest.mark.parametrize("scale", ["share", "size", "signed"])
@pytest.mark.parametrize("dark", [False, True])
def test_equal_steps_on_a_ramp_look_alike(scale: Any, dark: bool):
    """Lightness goes one way (both ways from zero where there are signs), by even steps."""
    colours = ramp(scale, dark, 65)
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    lightness = np.cbrt(linear @ [0.2126, 0.7152, 0.0722])
    halves = [lightness] if scale != "signed" else [lightness[32::-1], lightness[32:]]
    for half in halves:
        steps = np.diff(half) * (1 if dark else -1)
        assert (steps > 0).all() and steps.max() < 3.5 * steps.min()


# --- in a browser ---


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = which("chromium") or which("chromium-browser") or which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with playwright.sync_playwright() as running:
        launched = running.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The page in a window, in English and light; complaints and requests must be none."""
    language.use("en")
    page.save(both(), tmp_path / "page.html")
    context = browser.new_context(
        locale="en-US",
        color_scheme="light",
        reduced_motion="reduce",  # else the page may still be scrolling under the pointer
        viewport={"width": 1100, "height": 900},
    )
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    url = (tmp_path / "page.html").as_uri()
    tab.on("request", lambda r: None if r.url in (url, "data:,") else complaints.append(r.url))
    tab.goto(url)
    yield tab
    assert complaints == []
    context.close()


def shown(tab: Any) -> str:
    return tab.locator("#tip.shown b").inner_text().replace("−", "-")


@pytest.mark.slow
def test_pointing_at_a_cell_shows_its_number_and_turning_the_page_changes_it(opened: Any):
    panel, values, n = opened.locator("[data-kind=matrix]").first, attention(), len(TOKENS)
    canvas = panel.locator(".main canvas")

    def number_at(row: int, column: int) -> float:
        canvas.focus()
        opened.keyboard.press("Escape")
        for key in ["ArrowDown"] * (row + 1) + ["ArrowRight"] * column:
            opened.keyboard.press(key)  # the first only enters the matrix
        assert f"asks {TOKENS[row]}" in opened.locator("#tip").inner_text()
        assert f"is looked at {TOKENS[column]}" in opened.locator("#tip").inner_text()
        return float(shown(opened))

    places = [(0, 0), (3, 1), (n - 1, n - 1), (2, 5)]
    assert np.array([number_at(*p) for p in places], np.float32).tolist() == [
        values[1, 2][p] for p in places
    ]
    panel.get_by_role("radio", name="layer 0").check(force=True)
    panel.get_by_role("radio", name="head 1").check(force=True)
    assert np.float32(number_at(3, 1)) == values[0, 1, 3, 1]
    stamps = panel.locator(".overview canvas")
    box = stamps.bounding_box()
    stamps.click(position={"x": box["width"] - 20, "y": box["height"] - 20})  # the last page
    assert np.float32(number_at(3, 1)) == values[1, 2, 3, 1]
    assert panel.get_by_role("radio", name="layer 1").is_checked()


@pytest.mark.slow
def test_the_mouse_finds_the_same_cells(opened: Any):
    panel, values = opened.locator("[data-kind=matrix]").first, attention()[1, 2]
    canvas = panel.locator(".main canvas")
    canvas.scroll_into_view_if_needed()
    grid = opened.evaluate(
        "() => { const p = data.languages.en.exhibits[0].panels[0];"
        " const main = document.querySelector('.main');"
        " return layout(p, [p.rows.length, p.columns.length], main.clientWidth - 6); }"
    )
    box = canvas.bounding_box()
    for row, column in [(4, 2), (6, 0), (1, 1)]:
        x = box["x"] + grid["left"] + (column + 0.5) * grid["wide"]
        y = box["y"] + grid["top"] + (row + 0.5) * grid["tall"]
        opened.mouse.move(x, y)
        assert np.float32(float(shown(opened))) == values[row, column]
    opened.mouse.move(box["x"] + 2, box["y"] + 2)
    assert opened.locator("#tip.shown").count() == 0


@pytest.mark.slow
def test_a_cell_has_the_colour_of_its_number(opened: Any):
    """Read back from the canvas, in both themes."""
    values = attention()[1, 2]
    for dark in (False, True):
        if dark:
            opened.locator("#theme").click()
        got = opened.evaluate(
            "() => { const p = data.languages.en.exhibits[0].panels[0];"
            " const main = document.querySelector('.main'), c = main.querySelector('canvas');"
            " const g = layout(p, [p.rows.length, p.columns.length], main.clientWidth - 6);"
            " const copy = new OffscreenCanvas(c.width, c.height)"
            "   .getContext('2d', { willReadFrequently: true });"
            " copy.drawImage(c, 0, 0);"
            " return p.rows.map((_, i) => [...copy.getImageData("
            "   g.left + 4, g.top + (i + 0.5) * g.tall - 15, 1, 1).data].slice(0, 3)); }"
        )
        wanted = ramp("share", dark)[np.rint(values[:, 0] * 255).astype(int)] * 255
        assert np.abs(np.array(got) - wanted).max() <= 4


@pytest.mark.slow
def test_a_plot_is_drawn_once_and_again_for_another_width(opened: Any):
    """A plot replaced behind the reader's back would lose the keyboard and the point shown."""
    opened.evaluate(
        "() => { build(); window.times = 0;"
        " const plot = document.querySelector('[data-kind=curves] .main');"
        " new MutationObserver(() => times++).observe(plot, { childList: true }); }"
    )
    frames = "() => new Promise((done) => { let n = 10;"
    frames += " (function next() { n-- ? requestAnimationFrame(next) : done(times); })(); })"
    assert opened.evaluate(frames) == 1
    opened.set_viewport_size({"width": 700, "height": 900})
    opened.wait_for_function("times > 1")
    assert opened.evaluate(frames) == 2


@pytest.mark.slow
def test_curves_bars_points_and_tokens_say_their_numbers(opened: Any):
    curves = opened.locator("[data-kind=curves] svg")
    curves.focus()
    opened.keyboard.press("ArrowRight")
    opened.keyboard.press("ArrowRight")
    assert shown(opened) == "position 10"
    assert "rope 2" in opened.locator("#tip").inner_text()
    assert "learned 2.5" in opened.locator("#tip").inner_text()
    opened.locator("[data-kind=scatter] svg").focus()
    opened.keyboard.press("ArrowRight")
    assert shown(opened) == "月" and "y 1" in opened.locator("#tip").inner_text()
    opened.locator("[data-kind=strip] .strip > span").nth(3).hover()
    assert float(shown(opened)) == 0.5
    bars = opened.locator("[data-kind=bars] em").all_inner_texts()
    assert bars == ["0.25", "0.5", "−0.125", "0"]
    assert opened.locator("[data-kind=table] td").all_inner_texts()[3] == "1.0e−6"
    assert NASTY in opened.locator("[data-kind=steps]").inner_text()


@pytest.mark.slow
def test_the_language_and_the_theme_change_and_the_page_turned_stays(opened: Any):
    opened.get_by_role("radio", name="head 0").check(force=True)
    opened.locator("#language").click()
    assert opened.locator("html").get_attribute("lang") == "zh-Hans"
    assert opened.locator("h1").inner_text() == "陈列室" and opened.title() == "陈列室"
    assert opened.get_by_role("radio", name="头 0").is_checked()
    before = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    opened.locator("#theme").click()
    assert opened.evaluate("getComputedStyle(document.body).backgroundColor") != before


@pytest.mark.slow
def test_counts_are_said_in_full_and_names_cut_to_their_room(opened: Any):
    said = opened.evaluate("[12288, 3122048, -54410, 1024, 0.12345678, 1e20].map(short)")
    assert said == ["12,288", "3,122,048", "−54,410", "1024", "0.1235", "1.0e20"]
    for name, room in (("attention in each head", 60), ("春眠不觉晓", 40), ("月", 3)):
        shorter, width = opened.evaluate(
            "([name, room]) => { const pen = new OffscreenCanvas(9, 9).getContext('2d');"
            " pen.font = '13px ' + css('sans'); const said = cut(pen, name, room);"
            " return [said, pen.measureText(said).width]; }",
            [name, room],
        )
        assert width <= room or len(name) == 1
        assert shorter == name if len(name) == 1 else name.startswith(shorter.removesuffix("…"))
        assert shorter.endswith("…") == (len(name) > 1)
    whole = "() => cut(new OffscreenCanvas(9, 9).getContext('2d'), '床前', 500)"
    assert opened.evaluate(whole) == "床前"


@pytest.mark.slow
def test_a_narrow_window_needs_no_sideways_scrolling(opened: Any):
    opened.set_viewport_size({"width": 400, "height": 800})
    opened.wait_for_timeout(100)
    assert opened.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.slow
@pytest.mark.parametrize("high", [1.0, 1e-7, 35_000.0, 3_000_000.0])
def test_words_and_numbers_at_a_plot_do_not_lie_on_each_other(opened: Any, high: float):
    boxes = opened.evaluate(
        "(high) => { const [x, y] = axesOf(320, 220, [0, 500], false, [high / 9, high], false);"
        " const words = {x_label: 'tokens', y_label: 'share of probability that changes hands'};"
        " const svg = plot(320, 220, x, y, words); document.body.append(svg);"
        " return [...svg.querySelectorAll('text')].map((t) => { const b = t.getBBox();"
        " return [b.x, b.y, b.x + b.width, b.y + b.height]; }); }",
        high,
    )
    assert len(boxes) > 6
    for left, top, right, bottom in boxes:
        assert left >= 0 and top >= 0 and right <= 320 and bottom <= 220
    for (a, b, c, d), (e, f, g, h) in combinations(boxes, 2):
        assert c <= e or g <= a or d <= f or h <= b
