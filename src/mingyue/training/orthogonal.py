"""The nearest matrix that turns and does not stretch: UΣVᵀ becomes UVᵀ, without an SVD.

An odd function applied to a matrix acts on its singular values alone, so a function that is near
1 on all of them is enough. Both ways here reach 0.82 … 1.18, which is as good as exact for Muon.

``newton_schulz``  five polynomials aX + b(XXᵀ)X + c(XXᵀ)²X, nothing but matrix products, which
                   bear few bits: for bf16, and for devices that do nothing else as fast. The
                   coefficients are best possible for five steps from 0.001: Polar Express (Amsel,
                   Persson, Musco & Gower 2025, arXiv:2505.16932, algorithm 1), divided by their
                   safety factor 1.01, 1.01³, 1.01⁵.
``zolotarev``      one rational function, sX + Σ w(XXᵀ + pI)⁻¹X, best possible with two terms
                   from 0.0015 (Zolotarev 1877; for matrices: Nakatsukasa & Freund 2016). Two small
                   inverses and two products do what takes fifteen products above; they need fp32.
"""

import torch
from torch import Tensor

SAFETY = 1.01
POLAR_EXPRESS = (
    (8.28721201814563, -23.595886519098837, 17.300387312530933),
    (4.107059111542203, -2.9478499167379106, 0.5448431082926601),
    (3.9486908534822946, -2.908902115962949, 0.5518191394370137),
    (3.3184196573706015, -2.488488024314874, 0.51004894012372),
    (2.300652019954817, -1.6689039845747493, 0.4188073119525673),
)

SCALE = 0.9967381213691087
WEIGHT_POLE = (
    (0.007550852429837484, 1.2097115121274206e-05),
    (0.17086536006323186, 0.00729116454827109),
)
"""w and p of each term: residues and poles of the function, worked out with elliptic functions."""
EXCESS = 1.07
"""By so much more than Newton–Schulz's do singular values come out of it on average. The rates
were fitted with Newton–Schulz, so it is taken off (docs/lab-log.md)."""


def orthogonalise(stack: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """Every matrix of ``stack`` [N, R, C] with its singular values brought close to 1.

    Calculates in ``dtype``. Singular values of at least 0.0015 of the largest end near
    1, smaller ones below that; a matrix of zeros stays zero.
    """
    tall = stack.shape[1] > stack.shape[2]
    lying = stack.mT if tall else stack  # R ≤ C: XXᵀ is the smaller square
    if dtype == torch.float32 and stack.device.type == "cpu":
        X = zolotarev(lying) / EXCESS
    else:
        X = newton_schulz(lying, dtype)
    return X.mT if tall else X


def newton_schulz(stack: Tensor, dtype: torch.dtype) -> Tensor:
    """For [N, R, C] with R ≤ C, by products alone."""
    norm = torch.linalg.matrix_norm(stack, keepdim=True)  # [N, 1, 1] ≥ the largest singular value
    X = (stack / (norm * SAFETY + 1e-7)).to(dtype)
    for a, b, c in POLAR_EXPRESS:
        a, b, c = a / SAFETY, b / SAFETY**3, c / SAFETY**5
        A = X @ X.mT  # [N, R, R]
        B = torch.baddbmm(A, A, A, beta=b, alpha=c)  # bA + cA²
        X = torch.baddbmm(X, B, X, beta=a)  # aX + (bA + cA²)X
    return X


def zolotarev(X: Tensor) -> Tensor:
    """For [N, R, C] with R ≤ C, by two inverses."""
    A = X @ X.mT  # [N, R, R]
    # The norm of XXᵀ bounds its largest eigenvalue, more tightly than that of X would.
    norm = torch.linalg.matrix_norm(A, keepdim=True).clamp(min=1e-30)  # [N, 1, 1]
    A = A / norm
    root = torch.zeros_like(A)  # becomes (XXᵀ)^-½, nearly
    root.diagonal(dim1=-2, dim2=-1).fill_(SCALE)
    for weight, pole in WEIGHT_POLE:
        shifted = A.clone()
        shifted.diagonal(dim1=-2, dim2=-1).add_(pole)  # positive definite
        root.add_(torch.cholesky_inverse(torch.linalg.cholesky_ex(shifted)[0]), alpha=weight)
    return (root / norm.sqrt()) @ X
