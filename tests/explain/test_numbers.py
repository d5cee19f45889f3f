"""Numbers as words: one way everywhere, and none that says something else than the number does."""

import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mingyue.explain
from mingyue.explain.numbers import column, deviation, number, percent, with_error

FOLDER = Path(mingyue.explain.__file__).parent
SOME = [0, 1, 12, 0.12345, 1024.0000001, 9999.99, 123456.7, 3122048, -54410, 1e-6, -0.00031, 4.1e9]


def test_numbers_in_few_signs() -> None:
    shown = [number(v) for v in SOME]
    assert shown[:6] == ["0", "1", "12", "0.1235", "1024", "10,000"]
    assert shown[6:] == ["123,457", "3,122,048", "-54,410", "1.0e-6", "-3.1e-4", "4.1e9"]
    assert [number(v) for v in (math.nan, math.inf, -math.inf)] == ["–", "∞", "-∞"]


@given(st.floats(-1e300, 1e300))
def test_a_number_in_words_is_that_number(value: float) -> None:
    said = number(value)
    assert len(said) <= 12
    assert float(said.replace(",", "")) == pytest.approx(value, rel=0.06)
    assert re.fullmatch(r"-?\d[\d,]*(\.\d+)?(e-?[1-9]\d*)?", said)


@given(st.floats(0, 1e6))
def test_only_nothing_is_exactly_nothing(value: float) -> None:
    said = deviation(value)
    assert (said == "exactly 0") == (value == 0)
    if value:
        assert float(said.replace(",", "")) == pytest.approx(value, rel=0.06)


@given(st.floats(0, 1))
def test_only_none_and_all_look_like_it(share: float) -> None:
    said = percent(share)
    assert (said == "0%") == (share == 0) and (said == "100%") == (share == 1)
    if said[0] in "<>":
        return
    assert float(said.rstrip("%")) / 100 == pytest.approx(share, rel=0.55)


@given(st.floats(-100, 100), st.floats(1e-6, 10))
def test_an_error_has_a_digit_and_the_mean_as_many_decimals(mean: float, error: float) -> None:
    a, b = with_error(mean, error).split(" ± ")
    assert len(a.partition(".")[2]) == len(b.partition(".")[2]) and float(b) > 0
    assert float(a) == pytest.approx(mean, abs=error)


@given(st.lists(st.floats(-1e300, 1e300) | st.just(math.nan), max_size=6))
def test_numbers_of_a_column_have_as_many_decimals(values: list[float]) -> None:
    said = column(values)
    assert len(said) == len(values)
    for value, word in zip(values, said, strict=True):
        if math.isnan(value):
            assert word == "–"
        else:
            assert float(word.replace(",", "")) == pytest.approx(value, rel=0.06)


def test_no_other_way_of_writing_small_numbers() -> None:
    """``f"{gap:.1e}"`` says 1.9e-05, and 0.0e+00 of what may be anything or nothing."""
    for file in FOLDER.rglob("*.py"):
        if file.name not in {"numbers.py", "terminal_cells.py"}:
            assert not re.search(r":\+?\.\de\}", file.read_text(encoding="utf-8")), file


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_page_writes_them_alike() -> None:
    script = (FOLDER / "assets/page/elements.js").read_text(encoding="utf-8")
    words = script[script.index("function short") : script.index("const withUnit")]
    run = f"{words}; console.log(JSON.stringify({json.dumps(SOME)}.map(short)))"
    done = subprocess.run(
        ["node", "-e", run], capture_output=True, text=True, timeout=60, check=True
    )
    assert [said.replace("−", "-") for said in json.loads(done.stdout)] == [number(v) for v in SOME]
