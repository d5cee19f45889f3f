"""D18: how it was learned, from the first step to the last (article: 训练)."""

import numpy as np
from pydantic import Field

from mingyue.explain.choosing import Place, place, window, window_note
from mingyue.explain.exhibit import Definition, Exhibit, Verdict
from mingyue.explain.measures import jobs
from mingyue.explain.measures.history import History, Logged, history, logged
from mingyue.explain.measures.sample import layers
from mingyue.explain.panels import Curves, Matrix, Panel, Table
from mingyue.explain.subject import Subject, bare, label
from mingyue.language import tr

LINES, POINTS, ROWS = 15, 300, 12
"""Heads in one drawing, points of a curve, samples in a table: no more than can be read."""
PREVIOUS = 1
"""The job of looking at the token before."""


class LearningKnobs(Place):
    k: int = Field(default=6, ge=1, le=20, description="how many neighbours")
    start: int = Field(default=0, ge=0, description="the first token drawn")


def show(subject: Subject, knobs: LearningKnobs) -> Exhibit:
    """Losses, chances, neighbours and heads at every step that was kept."""
    layers(subject)
    t, log = place(subject, knobs, prefer=("月", "春", "山")), logged(subject)
    found = subject.once(history, int(subject.ids[0, t]), knobs.k)
    part = window(knobs.start, len(subject.labels) - 1)
    causal = subject.model.config.causal
    drawn: list[Panel] = [*_losses(log)]
    if causal:
        drawn += _chances(subject, found, part)
    drawn += [_neighbours(subject, found, t), *_heads(found)]
    if samples := _samples(log):
        drawn.append(samples)
    notes = [*subject.notes, *window_note(part, len(subject.labels) - 1)]
    if not causal:
        notes.append(tr("a model that sees both sides says nothing about the next token"))
    if not log.looks:
        notes.append(tr("the run has no log.jsonl, so its losses are not drawn"))
    return Exhibit(
        name="learning",
        title=EXHIBIT.title(),
        see=tr(
            "Nobody writes the weights: they begin as random numbers, and each step moves them a "
            "little so that the text read becomes likelier. Watch what comes first. The loss falls "
            "steeply while the model learns which characters are common, then slowly while it "
            "learns which one follows which. Neighbours begin as chance and become characters of a "
            "kind. A head looks at everything alike until, within a few steps, it gets a job."
        ),
        verdicts=[
            *(_falls(found) if causal else []),
            _head_forms(found),
            _held_out(log),
        ],
        panels=drawn,
        notes=notes,
    )


def _falls(found: History) -> list[Verdict]:
    """Whether the text has become likelier, and how early."""
    first, last, end = float(found.loss[0]), float(found.loss[-1]), found.steps[-1]
    half = next(s for s, v in zip(found.steps, found.loss, strict=True) if v <= (first + last) / 2)
    told = len(found.steps) > 1
    return [
        Verdict(
            tr("the text becomes likelier: its loss falls from the first step to the last"),
            tr("{first} → {last} nats a token", first=f"{first:.2f}", last=f"{last:.2f}"),
            last < first if told else None,
        ),
        Verdict(
            tr("half of that is learned in the first tenth of the steps"),
            tr("by step {half} of {end}", half=f"{half:,}", end=f"{end:,}")
            if last < first
            else tr("there is no fall"),
            10 * half <= end if last < first and told else None,
        ),
    ]


def _head_forms(found: History) -> Verdict:
    """The head whose attention to one kind of token has grown most."""
    score = found.score.numpy()  # [N, jobs, L, H]
    gain = np.nan_to_num(score[-1] - score[0], nan=-1.0)
    job, layer, head = np.unravel_index(gain.argmax(), gain.shape)
    way = score[:, job, layer, head]
    claim = tr("a head gets a job: its attention to one kind of token grows by 0.3")
    if gain.max() <= 0:
        said = tr("no head does so more than at first")
        return Verdict(claim, said, False if len(found.steps) > 1 else None)
    half = next(s for s, v in zip(found.steps, way, strict=True) if v >= (way[0] + way[-1]) / 2)
    return Verdict(
        claim,
        tr(
            "head {head}, {job}: {first} → {last}, half of it by step {half}",
            head=f"{layer}.{head}",
            job=jobs.names()[job],
            first=f"{way[0]:.2f}",
            last=f"{way[-1]:.2f}",
            half=f"{half:,}",
        ),
        bool(gain.max() >= 0.3),
    )


def _held_out(log: Logged) -> Verdict:
    claim = tr("to the end it learns what holds for unseen text: held-out loss is lowest at last")
    loss = log.of_looks("val_loss")
    if len(loss) < 2 or not np.isfinite(loss).all():
        return Verdict(claim, tr("there are no two looks at held-out text"), None)
    best = log.looks[int(loss.argmin())]["step"]
    return Verdict(
        claim,
        tr(
            "lowest {best} at step {step}, at last {last}",
            best=f"{loss.min():.3f}",
            step=f"{best:,}",
            last=f"{loss[-1]:.3f}",
        ),
        bool(loss[-1] == loss.min()),
    )


def _losses(log: Logged) -> list[Panel]:
    """What the run wrote down; neighbouring points as their mean where there are too many."""
    drawn: list[Panel] = []
    if len(log.steps) > 1:
        groups = _together(log.steps)
        drawn.append(
            Curves(
                title=tr("loss of the batch at each step, as it was logged"),
                x=np.array([log.steps[group].mean() for group in groups]),
                lines={tr("training"): np.array([log.loss[group].mean() for group in groups])},
                x_label=tr("step"),
                y_label=tr("nats a token"),
                log_x=True,
            )
        )
    if len(log.looks) > 1:
        drawn.append(
            Curves(
                title=tr("loss at each look: mean of training since the one before, and held out"),
                x=log.of_looks("step"),
                lines={
                    tr("training"): log.of_looks("train_loss"),
                    tr("held out"): log.of_looks("val_loss"),
                },
                x_label=tr("step"),
                y_label=tr("nats a token"),
                log_x=True,
            )
        )
    return drawn


def _together(steps: np.ndarray) -> list[np.ndarray]:
    """Which points are drawn as one, their mean: those that would lie on each other on an axis by
    powers of ten. The first steps, where most happens, stay apart."""
    place = np.floor(np.log(np.maximum(steps, 1)) / np.log(max(2, steps[-1])) * POINTS)
    return np.split(np.arange(len(steps)), np.flatnonzero(np.diff(place)) + 1)


def _chances(subject: Subject, found: History, part: slice) -> list[Panel]:
    """How likely this text was at each step."""
    return [
        Curves(
            title=tr("loss of this text at each step kept"),
            x=_log_steps(found),
            lines={tr("loss"): found.loss},
            x_label=tr("step (0 stands at 1)"),
            y_label=tr("nats a token"),
            log_x=True,
        ),
        Matrix(
            title=tr("probability of what really came next"),
            values=found.chance[:, part].numpy(),  # [N, window]
            rows=[str(step) for step in found.steps],
            columns=list(subject.labels[1:][part]),
            row_label=tr("step"),
            column_label=tr("what came next"),
            scale="share",
        ),
    ]


def _neighbours(subject: Subject, found: History, t: int) -> Table:
    """A row for each step."""
    return Table(
        title=tr("the nearest to {token} in the embedding table", token=bare(subject.labels[t])),
        columns=[tr("step"), tr("the nearest first, by the angle between vectors")],
        rows=[
            [step, " ".join(label(subject.tokenizer, id) for id in near)]
            for step, near in zip(found.steps, found.near, strict=True)
        ],
    )


def _heads(found: History) -> list[Panel]:
    """Attention to the previous token as curves, to every kind of token as a matrix."""
    N, _, L, H = found.score.shape
    score = found.score.flatten(2).numpy()  # [N, jobs, L · H]
    names = [f"{layer}.{head}" for layer in range(L) for head in range(H)]
    previous = score[:, PREVIOUS]  # [N, L · H]
    range_of = np.nan_to_num(previous.max(axis=0) - previous.min(axis=0))
    chosen = sorted(np.argsort(-range_of, kind="stable")[:LINES].tolist())
    many = len(chosen) < len(names)
    best = int(np.nan_to_num(score[-1] - score[0], nan=-1.0).max(axis=1).argmax())
    return [
        Curves(
            title=tr("attention to the previous token, the heads that change most (layer.head)")
            if many
            else tr("attention to the previous token, each head (layer.head)"),
            x=_log_steps(found),
            lines={names[i]: previous[:, i] for i in chosen}
            | {tr("even look"): np.full(N, float(found.even[PREVIOUS]))},
            x_label=tr("step (0 stands at 1)"),
            y_label=tr("attention"),
            log_x=True,
        ),
        Matrix(
            title=tr("what each head looks at ({source})", source=found.text.source),
            values=score.transpose(1, 0, 2),  # [jobs, N, L · H]
            rows=[str(step) for step in found.steps],
            columns=names,
            row_label=tr("step"),
            column_label=tr("layer.head"),
            scale="share",
            pages={"job": jobs.names()},
            page=[best],
        ),
    ]


def _samples(log: Logged) -> Table | None:
    """What it wrote at the looks."""
    wrote = [look for look in log.looks if look.get("sample")]
    if not wrote:
        return None
    chosen = np.unique(np.linspace(0, len(wrote) - 1, min(ROWS, len(wrote))).round().astype(int))
    rows = [[wrote[i]["step"], _short(wrote[i]["sample"])] for i in chosen]
    return Table(
        title=tr("what it wrote at its looks, by chance"),
        columns=[tr("step"), tr("text")],
        rows=rows,
    )


def _short(sample: str, most: int = 60) -> str:
    line = " ↵ ".join(sample.split("\n"))
    return line if len(line) <= most else line[: most - 1] + "…"


def _log_steps(found: History) -> np.ndarray:
    return np.array([max(1, step) for step in found.steps], dtype=float)


EXHIBIT = Definition(
    name="learning",
    spec="D18",
    title=lambda: tr("Learning: from random numbers to a model"),
    brief=lambda: tr("losses, guesses, neighbours and heads at every step of training kept"),
    texts=(
        "床前明月光，疑是地上霜。举头望明月，低头思故乡。",
        "The animal didn't cross the street because it was too tired.",
    ),
    show=show,
    knobs=LearningKnobs,
    pages=("job",),
    needs_dataset="if at hand",
    needs_snapshots=True,
)
