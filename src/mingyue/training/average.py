"""A moving average of the weights (EMA, Polyak & Juditsky 1992).

Late in training the weights circle around a good place without reaching it; their average lies
nearer to it. The average is what gets evaluated and exported, training goes on from the weights.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class Average:
    """``decay`` is the weight of the past. In the first steps it is smaller, (1 + n) / (10 + n),
    so that the random start is soon forgotten."""

    def __init__(self, model: nn.Module, decay: float):
        self.model, self.decay = model, decay
        self.weights = {n: p.detach().clone() for n, p in model.named_parameters()}

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Take in the weights as they are after ``step`` steps."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for name, parameter in self.model.named_parameters():
            self.weights[name].lerp_(parameter, 1 - decay)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The model with averaged weights, inside the block."""
        own = {n: p.detach().clone() for n, p in self.model.named_parameters()}
        self._put(self.weights)
        try:
            yield
        finally:
            self._put(own)

    def state(self) -> dict[str, Tensor]:
        return {f"average.{n}": t for n, t in self.weights.items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        for name, tensor in self.weights.items():
            tensor.copy_(state[f"average.{name}"])

    @torch.no_grad()
    def _put(self, weights: Mapping[str, Tensor]) -> None:
        for name, parameter in self.model.named_parameters():
            parameter.copy_(weights[name])
