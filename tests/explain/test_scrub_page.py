"""A page with a slider through training: one exhibit, many steps, scales that stay."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mingyue import language
from mingyue.explain import page
from mingyue.explain.colours import ramp
from mingyue.explain.exhibit import Exhibit, Verdict
from mingyue.explain.panels import Bars, Curves, Matrix, Strip
from tests.explain.test_page import browser, shown

__all__ = ["browser"]  # a fixture

STEPS, LABELS = [0, 40, 3000], list("甲乙丙丁")


def values(step: int) -> np.ndarray:
    """[2 layers, 4, 4], ten times as large at each step."""
    return np.arange(32, dtype=np.float32).reshape(2, 4, 4) * 10 ** STEPS.index(step)


def exhibit(step: int, chinese: bool) -> Exhibit:
    size = 10 ** STEPS.index(step)
    return Exhibit(
        name="probe",
        title="试" if chinese else "Probe",
        see=f"at step {step}",
        verdicts=[Verdict("grown", str(step), step > 0)],
        panels=[
            Matrix(
                title="sizes",
                values=values(step),
                rows=LABELS,
                columns=LABELS,
                pages={"layer": ["0", "1"]},
            ),
            Bars(title="long", names=["a", "b"], values=np.array([1.0, 2.0]) * size),
            Curves(
                title="up",
                x=np.arange(3.0),
                lines={"y": np.arange(3.0) * size},
                x_label="x",
                y_label="y",
            ),
            Strip(title="text", tokens=LABELS, values=np.arange(4.0) * size),
        ],
    )


def both() -> dict[Any, list[Exhibit]]:
    return {"en": [exhibit(s, False) for s in STEPS], "zh": [exhibit(s, True) for s in STEPS]}


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Any]:
    language.use("en")
    page.save(both(), tmp_path / "page.html", steps=STEPS)
    context = browser.new_context(locale="en-US", color_scheme="light", reduced_motion="reduce")
    tab, complaints = context.new_page(), []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.goto((tmp_path / "page.html").as_uri())
    yield tab
    assert complaints == []
    context.close()


def test_the_page_holds_every_step_and_its_own_title():
    text = page.render(both(), STEPS)
    found = re.search(r'id="data">(.*?)</script>', text, re.S)
    assert found and "<title>Probe</title>" in text
    data = json.loads(found[1])
    assert data["steps"] == STEPS
    assert [e["see"] for e in data["languages"]["zh"]["exhibits"]] == [
        f"at step {step}" for step in STEPS
    ]
    assert '"steps":[]' in page.render({"en": [exhibit(0, False)]})


def number(tab: Any) -> float:
    """What the first cell of the second row says."""
    tab.locator("[data-kind=matrix] .main canvas").focus()
    tab.keyboard.press("Escape")
    for key in ("ArrowDown", "ArrowDown"):
        tab.keyboard.press(key)
    return float(shown(tab))


@pytest.mark.slow
def test_slider_buttons_and_keys_change_the_whole_exhibit(opened: Any):
    slider, see = opened.get_by_role("slider", name="step of training"), opened.locator(".see")
    assert see.inner_text() == "at step 3000"  # begins at the end
    assert opened.locator("article").count() == 1 and number(opened) == 400
    slider.focus()
    opened.keyboard.press("ArrowLeft")
    assert see.inner_text() == "at step 40" and number(opened) == 40
    assert slider.get_attribute("aria-valuetext") == "40"
    slider.focus()
    opened.keyboard.press("Home")
    assert see.inner_text() == "at step 0" and number(opened) == 4
    assert opened.locator(".verdicts .mark").inner_text() == "✗"
    assert opened.locator(".kept button").all_inner_texts() == ["0\n✗", "40\n✓", "3000\n✓"]
    opened.locator(".kept button").nth(2).click()
    assert see.inner_text() == "at step 3000"
    opened.evaluate("() => document.activeElement.blur()")
    opened.keyboard.press("ArrowLeft")  # without anything in focus
    assert see.inner_text() == "at step 40" and slider.input_value() == "1"
    for _ in range(3):
        opened.keyboard.press("ArrowLeft")
    assert see.inner_text() == "at step 0"


@pytest.mark.slow
def test_what_was_chosen_stays_when_the_step_changes(opened: Any):
    opened.get_by_role("radio", name="layer 1").check(force=True)
    assert number(opened) == 2000
    opened.locator(".kept button").nth(1).click()
    assert opened.get_by_role("radio", name="layer 1").is_checked() and number(opened) == 200
    opened.locator("#language").click()
    assert opened.locator("h1").inner_text() == "试"
    assert opened.locator(".see").inner_text() == "at step 40" and number(opened) == 200
    opened.locator("#theme").click()
    assert number(opened) == 200


@pytest.mark.slow
def test_colours_and_axes_are_those_of_all_steps(opened: Any):
    """A number has the same colour, and a length the same place, at each step."""
    opened.locator(".kept button").nth(1).click()
    scale = opened.evaluate("() => data.languages.en.exhibits.map((e) => e.panels[0].limits)")
    assert scale == [[0, 3100]] * 3
    cell = opened.locator(".strip b").nth(3).get_attribute("style")
    wanted = ramp("size", False)[round(255 * 30 / 300)] * 255
    got = [int(n) for n in re.findall(r"background: rgb\((\d+) (\d+) (\d+)\)", cell)[0]]
    assert np.abs(np.array(got) - wanted).max() <= 4
    width = opened.locator(".bars .one i").nth(1).get_attribute("style")
    assert "width: 10%" in width  # 20 of 200
    points = opened.locator("[data-kind=curves] circle")
    heights = [float(points.nth(n).get_attribute("cy")) for n in range(3)]
    opened.locator(".kept button").nth(2).click()
    top, bottom = (float(points.nth(n).get_attribute("cy")) for n in (2, 0))
    assert heights[0] == pytest.approx(bottom)
    assert (heights[0] - heights[2]) * 10 == pytest.approx(bottom - top, rel=1e-3)


@pytest.mark.slow
def test_steps_left_leave_nothing_behind(opened: Any):
    """Each step drawn adds listeners of its own; those of the step before must go."""
    counts = []
    for n in (0, 1, 2, 0, 1, 2):
        opened.locator(".kept button").nth(n).click()
        counts.append(opened.evaluate("() => redraws.length"))
    assert len(set(counts)) == 1


def test_a_page_of_other_panels_at_a_step_is_drawn_too():
    """Where an exhibit draws other panels at some step, scales are shared by those alike."""
    exhibits = [exhibit(0, False), replace(exhibit(40, False), panels=[])]
    assert "at step 40" in page.render({"en": exhibits}, [0, 40])
