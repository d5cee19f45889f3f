"""The choice of device and precision, and the compiler that may be missing."""

import pytest
import torch

from mingyue.errors import UserError
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT
from mingyue.training import precision
from mingyue.training.compiling import compiled
from mingyue.training.interrupt import Interruption
from mingyue.training.precision import choose_device, choose_precision, should_compile

from .conftest import Notes

CPU = torch.device("cpu")


def test_a_device_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto") == CPU
    with pytest.raises(UserError, match="cpu"):
        choose_device("cuda")


def test_fp16_is_for_cuda_only():
    with pytest.raises(UserError):
        choose_precision("fp16", CPU, 256)
    assert choose_precision("bf16", CPU, 32) == "bf16"


@pytest.mark.parametrize(
    ("knows", "speedup", "d_model", "choice"),
    [
        (True, 4.0, 256, "bf16"),
        (True, 1.1, 256, "fp32"),
        (True, 4.0, 32, "fp32"),
        (False, 4.0, 256, "fp32"),
    ],
)
def test_on_a_cpu_bf16_must_be_known_and_clearly_faster(
    monkeypatch, knows, speedup, d_model, choice
):
    monkeypatch.setattr(precision, "_cpu_knows_bf16", lambda: knows)
    monkeypatch.setattr(precision, "_bf16_speedup", lambda: speedup)
    assert choose_precision("auto", CPU, d_model) == choice


def test_compile_is_off_on_a_cpu_unless_asked():
    assert not should_compile("auto", CPU, 600)
    assert should_compile(True, CPU, None)
    assert should_compile("auto", torch.device("cuda"), 5)
    assert not should_compile("auto", torch.device("cuda"), 0.5)


def test_a_compiler_that_fails_is_named_once_and_done_without(monkeypatch):
    def broken(function):
        def call(*args):
            raise RuntimeError("no C++ compiler\nlong story")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    model = GPT(ModelConfig(vocab_size=7, block_size=4, n_layer=1, n_head=1, d_model=8))
    x = torch.zeros(2, 4, dtype=torch.long)
    notes = Notes()
    forward, worked = compiled(model, x, x, "fp32", notes)
    assert not worked
    assert len(notes.messages) == 1 and "no C++ compiler" in notes.messages[0]
    assert "\n" not in notes.messages[0]
    assert forward(x, x).isfinite()


def test_handlers_are_put_back():
    import signal

    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGTERM)
        assert interruption.asked
        assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


@pytest.fixture
def ctrl_c():
    """Sets what Ctrl-C does; tests started in the background begin with it ignored."""
    import signal

    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_a_second_ctrl_c_ends_at_once(ctrl_c):
    import signal

    ctrl_c(signal.default_int_handler)
    with pytest.raises(KeyboardInterrupt), Interruption():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)


def test_where_ctrl_c_was_ignored_the_first_asks_and_the_second_is_ignored(ctrl_c):
    import signal

    ctrl_c(signal.SIG_IGN)
    with Interruption() as interruption:
        signal.raise_signal(signal.SIGINT)
        assert interruption.asked
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN


def test_in_another_thread_nothing_is_installed():
    import threading

    seen: list[bool] = []

    def work():
        with Interruption() as interruption:
            seen.append(interruption.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [False]
