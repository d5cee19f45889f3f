"""What ``mingyue compare`` has to show: rows of a table, an exhibit to be drawn, JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from mingyue.cli import poems
from mingyue.cli.compared import Run
from mingyue.cli.screen import duration, number, short
from mingyue.cli.shape import NAMES
from mingyue.evaluation.verse import Verse
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.panels import Bars, Curves, Panel, Table
from mingyue.language import tr
from mingyue.text.verse import Form, lay_out

Rows = list[tuple[str, list[str]]]

SHOWN = 32
"""Characters of a sample."""


def titles(runs: Sequence[Run], real: Verse | None) -> list[str]:
    """Of the columns."""
    return [run.name for run in runs] + [tr("real poems")] * (real is not None and real.n > 0)


def rows(runs: Sequence[Run], real: Verse | None, form: Form | None) -> Rows:
    """A figure a row, a run a column; the last column is of real poems, if there are any."""
    losses = [run.loss for run in runs if run.loss]
    seconds, speeds = [r.seconds for r in runs], [r.tokens_per_second for r in runs]
    found: Rows = [
        (tr("kind"), [_kind(run) for run in runs]),
        (tr("parameters"), [short(run.writer.model.count_parameters()) for run in runs]),
        (tr("training time"), ["–" if s is None else duration(s) for s in seconds]),
        (tr("tokens a second"), ["–" if s is None else number(s) for s in speeds]),
        (tr("nats per character"), [f"{loss.nats_per_character:.4f}" for loss in losses]),
        (tr("bits per character"), [f"{loss.bits_per_character:.4f}" for loss in losses]),
        (tr("perplexity per token"), [f"{loss.perplexity:,.1f}" for loss in losses]),
    ]
    if real is None:
        return found
    verses = [run.verse for run in runs if run.verse] + [real] * (real.n > 0)
    missing = [""] * (len(verses) - len(runs))
    return [(name, values + missing) for name, values in found] + poems.rows(verses, form)


def _kind(run: Run) -> str:
    config = run.writer.model.config
    return f"{config.order}-gram" if config.kind == "ngram" else NAMES.get(config.kind, "GPT")


def sample(run: Run) -> str:
    """The first line of what it wrote first."""
    lines = lay_out(run.texts[0].strip()).splitlines() if run.texts else []
    first = lines[0] if lines else ""
    return first[: SHOWN - 1] + "…" if len(first) > SHOWN else first


def to_json(runs: Sequence[Run], real: Verse | None, notes: Sequence[str]) -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "runs": [
            {
                "run": run.folder,
                "kind": run.writer.model.config.kind,
                "parameters": run.writer.model.count_parameters(),
                "seconds": run.seconds,
                "tokens_per_second": run.tokens_per_second,
                **asdict(run.loss),
                "nats_per_character": run.loss.nats_per_character,
                "bits_per_character": run.loss.bits_per_character,
                "bits_per_byte": run.loss.bits_per_byte,
                "perplexity": run.loss.perplexity,
                "sample": run.texts[0] if run.texts else "",
                "verse": asdict(run.verse) if run.verse else None,
            }
            for run in runs
            if run.loss
        ],
        "real": asdict(real) if real else None,
        "notes": list(notes),
    }


def exhibit(
    runs: Sequence[Run], real: Verse | None, form: Form | None, notes: Sequence[str]
) -> Exhibit:
    """The loss over the time of training where it was logged, what came of it, and the table."""
    losses = [run.loss.bits_per_character for run in runs if run.loss]
    table = rows(runs, real, form)
    panels: list[Panel] = [
        *_curves(runs),
        Bars(
            title=tr("bits per character on held-out text: less is better"),
            names=[run.name for run in runs],
            values=np.array(losses),
            unit=tr("bits"),
        ),
        Table(
            title=tr("all figures"),
            columns=["", *titles(runs, real)],
            rows=[[name, *values] for name, values in table],
        ),
        Table(
            title=tr("what each wrote first"),
            columns=[tr("run"), tr("text")],
            rows=[[run.name, sample(run)] for run in runs],
        ),
    ]
    return Exhibit(
        name="compare",
        title=tr("Models side by side"),
        see=tr(
            "Every model was asked to guess the same documents, which none of them had seen. The "
            "loss is counted by the character, so models with different tokens can be compared. "
            "The time is that of training on the machine that it was trained on."
        ),
        verdicts=[],
        panels=panels,
        notes=list(notes),
    )


def _curves(runs: Sequence[Run]) -> list[Panel]:
    """Losses at the looks, and between two looks on a straight line.

    What was counted at one go has one look; its loss stays as it is from then on.
    """
    lines: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for run in runs:
        looks = run.looks
        if looks and run.loss:
            by_character = run.loss.bits_per_character / run.loss.nats_per_token
            time = np.array([look["seconds"] for look in looks]) / 60
            lines[run.name] = time, np.array([look["val_loss"] for look in looks]) * by_character
    if not any(len(time) > 1 for time, _ in lines.values()):
        return []
    moments = [time for time, _ in lines.values()]
    first, last = min(map(min, moments)), max(map(max, moments))
    x = np.unique(np.concatenate([*moments, np.linspace(first, last, 50)]))
    return [
        Curves(
            title=tr("bits per character as training went on, at its looks at held-out text"),
            x=x,
            lines={name: _at(x, *line) for name, line in lines.items()},
            x_label=tr("minutes"),
            y_label=tr("bits per character"),
        )
    ]


def _at(x: np.ndarray, time: np.ndarray, loss: np.ndarray) -> np.ndarray:
    """A line at the moments ``x``; nan before its first look and after its last."""
    end = time[-1] if len(time) > 1 else np.inf
    return np.where((x >= time[0]) & (x <= end), np.interp(x, time, loss), np.nan)
