"""Weights kept along the way, to see later how something was learned (SPEC D18).

A model learns most in its first steps. In a run of 572 steps on Tang poems the loss of a poem was
9.1 nats a token at first, 6.1 after 26 steps, 5.1 after 100, 4.2 at the end. So snapshots stand at
even distances on the scale log(1 + step / 10): dense at first, each time farther apart.
The first is of the untrained model, the last of the end.

Where the end lies is not known at once when minutes are given, and it moves. So the steps are not
laid down beforehand: each next one is found from where the last stands, how many are left to take
and where the end lies by now. With a fixed number of steps this gives the even distances exactly;
with minutes nearly; and never more than were asked for. A resumed run finds its own on the disk.

They are fp16: half the size, and rounding each number by at most 1/2000 of itself moves the loss
in the fifth decimal. Nothing is trained from them. With ``ema`` they are the moving average, as is
all that such a run shows and exports.
"""

import math
from pathlib import Path

import safetensors.torch
import torch
from torch import Tensor

from mingyue.errors import UserError
from mingyue.interop.run_folder import family_of
from mingyue.interop.snapshots import snapshot_path, snapshots
from mingyue.interop.weights import export
from mingyue.language import tr
from mingyue.model.language_model import LanguageModel
from mingyue.text.files import write_atomic

EARLY = 10
"""Steps up to which distances are even; from there on they grow with the step."""


class Snapshots:
    """Those of the run in ``folder``, ``count`` of them when it ends."""

    def __init__(self, folder: Path, count: int, step: int | None):
        """``step`` is where the run begins, None for a new one; later ones there are of a future
        that did not happen, or of another run.

        Raises:
            UserError: those cannot be removed.
        """
        self.folder, self.count = folder, count
        for later, path in snapshots(folder).items():
            if step is None or later > step:
                _remove(path)
        self.taken = list(snapshots(folder))

    def due(self, step: int, total: int | None) -> bool:
        """Whether to take one after ``step`` steps of ``total``, as far as that is known."""
        left = self.count - len(self.taken)
        if left <= 0 or step in self.taken:
            return False
        if step == 0:
            return left > 1
        return total is not None and step >= next_step(max(self.taken, default=0), total, left)

    def take(self, model: LanguageModel, step: int) -> None:
        """Write the weights as they are.

        Raises:
            UserError: the disk is full or refuses.
        """
        tensors = export(model.state_dict(), family_of(model.config).names(model.config))
        counts = dict(model.named_buffers())  # not learned, and exact
        half = {name: t if name in counts else _half(t) for name, t in tensors.items()}
        write_atomic(
            snapshot_path(self.folder, step), safetensors.torch.save(half, {"format": "pt"})
        )
        self.taken.append(step)


def next_step(last: int, total: int, left: int) -> int:
    """Where the next of ``left`` snapshots stands, the last of which is to be at ``total``."""
    if left == 1 or last >= total:
        return total
    here, end = math.log1p(last / EARLY), math.log1p(total / EARLY)
    step = round(EARLY * math.expm1(here + (end - here) / left))
    return min(max(step, last + 1), total)


def _half(tensor: Tensor) -> Tensor:
    """In fp16; as it is if a number is too large for that."""
    half = tensor.to(torch.float16)
    return half if half.isfinite().all() else tensor


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise UserError(tr("{path}: cannot be removed: {why}", path=path, why=why)) from error
