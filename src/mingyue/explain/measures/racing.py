"""A fresh GPT and a fresh LSTM of one width, to take the time of.

What a pass costs does not depend on what was learned. The tables are left out: they are the same
for both.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import nn

from mingyue.model.config import ModelConfig
from mingyue.model.language_model import LanguageModel
from mingyue.model.making import make_model

LAYERS, WIDTH = 2, 128
"""No more than so many, so that it takes no long time."""


def runners(config: ModelConfig, longest: int) -> dict[str, LanguageModel]:
    """Both with the layers and the width of ``config``, as far as that is not too much."""
    width = max(2, min(config.d_model, WIDTH))
    sizes = {
        "vocab_size": 256,
        "block_size": longest,
        "n_layer": max(1, min(config.n_layer, LAYERS)),
        "d_model": width,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        heads = width // 32 if width % 32 == 0 else 1
        return {
            "GPT": make_model(ModelConfig.checked(**sizes, n_head=heads)),
            "LSTM": make_model(ModelConfig.checked(**sizes, kind="lstm")),
        }


def weights(model: LanguageModel) -> list[nn.Parameter]:
    """All that a pass multiplies with or adds, the tables left out."""
    return [w for name, w in model.named_parameters() if not name.startswith(("emb", "head"))]


def reading(model: LanguageModel, rows: int, length: int) -> Callable[[], object]:
    """One pass over ``rows`` rows of ``length`` tokens."""
    ids = torch.zeros(rows, length, dtype=torch.long)

    @torch.no_grad()
    def read() -> object:
        return model.hidden(ids)

    return read


def learning(model: LanguageModel, rows: int, length: int) -> Callable[[], object]:
    """One pass there and back, as in training."""
    ids = torch.zeros(rows, length, dtype=torch.long)
    learned = weights(model)

    @torch.enable_grad()
    def learn() -> object:
        return torch.autograd.grad(model.hidden(ids).sum(), learned)

    return learn


def spread(runs: np.ndarray, form: str) -> str:
    """The median, and how far apart the runs lie, each number written as ``form`` says."""
    median, least, most = (format(n, form) for n in (np.median(runs), runs.min(), runs.max()))
    return f"{median} ({least} – {most})"


def seconds(computes: dict[str, Callable[[], object]], repeats: int) -> dict[str, np.ndarray]:
    """How long each takes, ``repeats`` times, ascending; they take turns, so that a busy moment
    of the machine meets all."""
    taken: dict[str, list[float]] = {name: [] for name in computes}
    for compute in computes.values():
        compute()  # what is made only once is made now
    for _ in range(repeats):
        for name, compute in computes.items():
            start = time.perf_counter()
            compute()
            taken[name].append(time.perf_counter() - start)
    return {name: np.sort(times) for name, times in taken.items()}
