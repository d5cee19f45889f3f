"""Weights from along the way of a training: ``RUN/snapshots/step-000430.safetensors``.

Each file has the names and shapes of the run's ``model.safetensors``, so all else in the folder
(settings, tokenizer) goes with it. Numbers are fp16, half the size: see ``training.snapshots``.
"""

import re
from pathlib import Path

from mingyue.errors import UserError
from mingyue.language import tr

FOLDER = "snapshots"
_NAME = re.compile(r"step-(\d{6,18})\.safetensors")


def snapshots(folder: str | Path) -> dict[int, Path]:
    """The snapshots of a run by step, from the first to the last; empty if it kept none."""
    found = Path(folder, FOLDER).glob("step-*.safetensors")
    steps = {int(match[1]): path for path in found if (match := _NAME.fullmatch(path.name))}
    return dict(sorted(steps.items()))


def snapshot_path(folder: str | Path, step: int) -> Path:
    """Where the snapshot of that step is, or is to be."""
    return Path(folder, FOLDER, f"step-{step:06d}.safetensors")


def snapshot(folder: str | Path, step: int) -> Path:
    """The snapshot of that step.

    Raises:
        UserError: there is none, naming those there are.
    """
    there = kept(folder)
    if step not in there:
        raise UserError(
            tr(
                "{folder}: there is no snapshot of step {step}; there are {known}",
                folder=folder,
                step=step,
                known=", ".join(map(str, there)),
            )
        )
    return there[step]


def kept(folder: str | Path) -> dict[int, Path]:
    """The snapshots of a run, of which there must be some.

    Raises:
        UserError: there are none, saying how to get them.
    """
    found = snapshots(folder)
    if not found:
        raise UserError(
            tr(
                "{folder}: keeps no snapshots of its training; a run that does is made by "
                "mingyue train … --snapshots 8",
                folder=folder,
            )
        )
    return found
