"""The history of a run: ``log.jsonl``, one JSON object per line.

    {"step": 10, "loss": 7.31, "rate": 0.5, "gradient_norm": 1.9, "epoch": 0.02, …}
    {"step": 100, "val_loss": 5.9, "train_loss": 6.1, "bits_per_character": 8.6, …}

A line is handed to the system as soon as it is made. After a crash the log may be ahead of the
last checkpoint; a resumed run first cuts what the checkpoint does not know of, and makes those
lines again. So the log of a run that was interrupted ten times reads like that of one that was
not, except for the clock (``seconds``, ``tokens_per_second``, ``flops_per_second``).
"""

import json
import math
import os
from pathlib import Path
from typing import IO, Any, Self

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.files import write_atomic

CLOCK = ("seconds", "tokens_per_second", "flops_per_second")
"""Fields that tell the time and so differ from run to run."""


class Log:
    """Appends to ``path``, after the lines up to ``after_step``, where the checkpoint stood."""

    def __init__(self, path: Path, after_step: int = 0):
        self.path = path
        lines = read_log(path, up_to=after_step) if path.exists() else []
        write_atomic(path, b"".join(_line(line) for line in lines))
        self._file: IO[bytes] = path.open("ab", buffering=0)

    def write(self, **fields: Any) -> None:
        """Append one line. Numbers that JSON has no word for (NaN, infinity) become null.

        Raises:
            UserError: the disk is full or refuses.
        """
        try:
            self._file.write(_line(fields))
        except OSError as error:
            why = error.strerror or str(error)
            raise UserError(
                tr("{path}: cannot be written: {why}", path=self.path, why=why)
            ) from None

    def sync(self) -> None:
        """Force everything to the disk; before a checkpoint that counts on it."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_log(path: Path, up_to: int | None = None) -> list[dict[str, Any]]:
    """The lines of a log, in order, up to and with step ``up_to``.

    A line that is not whole (the last one, after a crash) is left out.
    """
    lines: list[dict[str, Any]] = []
    with path.open("rb") as file:
        for raw in file:
            try:
                line = json.loads(raw)
                step = int(line["step"])
            except (ValueError, KeyError, TypeError):
                continue
            if up_to is None or step <= up_to:
                lines.append(line)
    return lines


def _line(fields: dict[str, Any]) -> bytes:
    plain = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in fields.items()
        if value is not None
    }
    return json.dumps(plain, ensure_ascii=False, allow_nan=False).encode() + b"\n"
