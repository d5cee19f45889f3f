"""Muon: steps of equal size in every direction a matrix can move (Jordan et al. 2024).

The gradient of a weight matrix is dominated by a few directions (its large singular values);
the many small ones, where rare things are learned, hardly move. Muon keeps the directions of
the momentum, UΣVᵀ, and drops its Σ: the update is UVᵀ, which turns every direction alike.
How UVᵀ is found without the slow SVD is told in ``orthogonal.py``.

Wide stacks that the model fuses for its own speed are cut into their parts first, since Q, K and
V, or gate and up, are different maps and each should turn in all of *its* directions. Then
matrices of one shape are stacked and stepped together: few large calls instead of many small ones.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mingyue.training.orthogonal import orthogonalise


@dataclass(frozen=True)
class Part:
    """A run of rows of one weight, stepped as a matrix of its own."""

    name: str  # of the parameter
    parameter: nn.Parameter  # [rows of all parts, C]
    start: int
    rows: int

    def of(self, tensor: Tensor) -> Tensor:
        """This part of a tensor of the parameter's shape, a view [rows, C]."""
        return tensor[self.start : self.start + self.rows]


class _Group:
    """Parts of one shape, their momentum in one tensor."""

    def __init__(self, parts: list[Part]):
        self.parts = parts
        first = parts[0].of(parts[0].parameter)
        self.momentum = torch.zeros(
            len(parts), *first.shape, device=first.device, dtype=torch.float32
        )  # [N, R, C]
        self.momenta = list(self.momentum.unbind())  # views
        self.weights = [part.of(part.parameter.data) for part in parts]  # views


class Muon:
    """Momentum, made orthogonal, as the step of each matrix.

    The update of a part [out, in] is ``rate · √max(1, out/in) · UVᵀ``, so that it changes what
    comes out of the matrix by about ``rate`` whatever its shape (Jordan's scaling). Weight decay
    is decoupled (Loshchilov & Hutter 2017): ``weight · (1 - rate · weight_decay)``.
    """

    def __init__(
        self,
        parts: Iterable[Part],
        *,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ):
        self.beta, self.weight_decay, self.dtype = momentum, weight_decay, dtype
        by_shape: dict[object, list[Part]] = {}
        for part in parts:
            data = part.of(part.parameter.data)
            by_shape.setdefault((tuple(data.shape), data.device), []).append(part)
        self.groups = [_Group(parts) for parts in by_shape.values()]

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """Move every part whose parameter has a gradient; ``rate`` is the full step size."""
        for group in self.groups:
            gradients = [
                part.of(part.parameter.grad)
                if part.parameter.grad is not None
                else torch.zeros_like(momentum)
                for part, momentum in zip(group.parts, group.momenta, strict=True)
            ]
            stack = torch.stack(gradients)  # [N, R, C]
            group.momentum.lerp_(stack, 1 - self.beta)
            # Nesterov: look ahead to where the momentum will be after this gradient.
            updates = orthogonalise(stack.lerp_(group.momentum, self.beta), self.dtype).float()
            scale = max(1.0, stack.shape[1] / stack.shape[2]) ** 0.5
            for weight, update in zip(group.weights, updates.unbind(), strict=True):
                if self.weight_decay:
                    weight.mul_(1 - rate * self.weight_decay)
                weight.add_(update, alpha=-rate * scale)

    def state(self) -> dict[str, Tensor]:
        """Parameter name → momentum of the parameter's own shape; knows nothing of groups."""
        state: dict[str, Tensor] = {}
        for part, momentum in self._momenta():
            if part.name not in state:
                state[part.name] = torch.zeros_like(part.parameter.data)
            part.of(state[part.name]).copy_(momentum)
        return state

    def load(self, state: dict[str, Tensor]) -> None:
        """Take back what ``state`` gave.

        Raises:
            KeyError: when a parameter is missing.
        """
        for part, momentum in self._momenta():
            momentum.copy_(part.of(state[part.name]))

    def _momenta(self) -> Iterable[tuple[Part, Tensor]]:
        for group in self.groups:
            yield from zip(group.parts, group.momenta, strict=True)
