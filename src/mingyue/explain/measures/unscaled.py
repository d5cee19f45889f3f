"""Two small models trained alike, one of which does not divide its scores by √d."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.rehearsal import Excerpt, at_once, rehearse, small
from mingyue.explain.measures.sharpness import ENOUGH, measures_of, words
from mingyue.explain.numbers import with_error
from mingyue.explain.panels import Curves, Panel, Table
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.attention import attend_readably
from mingyue.model.block import Block
from mingyue.model.gpt import GPT
from mingyue.model.position import Rotation

WORSE = 0.01
"""Nats a token that are worth being called worse."""


@dataclass(frozen=True)
class _Pair:
    """Of the model with 1/√d, then of the one without."""

    width: int  # d
    losses: np.ndarray  # [2, steps]
    held: Tensor  # [2, rows, T] losses on text held back
    fresh: tuple[Tensor, Tensor]  # patterns before training, [L, rows · H, T, T] each
    trained: tuple[Tensor, Tensor]  # and after


@lru_cache(maxsize=4)
def _pair(excerpt: Excerpt, steps: int, seed: int) -> _Pair:
    """Both begin with the same weights. QK-norm is off: it would bound the scores by itself."""
    models = small(excerpt, seed, qk_norm=False), small(excerpt, seed, qk_norm=False)
    unscale(models[1])
    rows = excerpt.check()
    fresh = _patterns(models[0], rows), _patterns(models[1], rows)
    losses = rehearse(models, excerpt, steps, seed)
    return _Pair(
        models[0].config.head_width,
        losses,
        torch.stack([at_once(model, rows) for model in models]),
        fresh,
        (_patterns(models[0], rows), _patterns(models[1], rows)),
    )


def compared(
    subject: Subject, steps: int, seed: int
) -> tuple[list[Verdict], list[Panel], list[str]]:
    """What becomes of the two: verdicts, panels, notes."""
    excerpt = Excerpt.of(subject)
    both = _pair(excerpt, steps, seed)
    fresh, trained = (
        np.stack([measures_of(pattern).mean(axis=1) for pattern in patterns])
        for patterns in (both.fresh, both.trained)
    )  # [2 models, 3 measures] each
    worse = (both.held[1] - both.held[0]).flatten()  # nats a token
    mean, error = float(worse.mean()), float(worse.std() / math.sqrt(len(worse)))
    names = [tr("with 1/√d"), tr("without 1/√d")]
    verdicts = [
        Verdict(
            tr("trained without 1/√d, a small model's shares are sharper"),
            tr(
                "the largest share of a row {before} with it, {after} without",
                before=f"{trained[0, 0]:.2f}",
                after=f"{trained[1, 0]:.2f}",
            ),
            bool(trained[1, 0] > trained[0, 0] + ENOUGH),
        ),
        Verdict(
            tr("and it learns worse"),
            tr("{change} nats a token more", change=with_error(mean, error, "+")),
            mean > 0 if abs(mean) > max(2 * error, WORSE) else None,
        ),
    ]
    panels: list[Panel] = [
        Table(
            title=tr(
                "two small models, d = {d}, before and after {n} steps", d=both.width, n=steps
            ),
            columns=[tr("model"), tr("step"), *words(), tr("nats a token")],
            rows=[
                [name, step, *(float(m) for m in measures[i]), loss]
                for i, name in enumerate(names)
                for step, measures, loss in (
                    (0, fresh, "–"),
                    (steps, trained, f"{float(both.held[i].mean()):.3f}"),
                )
            ],
        ),
        Curves(
            title=tr("training loss of two small models, alike but for 1/√d"),
            x=np.arange(1, steps + 1, dtype=float),
            lines=dict(zip(names, both.losses, strict=True)),
            x_label=tr("step"),
            y_label=tr("nats a token"),
        ),
    ]
    return verdicts, panels, [excerpt.about()]


def unscale(model: GPT) -> None:
    """Undo the division in all its layers: every query is √d times as long."""
    for block in model.blocks:
        assert isinstance(block, Block)
        block.attention.project = partial(_longer, block.attention.project)


def _longer(
    project: Callable[..., tuple[Tensor, Tensor, Tensor]],
    x: Tensor,
    rotation: Rotation | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = project(x, rotation)
    return q * math.sqrt(q.shape[-1]), k, v


@torch.no_grad()
def _patterns(model: GPT, ids: Tensor) -> Tensor:
    """All layers' attention on the rows ids [B, T + 1], less their last token; [L, B·H, T, T]."""
    ids = ids[:, :-1]
    x, view = model.embedding(ids), model.view(0, ids.shape[1])
    found = []
    for block in model.blocks:
        assert isinstance(block, Block)
        cards = block.attention.project(block.norm_1(x), view.rotation)
        found.append(attend_readably(*cards, view).pattern.flatten(0, 1))
        x = block(x, view)
    return torch.stack(found)
