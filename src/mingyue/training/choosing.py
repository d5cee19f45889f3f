"""From what was asked to a whole recipe: the dial's choices, each with its reason."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import torch

from mingyue.data.batches import largest_block
from mingyue.data.dataset import Dataset
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.training import law
from mingyue.training.budget import LOOKING, MARGIN
from mingyue.training.config import TrainConfig
from mingyue.training.dial import Dial, Rung
from mingyue.training.ladder import ladder
from mingyue.training.loop import out_of_memory
from mingyue.training.observe import Choice, Observer
from mingyue.training.recipe import Asked, Recipe
from mingyue.training.told import told
from mingyue.training.trial import Speed, Way, try_out, ways

OPEN = ("d_model", "n_layer", "n_head", "block_size", "vocab_size")
"""What the dial may choose of a model."""
CLOSING = 1.0
"""Seconds kept for the first steps and the last write."""


def choose(
    recipe: Recipe,
    asked: Asked,
    data: Dataset,
    device: torch.device,
    now: Callable[[], float],
    observer: Observer,
) -> tuple[Recipe, Callable[[], list[Choice]]]:
    """Settle what was not asked for, by a run of ``recipe.train.minutes``; and a function that
    tells what was chosen, in the language in force when it is called.

    ``now`` tells the seconds since the command was given.
    """
    config, vocab_size = recipe.train, data.tokenizer.vocab_size
    assert config.minutes is not None
    if not data.train.n_tokens or recipe.model.get("vocab_size", vocab_size) != vocab_size:
        return recipe, list  # nothing will come of this, and what is next says why
    end = config.minutes * 60 * (1 - LOOKING - MARGIN) - CLOSING
    dial = Dial(
        unique=data.train.n_tokens,
        seconds=lambda: end - now(),
        measure=partial(_measure, config, data, device),
        ways=ways(device, config.threads, config.precision),
        rows=config.batch_size if "batch_size" in asked.train else None,
        epochs=config.epochs,
    )
    observer.on_progress(tr("measuring this machine"), 0.0)
    free_block = "block_size" not in asked.model
    longest = max(1, largest_block(data.train))
    shortest = law.block_size(_document_length(data), 0.0)
    block = min(longest, shortest) if free_block else recipe.model["block_size"]
    fixed = {k: v for k, v in recipe.model.items() if k not in OPEN or k in asked.model}
    seen = dial.climb(ladder(fixed, vocab_size, block))
    if not seen:  # no rung is possible with what was asked; the model as asked will say why
        return recipe, list
    best = min(seen, key=lambda rung: rung.loss)
    if free_block:
        wanted = min(longest, law.block_size(_document_length(data), best.tokens))
        if wanted != block:
            best = dial.consider(best.model.changed(block_size=wanted))
    chosen = _settled(recipe, asked, best)
    return chosen, partial(told, chosen, asked, best, seen)


def _measure(
    config: TrainConfig,
    data: Dataset,
    device: torch.device,
    model: ModelConfig,
    rows: int,
    possible: Sequence[Way],
) -> list[Speed]:
    """A few steps of it; what does not fit into memory is endlessly slow."""
    try:
        return try_out(model, config.changed(batch_size=rows), data, device, possible)
    except (RuntimeError, MemoryError) as error:
        if not out_of_memory(error):
            raise
        return [Speed(math.inf, possible[0])]


def _document_length(data: Dataset) -> float:
    """Nine in ten documents are no longer, in tokens."""
    return float(np.quantile(np.diff(data.train.offsets), 0.9))


def _settled(recipe: Recipe, asked: Asked, best: Rung) -> Recipe:
    """The recipe with all that was left open filled in."""
    model = {**recipe.model, **best.model.model_dump(mode="json")}
    if "vocab_size" not in recipe.model:
        del model["vocab_size"]
    factor = law.rate(best.batch)
    train: dict[str, Any] = {
        "batch_size": best.rows,
        "threads": best.way.threads,
        "precision": best.way.precision,
        **{
            name: float(f"{getattr(recipe.train, name) * factor:.3g}")
            for name in ("learning_rate", "matrix_rate", "embedding_rate")
            if getattr(recipe.train, name) is not None
        },
    }
    if best.capped:
        train["epochs"] = float(f"{best.tokens / best.unique:.3g}")
    train = {name: value for name, value in train.items() if name not in asked.train}
    return replace(recipe, model=model, train=recipe.train.changed(**train))
