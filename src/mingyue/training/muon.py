"""Muon: steps of equal size in every direction a matrix can move (Jordan et al. 2024).

The gradient of a weight matrix is dominated by a few directions (its large singular values);
the many small ones, where rare things are learned, hardly move. Muon keeps the directions of
the momentum, UΣVᵀ, and drops its Σ: the update is UVᵀ, which turns every direction alike.

An exact SVD is slow. An odd polynomial applied to the matrix acts on its singular values alone,
and a few quintic ones, aX + b(XXᵀ)X + c(XXᵀ)²X, push them all towards 1 with nothing but matrix
products (Newton–Schulz). The coefficients below are best possible for five such steps when the
singular values lie between 0.001 and 1: Polar Express (Amsel, Persson, Musco & Gower 2025,
arXiv:2505.16932, algorithm 1), divided by their safety factor 1.01, 1.01³, 1.01⁵.

What is done about speed: matrices of one shape (tall ones lying down) are stacked and go through
one batched product instead of many small ones. Wide stacks that the model fuses for its own
speed are cut into their parts first, since Q, K and V, or gate and up, are different maps and
each should turn in all of *its* directions; that also makes most shapes equal.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SAFETY = 1.01
POLAR_EXPRESS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
)


def orthogonalise(stack: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Every matrix of ``stack`` [N, R, C] with its singular values brought close to 1.

    Needs R ≤ C (else the transpose is the cheaper side). Works in ``dtype``. Singular values of
    at least 0.001 of the Frobenius norm end between 0.85 and 1.15, smaller ones below that;
    a matrix of zeros stays zero.
    """
    norm = torch.linalg.matrix_norm(stack, keepdim=True)  # [N, 1, 1] ≥ the largest singular value
    X = (stack / (norm * SAFETY + 1e-7)).to(dtype)
    for a, b, c in POLAR_EXPRESS:
        a, b, c = a / SAFETY, b / SAFETY**3, c / SAFETY**5
        A = X @ X.mT  # [N, R, R]
        B = torch.baddbmm(A, A, A, beta=b, alpha=c)  # bA + cA²
        X = torch.baddbmm(X, B, X, beta=a)  # aX + (bA + cA²)X
    return X


@dataclass(frozen=True)
class Part:
    """A run of rows of one weight, stepped as a matrix of its own."""

    name: str  # of the parameter
    parameter: nn.Parameter  # [rows of all parts, C]
    start: int
    rows: int

    def of(self, tensor: Tensor) -> Tensor:
        """This part of a tensor of the parameter's shape, lying down (no more rows than
        columns); a view."""
        part = tensor[self.start : self.start + self.rows]
        return part.mT if self.rows > tensor.shape[1] else part


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
            for part, weight, update in zip(
                group.parts, group.weights, updates.unbind(), strict=True
            ):
                if self.weight_decay:
                    weight.mul_(1 - rate * self.weight_decay)
                scale = max(1.0, part.rows / part.parameter.shape[1]) ** 0.5
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
