"""Where and with how many bits to calculate.

Weights, gradients and optimizer state are always fp32. *Precision* is the format in which the
large matrix products run (mixed precision, Micikevicius et al. 2017; torch calls it autocast):

- ``fp32`` everywhere and always;
- ``bf16`` has the range of fp32 and 8 bits of precision: safe, and fast where the hardware
  multiplies it (NVIDIA since 2020; CPUs with AMX or AVX-512 BF16);
- ``fp16`` has 11 bits but a small range, so the loss is scaled up before the way back and the
  gradients down after it. Only for older NVIDIA cards.

On a CPU ``auto`` asks the hardware first and then the clock: an fp32 and a bf16 product of fixed
size race for a moment, and bf16 must win clearly. The result of a race is a fact about
the machine, but still a measurement; so the run records the choice and keeps it on resume.
"""

import math
import os
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import torch
from torch import nn

from mingyue.errors import UserError
from mingyue.language import tr

Precision = Literal["fp32", "bf16", "fp16"]

CLEARLY_FASTER = 1.3
"""How much faster bf16 must be in the race; casts and everything outside products cost time too."""
SMALL_MODEL = 128
"""Below this ``d_model`` the casts cost more than the products save."""


def choose_device(wanted: str = "auto") -> torch.device:
    """The device asked for, or the fastest kind there is: CUDA, then Apple's MPS, then CPU.

    Raises:
        UserError: when the one asked for is not there.
    """
    there = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        wanted = next(name for name, is_there in there.items() if is_there)
    if not there.get(wanted, False):
        raise UserError(
            tr(
                "device {wanted} is not available here; there is {known}",
                wanted=wanted,
                known=", ".join(name for name, is_there in there.items() if is_there),
            )
        )
    return torch.device(wanted)


def choose_precision(wanted: str, device: torch.device, d_model: int) -> Precision:
    """The precision asked for, or what pays on this device for a model of this width.

    Raises:
        UserError: when fp16 is asked for anywhere but on CUDA.
    """
    if wanted == "fp16" and device.type != "cuda":
        raise UserError(tr("precision fp16 needs a CUDA device; use bf16 or fp32 here"))
    if wanted != "auto":
        return wanted  # type: ignore[return-value]
    if device.type == "cuda":
        return "bf16" if torch.cuda.get_device_capability(device) >= (8, 0) else "fp16"
    if device.type == "cpu" and d_model >= SMALL_MODEL and _cpu_knows_bf16():
        return "bf16" if _bf16_speedup() >= CLEARLY_FASTER else "fp32"
    return "fp32"


def precisions(wanted: str, device: torch.device) -> list[Precision]:
    """The one asked for, or those between which a clock must decide.

    Raises:
        UserError: when fp16 is asked for anywhere but on CUDA.
    """
    if wanted == "auto" and device.type == "cpu" and _cpu_knows_bf16():
        return ["fp32", "bf16"]
    return [choose_precision(wanted, device, 0)]


def _cpu_knows_bf16() -> bool:
    """Whether this CPU has instructions for bf16 products (else they are emulated, slowly)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported", "_is_arm_bf16_supported")
    return any(probe() for name in probes if (probe := getattr(torch.cpu, name, None)))


@cache
def _bf16_speedup() -> float:
    """Time of an fp32 product over that of a bf16 one, casts included; the best of several.

    On one thread, the best of eight: what else the machine is doing must not decide.
    """

    def seconds(dtype: torch.dtype) -> float:
        x, w = torch.ones(1024, 512), torch.ones(512, 512)
        best = math.inf
        for _ in range(8):
            start = time.perf_counter()
            torch.mm(x.to(dtype), w.to(dtype))
            best = min(best, time.perf_counter() - start)
        return best

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad():
            return seconds(torch.float32) / seconds(torch.bfloat16)
    finally:
        torch.set_num_threads(threads)


def autocast(device: torch.device, precision: Precision) -> AbstractContextManager[object]:
    """A context in which the matrix products of a forward pass run in ``precision``."""
    if precision == "fp32":
        return nullcontext()
    dtype = torch.bfloat16 if precision == "bf16" else torch.float16
    return torch.autocast(device.type, dtype=dtype)


def product_dtype(precision: Precision) -> torch.dtype:
    """What Muon multiplies in: bf16 where that is what pays, else fp32 (fp16 would overflow)."""
    return torch.bfloat16 if precision == "bf16" else torch.float32


@dataclass
class LossScale:
    """Keeps fp16 gradients inside fp16's range; with any other precision it is 1 and stays.

    Doubles after 2000 good steps, halves at each step whose gradient overflowed; that step is
    skipped (Micikevicius et al. 2017, §3.2).
    """

    value: float = 1.0
    good_steps: int = 0

    @classmethod
    def of(cls, precision: Precision) -> "LossScale":
        return cls(2.0**16 if precision == "fp16" else 1.0)

    def unscale(self, parameters: Iterable[nn.Parameter]) -> None:
        """Divide the gradients by the scale."""
        if self.value != 1.0:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(self.value)

    def survives(self, norm: float) -> bool:
        """Whether the step with this gradient norm may be made, or skipped at a smaller scale.

        False means that the gradient is truly not finite: nothing is left to scale down.
        """
        return math.isfinite(norm) or self.value > 1.0

    def update(self, norm: float) -> None:
        """Learn from the norm of the unscaled gradient."""
        if self.value == 1.0:
            return
        if not math.isfinite(norm):
            self.value, self.good_steps = max(1.0, self.value / 2), 0
        else:
            self.good_steps += 1
            if self.good_steps % 2000 == 0:
                self.value *= 2


def should_compile(wanted: bool | str, device: torch.device, minutes: float | None) -> bool:
    """Whether ``torch.compile`` pays: it takes half a minute to start, on a CPU often more."""
    if wanted != "auto":
        return bool(wanted)
    long_enough = minutes is not None and minutes >= 3
    return device.type == "cuda" and long_enough


@contextmanager
def deterministic() -> Iterator[None]:
    """Ask torch for kernels that always give the same bits, where there are such.

    On a CPU this costs nothing. On CUDA cuBLAS needs a word in the environment before it starts.
    """
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    before = torch.get_deterministic_debug_mode()
    memory: Any = torch.utils.deterministic
    fill_before = memory.fill_uninitialized_memory
    # Not use_deterministic_algorithms: that loads the compiler, a second and a half of every run.
    torch.set_deterministic_debug_mode("warn")
    # Filling fresh memory, which comes with it, guards programs that read it unset; ours do not.
    memory.fill_uninitialized_memory = False
    try:
        with warnings.catch_warnings():
            # Said once per kernel that has no deterministic twin; nothing a reader could do.
            warnings.filterwarnings("ignore", message=".*deterministic implementation.*")
            yield
    finally:
        memory.fill_uninitialized_memory = fill_before
        torch.set_deterministic_debug_mode(before)
