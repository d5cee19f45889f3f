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
from mingyue.explain.measures.sample import AT_ONCE, stretches
from mingyue.explain.measures.unembed import token_losses
from mingyue.explain.numbers import with_error
from mingyue.explain.panels import Curves, Table
from mingyue.explain.progress import told
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
        notes=[
            tr("the text named above plays no part: stretches of the model's own text are read"),
            *notes,
            *more,
        ],
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
        parts = told(ids.split(max(1, AT_ONCE // (TIMES * T))), tr("reading on"))
        both = [(_reading_on(model, part, reach), _moving(model, part, T)) for part in parts]
    on, moved = (torch.cat(losses).double().numpy() for losses in zip(*both, strict=True))
    return on, moved


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


def _losses(model: GPT, ids: Tensor, first: int = 0) -> Tensor:
    """-ln p of each next token but the ``first`` ones: ids [B, n + 1] → [B, n - first]."""
    last = model.hidden(ids[:, :-1])[:, first:]  # [B, n - first, C]
    return token_losses(last, model.unembedding, ids[:, first + 1 :])


def _reading_on(model: GPT, ids: Tensor, reach: int) -> Tensor:
    """One pass over ``reach`` tokens of ids [B, n + 1]; [B, n], nan beyond."""
    losses = torch.full(ids[:, 1:].shape, math.nan)
    losses[:, :reach] = _losses(model, ids[:, : reach + 1])
    return losses


def _moving(model: GPT, ids: Tensor, T: int) -> Tensor:
    """Each window keeps the last half (rounded down) of the one before; ids [B, n + 1] → [B, n]."""
    losses, kept = torch.full(ids[:, 1:].shape, math.nan), T // 2
    losses[:, :T] = _losses(model, ids[:, : T + 1])
    for done in range(T, losses.shape[1], T - kept):
        window = ids[:, done - kept : done - kept + T + 1]
        losses[:, done : done + T - kept] = _losses(model, window, kept)
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
        tr("{change} nats a token more", change=with_error(mean, error, "+")),
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
            "first quarter {early}, second half {late}: {gain} nats a token less",
            early=f"{early.mean():.3f}",
            late=f"{late.mean():.3f}",
            gain=with_error(gain, error),
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
