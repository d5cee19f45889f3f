"""Which step writes: it follows from what was asked for, and numba is never needed unasked."""

import subprocess
import sys
from typing import Any
from unittest.mock import patch

import pytest

from mingyue.errors import UserError
from mingyue.generation.form import FEW, LONG, Form
from mingyue.generation.writer import Writer
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.model.step import Step
from mingyue.text.tokenizer import Tokenizer
from tests.model.configs import lively

BYTES = Tokenizer.bytes()
SIZES = {"vocab_size": BYTES.vocab_size, "n_layer": 2, "n_head": 2, "d_model": 32}
MODEL = lively(ModelConfig.checked(**SIZES, block_size=16))
WITHOUT = patch.dict(sys.modules, {"numba": None, "mingyue.model.native_step": None})


def name(form: Form, n: int, length: int) -> str:
    kind = form.step(MODEL, n, length)
    return kind.__name__ if kind else ""


def test_when_it_is_compiled() -> None:
    pytest.importorskip("numba")
    assert name(Form(), 1, LONG) == "NativeStep"
    assert name(Form(), 1, LONG - 1) == name(Form(), 2, LONG) == "Step"
    assert name(Form(compile=False), 1, LONG) == "Step"
    assert name(Form(compile=True), FEW, 1) == "NativeStep"
    assert name(Form(compile=True), FEW + 1, LONG) == "Step"
    assert name(Form(precision="int8"), 1, LONG) == "Step"
    assert name(Form(precision="int8", compile=True), 64, 1) == "NativeStep"
    assert name(Form(precision="fp16"), 1, LONG) == "Step"


def test_refusals() -> None:
    with pytest.raises(UserError, match="bf16"):
        Form(precision="bf16", compile=True).step(MODEL, 1, 1)
    other = GPT(MODEL.config).bfloat16()
    with pytest.raises(UserError, match="compiling"):
        Form(compile=True).step(other, 1, 1)
    assert Form().step(other, 1, LONG) is None
    with WITHOUT, pytest.raises(UserError, match=r"mingyue\[native\]"):
        Form(compile=True).step(MODEL, 1, 1)


def test_without_numba_long_texts_are_written_too() -> None:
    with WITHOUT:
        assert Form().step(MODEL, 1, LONG) is Step


def test_compiled_or_not_the_same_text() -> None:
    pytest.importorskip("numba")
    plain, compiled = (Writer(MODEL, BYTES, compile=which) for which in (False, True))
    for n in (1, 3):
        asked: dict[str, Any] = {"n": n, "seed": 5, "max_tokens": 60}
        assert plain.generate("ab", **asked) == compiled.generate("ab", **asked)


def test_a_sample_in_int8_does_not_depend_on_how_many_there_are() -> None:
    pytest.importorskip("numba")
    writer = Writer(MODEL, BYTES, precision="int8", compile=True)
    many = writer.generate("ab", n=20, seed=5, max_tokens=40)
    for one in (many[0], many[17]):
        assert writer.generate("ab", seed=one.seed, max_tokens=40)[0].text == one.text


def test_numba_is_not_loaded_unasked() -> None:
    program = (
        "import sys, mingyue.cli.main, mingyue.generation.writer as w, mingyue.evaluation.loss;"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "False"
