"""What one sees of a training: what was chosen, how it goes, what it writes, where it lies.

On a terminal one bar at the bottom is drawn again and everything else scrolls above it. Into a
file go plain lines: each evaluation, and in between a line now and then.
"""

import json
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rich.cells import cell_len
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from mingyue.cli.load import Load
from mingyue.cli.next import commands
from mingyue.cli.screen import (
    console,
    duration,
    is_live,
    number,
    print_choices,
    print_pairs,
    short,
    visible,
)
from mingyue.cli.shape import kinds, loss_of, optimizer, size
from mingyue.cli.waiting import Barred
from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.text.verse import lay_out
from mingyue.training.config import TrainConfig
from mingyue.training.observe import (
    Choice,
    EvalInfo,
    Observer,
    Observers,
    RunInfo,
    RunResult,
    StepInfo,
)

DRAW_EVERY, LINE_EVERY = 0.25, 20.0
"""Seconds between two drawings of the bar, or two lines where there is no bar."""
SAMPLE_LINES = 6


class Live(Barred, Observer):
    """Prints to the output stream. A context: the bar is cleared away however the block ends."""

    def __init__(self, source: str | None):
        self.console = console()
        self.source = source or ""
        self.verse = False
        self.load = Load()
        self._last = time.monotonic()
        if is_live(self.console):
            # No refreshing thread: it would take time from the training.
            self._bar = Progress(
                BarColumn(bar_width=None),
                TextColumn("{task.description}", markup=False),
                console=self.console,
                auto_refresh=False,
                expand=True,
                transient=True,
            )
            self._task = self._bar.add_task("", total=None)

    def on_message(self, text: str) -> None:
        self.console.print(visible(text))

    def on_progress(self, phase: str, fraction: float) -> None:
        self._show(phase, phase, fraction)

    def on_choices(self, choices: Sequence[Choice]) -> None:
        self.console.print()
        print_choices(self.console, choices)

    def on_start(self, run: RunInfo) -> None:
        self.verse = _is_verse(run.out)
        self.console.print()
        print_pairs(self.console, _chosen(run, self.source))
        self.console.print()

    def on_step(self, step: StepInfo) -> None:
        total, left = step.total_steps, step.seconds_left
        of = f"{number(step.step)}/{number(total)}" if total else number(step.step)
        parts = [
            tr("step {step}", step=of),
            tr("loss {loss}", loss=f"{step.loss:.3f}"),
            tr("{time} left", time=duration(left)) if left is not None else "",
            tr("{speed} tokens/s", speed=number(step.tokens_per_second)),
            self.load.shown(),
        ]
        whole = [part for part in parts if part]
        fitting = self._fitting(whole)
        self._show("  ".join(fitting), " · ".join(whole), step.step / total if total else 0.0)

    def on_eval(self, evaluation: EvalInfo) -> None:
        self.console.print(self._evaluation(evaluation))
        if evaluation.sample:
            self._print_sample(evaluation.sample)
        self._print_notes(evaluation.notes)
        if not self._bar:
            self._last = time.monotonic()

    def on_end(self, result: RunResult) -> None:
        if self._bar:
            self._bar.stop()
        self.console.print()
        self.console.print(visible(result.message), style="bold")
        print_pairs(self.console, _result(result))
        self._print_notes(result.notes)
        self.console.print(f"\n{tr('next:')}")
        for command in commands(result):
            self.console.print(f"  {command}", style="cyan", soft_wrap=True)

    def _fitting(self, parts: list[str]) -> list[str]:
        """As many parts as leave a bar of some length, the first ones first."""
        room = self.console.width - 12
        while len(parts) > 1 and cell_len("  ".join(parts)) > room:
            parts = parts[:-1]
        return parts

    def _show(self, bar: str, line: str, fraction: float) -> None:
        now = time.monotonic()
        if self._bar:
            if now - self._last < DRAW_EVERY:
                return
            known = {"total": 1.0, "completed": fraction} if fraction else {"total": None}
            self._bar.update(self._task, description=visible(bar), **known)  # type: ignore[arg-type]
            self._bar.refresh()
        elif now - self._last < LINE_EVERY:
            return
        else:
            self.console.print(visible(line))
        self._last = now

    def _evaluation(self, seen: EvalInfo) -> Text:
        of = f"{number(seen.step)}/{number(seen.total_steps)}" if seen.total_steps else seen.step
        line = Text(tr("step {step}", step=of))
        line.append(f" · {tr('training {loss}', loss=f'{seen.train_loss:.3f}')}")
        if seen.val_loss is not None:
            held_out = tr("held out {loss}", loss=f"{seen.val_loss:.3f}")
            line.append(" · ").append(held_out, style="bold green" if seen.best else "bold")
            if seen.best:
                line.append(f" {tr('(best)')}", style="green")
        if seen.bits_per_character is not None:
            bits = tr("{bits} bits per character", bits=f"{seen.bits_per_character:.2f}")
            line.append(f" · {bits}")
        line.append(f" · {tr('{speed} tokens/s', speed=number(seen.tokens_per_second))}")
        line.append(f" · {short(seen.flops_per_second)}FLOP/s")
        line.append(f" · {duration(seen.seconds)}")
        return line

    def _print_notes(self, notes: Sequence[str]) -> None:
        for note in notes:
            self.console.print(tr("note: {warning}", warning=note), style="yellow")

    def _print_sample(self, sample: str) -> None:
        lines = visible(lay_out(sample) if self.verse else sample).strip().splitlines()
        if len(lines) > SAMPLE_LINES:
            lines = [*lines[:SAMPLE_LINES], "…"]
        if self._bar:
            self.console.print(Padding(Text("\n".join(lines), style="italic"), (0, 0, 0, 4)))
        else:
            for line in lines:
                self.console.print(f"    {line}")


class _TensorBoardLater(Observer):
    """TensorBoard needs the run folder, which is known when the run begins."""

    def __init__(self) -> None:
        self.writer: Observer = Observer()

    def on_start(self, run: RunInfo) -> None:
        from mingyue.training.tensorboard import TensorBoard

        self.writer = TensorBoard(run.out / "tensorboard")

    def on_step(self, step: StepInfo) -> None:
        self.writer.on_step(step)

    def on_eval(self, evaluation: EvalInfo) -> None:
        self.writer.on_eval(evaluation)

    def on_end(self, result: RunResult) -> None:
        self.writer.on_end(result)


def with_log(live: Observer, log: str | None) -> Observer:
    """``live``, and TensorBoard beside it if ``log`` names it.

    Raises:
        UserError: TensorBoard is not installed.
    """
    if log is None:
        return live
    if find_spec("tensorboard") is None:
        raise UserError(tr("TensorBoard is not installed; pip install 'mingyue[track]'"))
    return Observers(live, _TensorBoardLater())


def _is_verse(folder: Path) -> bool:
    try:
        return json.loads((folder / "mingyue.json").read_bytes()).get("layout") == "verse"
    except (OSError, ValueError, AttributeError):
        return False


def _chosen(run: RunInfo, source: str) -> list[tuple[str, object]]:
    """What the run was told or found out: a line each for text, model, learning, machine."""
    m, c = run.model, run.config
    train, val = number(run.train_tokens), number(run.val_tokens)
    text = (
        tr("{train} tokens of 1 document to learn from, {val} held out", train=train, val=val)
        if run.documents == 1
        else tr(
            "{train} tokens of {documents} documents to learn from, {val} held out",
            train=train,
            documents=number(run.documents),
            val=val,
        )
    )
    step = tr(
        "{optimizer}, {schedule}, {tokens} tokens a step ({rows})",
        optimizer=optimizer(m, c.optimizer),
        schedule=c.schedule,
        tokens=number(run.tokens_per_step),
        rows=tr("1 row") if c.batch_size == 1 else tr("{n} rows", n=number(c.batch_size)),
    )
    machine = [run.device, run.precision] + [tr("compiled")] * run.compiled
    length = _length(c)
    if run.first_step:
        length += tr(", goes on after step {step}", step=number(run.first_step))
    return [
        (tr("text"), f"{source}: {text}" if source else text),
        (tr("model"), f"{size(m, run.parameters)}; {', '.join(kinds(m))}"),
        (tr("learning"), step),
        (tr("machine"), ", ".join(machine)),
        (tr("length"), length),
        (tr("run"), run.out),
    ]


def _length(config: TrainConfig) -> str:
    if config.steps is not None:
        steps = number(config.steps)
        return tr("1 step") if config.steps == 1 else tr("{steps} steps", steps=steps)
    if config.minutes == 1:
        return tr("1 minute in all")
    return tr("{minutes} minutes in all", minutes=f"{config.minutes:g}")


def _result(result: RunResult) -> list[tuple[str, Any]]:
    rows: list[tuple[str, Any]] = [(tr("run"), result.out)]
    if result.best_loss is not None:
        value = loss_of(result.model, f"{result.best_loss:.3f}")
        if result.best_step:
            value += tr(" (step {step})", step=number(result.best_step))
        rows.append((tr("held-out loss"), value))
    return [*rows, (tr("time"), duration(result.seconds))]
