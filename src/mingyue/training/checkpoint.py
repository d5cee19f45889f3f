"""Everything a run needs to go on, on disk, whole or not at all.

    checkpoints/step-000400/model.safetensors       weights
                            optimizer.safetensors   what the optimizer remembers
                            state.json              where the loop stood; size and hash of all
    checkpoints/last        the name of the newest, "step-000400"
    checkpoints/best        the name of the one with the lowest validation loss

A checkpoint is written under a temporary name, forced to the disk and renamed, so one that is
half written is never seen. What can still happen is a disk or a copy that loses bytes; therefore
``state.json`` holds size and SHA-256 of the files and of itself, and loading takes the newest
checkpoint that is as it was written. Tensors are safetensors and the rest is JSON: opening a
checkpoint runs no code.

No random state is kept, because there is none: batches and dropout are functions of the seed
and the number of the step.
"""

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.files import folder_atomic, write_atomic

MODEL, OPTIMIZER, STATE = "model.safetensors", "optimizer.safetensors", "state.json"
_NAME = re.compile(r"step-(\d{6,})")


class BadCheckpoint(Exception):
    """Why a checkpoint cannot be trusted, in one translated phrase."""


@dataclass(frozen=True)
class Checkpoint:
    """One checkpoint, read and verified."""

    step: int
    model: dict[str, Tensor]
    optimizer: dict[str, Tensor]
    state: dict[str, Any]


class Checkpoints:
    """The checkpoints of one run, in ``folder``."""

    def __init__(self, folder: Path, keep: int = 2):
        self.folder, self.keep = folder, keep

    def save(
        self,
        step: int,
        model: Mapping[str, Tensor],
        optimizer: Mapping[str, Tensor],
        state: Mapping[str, Any],
        *,
        best: bool = False,
    ) -> None:
        """Write one; then point ``last`` (and ``best``) to it and remove old ones.

        Raises:
            UserError: the disk is full or refuses; nothing that was there has changed.
        """
        name = f"step-{step:06d}"
        files = {
            MODEL: safetensors.torch.save(_plain(model)),
            OPTIMIZER: safetensors.torch.save(_plain(optimizer)),
        }
        content = {"files": {n: _describe(data) for n, data in files.items()}, "state": state}
        files[STATE] = json.dumps(
            {**content, "sha256": _digest(content)}, ensure_ascii=False, indent=1, allow_nan=False
        ).encode()
        with folder_atomic(self.folder / name) as temporary:
            for file, data in files.items():
                (temporary / file).write_bytes(data)
        write_atomic(self.folder / "last", name.encode())
        if best:
            write_atomic(self.folder / "best", name.encode())
        self._remove_old(step)

    def load(self, warn: Callable[[str], None] = lambda text: None) -> Checkpoint | None:
        """The newest good one; ``warn`` hears of each newer one that is not. None: no good one."""
        for step, path in self._newest_first():
            try:
                return self.read(path)
            except BadCheckpoint as why:
                warn(
                    tr(
                        "checkpoint {name} is damaged ({why}); going back to the one before",
                        name=f"step-{step:06d}",
                        why=why,
                    )
                )
        return None

    def best(self) -> Checkpoint | None:
        """The one with the lowest validation loss; None if there is none, or it is damaged."""
        try:
            name = (self.folder / "best").read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError):
            return None
        if not _NAME.fullmatch(name):  # a pointer never leads out of the folder
            return None
        try:
            return self.read(self.folder / name)
        except BadCheckpoint:
            return None

    def read(self, path: Path) -> Checkpoint:
        """One checkpoint, verified.

        Raises:
            BadCheckpoint: a file is missing, cut short or altered.
        """
        try:
            record = json.loads((path / STATE).read_bytes())
            content = {"files": record["files"], "state": record["state"]}
            intact = record["sha256"] == _digest(content)
        except FileNotFoundError:
            raise BadCheckpoint(tr("{file} is missing", file=STATE)) from None
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            raise BadCheckpoint(tr("{file} cannot be read", file=STATE)) from None
        if not intact:
            raise BadCheckpoint(tr("{file} was altered", file=STATE))
        tensors = []
        for file in (MODEL, OPTIMIZER):
            try:
                data = (path / file).read_bytes()
            except FileNotFoundError:
                raise BadCheckpoint(tr("{file} is missing", file=file)) from None
            except OSError:
                raise BadCheckpoint(tr("{file} cannot be read", file=file)) from None
            if len(data) != content["files"][file]["bytes"]:
                raise BadCheckpoint(tr("{file} is cut short", file=file))
            if _describe(data) != content["files"][file]:
                raise BadCheckpoint(tr("{file} was altered", file=file))
            tensors.append(safetensors.torch.load(data))
        step = int(content["state"]["step"])
        return Checkpoint(step, tensors[0], tensors[1], content["state"])

    def clear_leftovers(self) -> None:
        """Remove what a killed program left half written."""
        for leftover in self.folder.glob(".mingyue-*.tmp"):
            if leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)

    def _newest_first(self) -> list[tuple[int, Path]]:
        return sorted(self._all(), reverse=True)

    def _all(self) -> Iterator[tuple[int, Path]]:
        if self.folder.is_dir():
            for path in self.folder.iterdir():
                if path.is_dir() and (match := _NAME.fullmatch(path.name)):
                    yield int(match[1]), path

    def _remove_old(self, step: int) -> None:
        """Keep the newest and the best. Those past ``step`` are of a future that did not
        happen: the run went back behind them because they were damaged."""
        found = self._newest_first()
        kept = [path for number, path in found if number <= step][: self.keep]
        try:
            best = self.folder / (self.folder / "best").read_text("utf-8").strip()
        except OSError:
            best = None
        for _, path in found:
            if path not in kept and path != best:
                shutil.rmtree(path, ignore_errors=True)


def disk_trouble(error: UserError, last: int | None) -> UserError:
    """The same trouble with what it means for the run."""
    if last is None:
        return UserError(tr("{error}; no checkpoint has been saved yet", error=error))
    return UserError(
        tr(
            "{error}; everything up to step {step} is kept, --resume goes on from there",
            error=error,
            step=last,
        )
    )


def _plain(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """On the CPU, each with its own contiguous memory, as safetensors wants them."""
    return {name: t.detach().to("cpu").contiguous() for name, t in tensors.items()}


def _describe(data: bytes) -> dict[str, Any]:
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _digest(content: Mapping[str, Any]) -> str:
    """A hash of JSON content that does not depend on spacing or order."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
