"""Reading on beyond the length of training: small models, alike but for their positions.

All of them read the same stretches of text, and a text has easy and hard places of its own. So
what positions are worth is measured against the model that has none, place by place.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from mingyue.data.tokens import Tokens
from mingyue.explain.exhibit import Verdict
from mingyue.explain.measures.rehearsal import BLOCK, Excerpt, at_once, rehearse, small
from mingyue.explain.measures.sample import stretches
from mingyue.explain.panels import Curves, Panel, Table
from mingyue.explain.subject import Subject
from mingyue.language import tr
from mingyue.model.config import Position

TIMES, POINTS = 4, 4
"""So many blocks are read, and so many points of a small model's curve belong to one."""

SCHEMES: Sequence[Position] = ("learned", "sinusoidal", "rope", "alibi", "none")

WORTH = 0.02
"""Nats a token that are worth the name."""


@lru_cache(maxsize=4)
def _losses(excerpt: Excerpt, steps: int, seed: int) -> np.ndarray:
    """At each position, [schemes, rows, TIMES · BLOCK]; nan where a scheme has no row."""
    models = [small(excerpt, seed, position=scheme) for scheme in SCHEMES]
    rehearse(models, excerpt, steps, seed)
    length = TIMES * BLOCK
    held = Tokens.from_documents(excerpt.held * -(-length // sum(map(len, excerpt.held))))
    ids = stretches(held, max(2, held.n_tokens // length), length, excerpt.end_id)
    found = np.full((len(models), len(ids), length), np.nan)
    for model, losses in zip(models, found, strict=True):
        reach = BLOCK if model.config.position == "learned" else length
        losses[:, :reach] = at_once(model, ids[:, : reach + 1]).numpy()
    return found


def compared(
    subject: Subject, steps: int, seed: int
) -> tuple[list[Verdict], list[Panel], list[str]]:
    """What becomes of each scheme: verdicts, panels, notes."""
    excerpt = Excerpt.of(subject)
    found = _losses(excerpt, steps, seed)
    edges = [i * BLOCK // POINTS for i in range(TIMES * POINTS + 1)]
    by_scheme = dict(zip(SCHEMES, found, strict=True))
    panels: list[Panel] = [
        Curves(
            title=tr("the same for small models, alike but for their positions"),
            x=np.array([(a + b - 1) / 2 for a, b in pairwise(edges)]),
            lines={scheme: means(losses, edges) for scheme, losses in by_scheme.items()},
            x_label=tr("position"),
            y_label=tr("nats a token"),
            marks={tr("block"): float(BLOCK)},
        ),
        Table(
            title=tr("loss by block, small models"),
            columns=[tr("position"), *SCHEMES],
            rows=[
                [
                    f"{block * BLOCK}–{(block + 1) * BLOCK - 1}",
                    *(word(losses[:, block * BLOCK : (block + 1) * BLOCK]) for losses in found),
                ]
                for block in range(TIMES)
            ],
        ),
    ]
    return [_lost(by_scheme)], panels, [excerpt.about()]


def _lost(found: dict[Position, np.ndarray]) -> Verdict:
    """Whether what a scheme gives within the block is there beyond it."""
    worth, lost, error = {}, {}, {}
    for scheme in ("sinusoidal", "rope", "alibi"):
        gain = found["none"] - found[scheme]  # [rows, TIMES · BLOCK], nats a token
        within, beyond = gain[:, :BLOCK].mean(axis=1), gain[:, BLOCK:].mean(axis=1)  # [rows]
        worth[scheme] = float(within.mean()), float(beyond.mean())
        lost[scheme] = float((within - beyond).mean())
        error[scheme] = float((within - beyond).std(ddof=1) / math.sqrt(len(gain)))
    lose = {s: lost[s] > max(WORTH, 2 * error[s]) for s in ("sinusoidal", "rope")}
    learned = all(worth[scheme][0] > WORTH for scheme in lose)
    keeps = lost["alibi"] < min(lost[scheme] for scheme in lose) / 2
    return Verdict(
        tr("what sinusoidal and RoPE gain within the block they lose beyond it; ALiBi does not"),
        tr(
            "against no positions, nats a token gained within, then beyond: {gains}",
            gains=", ".join(f"{s} {a:+.3f}, {b:+.3f}" for s, (a, b) in worth.items()),
        ),
        all(lose.values()) and keeps if learned else None,
    )


def means(losses: np.ndarray, edges: Sequence[int]) -> np.ndarray:
    """Of all rows, between each edge and the next: [rows, positions] → [edges - 1]."""
    return np.array([losses[:, a:b].mean() for a, b in pairwise(edges)])


def word(losses: np.ndarray) -> str:
    """The mean loss of a place, or that there is none."""
    mean = float(losses.mean())
    return tr("no row") if math.isnan(mean) else f"{mean:.3f}"
