"""D11: reading on beyond the length of training (article: 位置编码)."""

import math
from itertools import pairwise

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from mingyue.data.dataset import Dataset
from mingyue.data.tokens import Tokens
from mingyue.errors import UserError
from mingyue.explain.exhibit import Definition, Exhibit, Knobs, Verdict
from mingyue.explain.measures.beyond import TIMES, compared, means, word
from mingyue.explain.measures.sample import stretches
from mingyue.explain.panels import Curves, Table
from mingyue.explain.subject import Subject
from mingyue.generation.decode import evaluating
from mingyue.language import tr
from mingyue.model.gpt import GPT

POINTS = 8
"""So many points of a curve belong to a block."""

WORK = 4e11
"""Multiplications and additions that may be spent; large models get fewer stretches of text."""

WORSE = 0.05
"""Nats a token that are worth being called worse."""


class LengthKnobs(Knobs):
    rows: int = Field(default=64, ge=2, le=4096, description="how many stretches of text are read")
    steps: int = Field(
        default=100, ge=0, le=2000, description="of five small trainings; 0 leaves them out"
    )
    seed: int = Field(default=0, ge=0, description="of the small trainings")


@torch.no_grad()
def show(subject: Subject, knobs: LengthKnobs) -> Exhibit:
    """Loss at every position up to four blocks, reading on or with a window moved along; then
    small models with each scheme of positions."""
    if subject.dataset is None:
        raise UserError(tr("this exhibit reads much text; name one by --on"))
    T, learned = subject.model.config.block_size, subject.model.config.position == "learned"
    _, notes = _text(subject.dataset, TIMES * T)
    on, moved = subject.once(_both, knobs.rows)  # [rows, 4T] each
    verdicts, panels, more = (
        compared(subject, knobs.steps, knobs.seed) if knobs.steps else ([], [], [])
    )
    edges = [round(i * T / min(T, POINTS)) for i in range(TIMES * min(T, POINTS) + 1)]
    return Exhibit(
        name="length",
        title=EXHIBIT.title(),
        see=tr(
            "In training no text was longer than the block. What happens beyond it depends on the "
            "positions: a learned table has no row to look up, a clock shows times never seen, "
            "RoPE turns by angles never seen, ALiBi only takes off more points. The other way is "
            "to move a window along, which this program does when it writes: at the end of the "
            "block the last half is read anew as if the text began there."
        ),
        verdicts=[_beyond(on, moved, T, learned), _more_helps(on, T), *verdicts],
        panels=[
            Curves(
                title=tr("loss by position, mean of {n} stretches of text", n=len(on)),
                x=np.array([(a + b - 1) / 2 for a, b in pairwise(edges)]),
                lines={
                    tr("reading on"): means(on, edges),
                    tr("window moved along"): means(moved, edges),
                },
                x_label=tr("position"),
                y_label=tr("nats a token"),
                marks={tr("block"): float(T)},
            ),
            Table(
                title=tr("loss by block"),
                columns=[tr("position"), tr("reading on"), tr("window moved along")],
                rows=[
                    [
                        f"{block * T}–{(block + 1) * T - 1}",
                        word(on[:, block * T : (block + 1) * T]),
                        word(moved[:, block * T : (block + 1) * T]),
                    ]
                    for block in range(TIMES)
                ],
            ),
            *panels,
        ],
        notes=[*notes, *more],
    )


def _both(subject: Subject, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Losses reading on, and with a window moved along: [rows, 4T] each, nan where there is none.

    At most ``most`` rows, fewer if the model is large.
    """
    assert subject.dataset is not None
    model, T = subject.model, subject.model.config.block_size
    work = 2 * model.config.products * TIMES * T * 2.5  # reading on, and the windows beside it
    rows = max(2, min(most, int(WORK / work)))
    tokens, _ = _text(subject.dataset, TIMES * T)
    ids = stretches(tokens, rows, TIMES * T, subject.tokenizer.end_id)  # [rows, 4T + 1]
    reach = T if model.config.position == "learned" else TIMES * T
    with evaluating(model):
        on = torch.stack([_reading_on(model, row, reach) for row in ids])
        moved = torch.stack([_moving(model, row, T) for row in ids])
    return on.double().numpy(), moved.double().numpy()


def _text(dataset: Dataset, length: int) -> tuple[Tokens, list[str]]:
    """Held-out text if there is enough of it, else that of training."""
    if dataset.val.n_tokens >= length:
        return dataset.val, [tr("text the model has not learned from: {name}", name=dataset.name)]
    if dataset.train.n_tokens >= length:
        return dataset.train, [
            tr(
                "text the model may have learned from, as too little was held out: {name}",
                name=dataset.name,
            )
        ]
    raise UserError(
        tr(
            "{name} has fewer than {n} tokens, four blocks of this model; name a longer text by "
            "--on",
            name=dataset.name,
            n=length,
        )
    )


def _losses(model: GPT, ids: Tensor) -> Tensor:
    """-ln p of each next token: ids [B, n + 1] → [B, n]."""
    hidden = model.hidden(ids[:, :-1])  # [B, n, C]
    logits = hidden @ model.unembedding.T  # [B, n, V]
    chosen = logits.gather(-1, ids[:, 1:, None])[..., 0]
    return logits.float().logsumexp(dim=-1) - chosen


def _reading_on(model: GPT, ids: Tensor, reach: int) -> Tensor:
    """One pass over ``reach`` tokens of ids [n + 1]; [n], nan beyond."""
    losses = torch.full((len(ids) - 1,), math.nan)
    losses[:reach] = _losses(model, ids[None, : reach + 1])[0]
    return losses


def _moving(model: GPT, ids: Tensor, T: int) -> Tensor:
    """Each window keeps the last half (rounded down) of the one before; ids [n + 1] → [n]."""
    losses = torch.full((len(ids) - 1,), math.nan)
    losses[:T] = _losses(model, ids[None, : T + 1])[0]
    for done in range(T, len(losses), T - T // 2):
        start = done - T // 2
        part = _losses(model, ids[None, start : start + T + 1])[0]
        losses[start + T // 2 : start + len(part)] = part[T // 2 :]
    return losses


def _beyond(on: np.ndarray, moved: np.ndarray, T: int, learned: bool) -> Verdict:
    claim = tr("beyond its block the model reads on as well as with a window moved along")
    if learned:
        return Verdict(
            claim, tr("position {n} has no row: the learned table ends before it", n=T), False
        )
    worse = (on[:, T:] - moved[:, T:]).mean(axis=1)  # [rows], nats a token
    mean, error = float(worse.mean()), _error(worse)
    return Verdict(
        claim,
        tr("{mean} ± {error} nats a token more", mean=f"{mean:+.3f}", error=f"{error:.3f}"),
        not (mean > WORSE and mean > 2 * error),
    )


def _more_helps(on: np.ndarray, T: int) -> Verdict:
    claim = tr("within the block, the more stands before a token, the easier it is to guess")
    if T < 4:
        return Verdict(claim, tr("the block is too short to tell"), None)
    early, late = on[:, : T // 4].mean(axis=1), on[:, T // 2 : T].mean(axis=1)  # [rows]
    gain, error = float((early - late).mean()), _error(early - late)
    return Verdict(
        claim,
        tr(
            "first quarter {early}, second half {late} nats a token",
            early=f"{early.mean():.3f}",
            late=f"{late.mean():.3f}",
        ),
        gain > 2 * error if abs(gain) > 2 * error else None,
    )


def _error(values: np.ndarray) -> float:
    """Standard error of the mean."""
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


EXHIBIT = Definition(
    name="length",
    spec="D11",
    title=lambda: tr("Length: beyond the block of training"),
    brief=lambda: tr("loss at each position up to four blocks, reading on or moving a window"),
    texts=("床前明月光", "To be, or not to be"),
    show=show,
    knobs=LengthKnobs,
    needs_dataset=True,
)
