"""What the benchmarks against other programs share: nanoGPT as a program, and one scorer for all.

nanoGPT is called in a clone of it that the user names; nothing of it is in here, and nothing is
left in the clone: its data and checkpoints lie in folders of the benchmark.
"""

import importlib.util
import io
import os
import pickle
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

# How nanoGPT's README asks for a run on a CPU, without the number of steps.
CPU_RECIPE: dict[str, Any] = {
    "device": "cpu",
    "compile": False,
    "eval_iters": 20,
    "log_interval": 1,
    "block_size": 64,
    "batch_size": 12,
    "n_layer": 4,
    "n_head": 4,
    "n_embd": 128,
    "dropout": 0.0,
}

Logits = Callable[[Tensor], Tensor]
"""ids [B, T] → logits [B, T, V]."""


@dataclass(frozen=True)
class NanoRun:
    """What a run of nanoGPT's ``train.py`` took and said."""

    seconds: float  # of the whole process
    checkpoint: Path
    val_losses: list[tuple[int, float]]  # by iteration, as it estimates them
    milliseconds: float  # the median iteration
    maximum_rss: int  # bytes


class NanoGPT:
    """A clone of nanoGPT."""

    def __init__(self, clone: Path) -> None:
        self.clone = clone.resolve()
        for name in ("train.py", "model.py", "config/train_shakespeare_char.py"):
            if not (self.clone / name).is_file():
                sys.exit(f"{clone}: no clone of nanoGPT (it has no {name}); name one by --nanogpt")

    @cached_property
    def module(self) -> ModuleType:
        """Its ``model.py``, imported from the clone."""
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            spec = importlib.util.spec_from_file_location("nanogpt_model", self.clone / "model.py")
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules["nanogpt_model"] = module  # its dataclass looks itself up there
            spec.loader.exec_module(module)
        finally:
            sys.dont_write_bytecode = before
        return module

    def train(self, data: Path, out: Path, **settings: Any) -> NanoRun:
        """Run ``train.py`` with its settings for characters of Shakespeare, changed as given.

        ``data`` is a folder that ``export`` made, ``out`` a new folder for its checkpoint.
        """
        settings = {"out_dir": out.resolve(), "dataset": data.resolve(), **settings}
        command = [sys.executable, "train.py", "config/train_shakespeare_char.py"]
        command += [f"--{name}={value}" for name, value in settings.items()]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1"}
        seconds, said, rss = timed(command, cwd=self.clone, env=environment)
        steps = re.findall(r"step (\d+): train loss [\d.]+, val loss ([\d.]+)", said)
        times = [float(t) for t in re.findall(r"iter \d+: .*time ([\d.]+)ms", said)]
        return NanoRun(
            seconds,
            out / "ckpt.pt",
            [(int(step), float(loss)) for step, loss in steps],
            statistics.median(times[len(times) // 10 :]) if times else float("nan"),
            rss,
        )

    def load(self, checkpoint: Path) -> tuple[Logits, int]:
        """The model of a checkpoint, and its block size."""
        found = torch.load(checkpoint, map_location="cpu", weights_only=True)
        with redirect_stdout(io.StringIO()):  # it tells its size
            model = self.module.GPT(self.module.GPTConfig(**found["model_args"]))
        model.load_state_dict(
            {name.removeprefix("_orig_mod."): t for name, t in found["model"].items()}
        )
        model.eval()
        # It gives logits at all places only to those who also give targets.
        return lambda ids: model(ids, ids)[0], int(found["model_args"]["block_size"])


def export(folder: Path, train: np.ndarray, val: np.ndarray, vocab_size: int) -> None:
    """Ids as the data folder that nanoGPT reads: ``train.bin``, ``val.bin``, ``meta.pkl``."""
    folder.mkdir(parents=True, exist_ok=True)
    np.asarray(train, np.uint16).tofile(folder / "train.bin")
    np.asarray(val, np.uint16).tofile(folder / "val.bin")
    with (folder / "meta.pkl").open("wb") as file:  # its own format
        pickle.dump({"vocab_size": vocab_size}, file)


def export_text(folder: Path, train: str, val: str) -> dict[str, int]:
    """The same from two texts, each character a token; returns the ids by character."""
    ids = {character: id for id, character in enumerate(sorted(set(train + val)))}
    arrays = [np.array([ids[c] for c in text], np.uint16) for text in (train, val)]
    export(folder, *arrays, len(ids))
    return ids


def timed(command: Sequence[object], **options: Any) -> tuple[float, str, int]:
    """Run a command: wall seconds, what it printed, and its largest resident memory in bytes.

    Ends the benchmark with what the command said if it fails.
    """
    begun = time.perf_counter()
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        **options,
    )
    assert process.stdout is not None
    said = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(map(str, command))}\nfailed:\n{said[-3000:]}")
    unit = 1 if sys.platform == "darwin" else 1024
    return seconds, said, usage.ru_maxrss * unit


@torch.no_grad()
def score(logits_of: Logits, sequences: Sequence[np.ndarray], block_size: int) -> tuple[float, int]:
    """Mean nats per token, and over how many: every token of each sequence but its first, once.

    A sequence longer than the block is read in windows of the block's size that lie side by
    side, so that a model of a large block is not helped by more context than it was made for.
    """
    rows = [
        (ids[start : start + block_size], ids[start + 1 : start + 1 + block_size])
        for ids in sequences
        for start in range(0, len(ids) - 1, block_size)
    ]
    rows = [(x[: len(y)], y) for x, y in rows]
    rows.sort(key=lambda row: -len(row[1]))
    total, count, at = 0.0, 0, 0
    while at < len(rows):
        longest = len(rows[at][1])
        batch = rows[at : at + max(1, 4096 // longest)]
        at += len(batch)
        x = torch.zeros(len(batch), longest, dtype=torch.long)  # [B, T]
        y = torch.full_like(x, -100)
        for row, (before, after) in enumerate(batch):
            x[row, : len(after)] = torch.from_numpy(before.astype(np.int64))
            y[row, : len(after)] = torch.from_numpy(after.astype(np.int64))
        logits = logits_of(x).float()
        total += F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum").item()
        count += int((y != -100).sum())
    return total / count, count


def ours(folder: Path) -> tuple[Logits, int, Any]:
    """A model of a Mingyue run, its block size, and its tokenizer."""
    import mingyue

    writer = mingyue.load(folder)
    model = writer.model.eval()
    return lambda ids: model(ids).logits, model.config.block_size, writer.tokenizer


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns: the first to the left, the others to the right."""
    widths = [max(len(row[k]) for row in (head, *rows)) for k in range(len(head))]
    for row in (head, *rows):
        first, *others = (f"{cell:>{w}}" for cell, w in zip(row, widths, strict=True))
        print("  ".join([f"{first.strip():<{widths[0]}}", *others]).rstrip())
