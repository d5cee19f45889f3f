"""How sharp the shares are that softmax makes, and whether it can still learn."""

import numpy as np
from torch import Tensor

from mingyue.language import tr

ENOUGH = 0.05
"""A change of the largest share that is worth the name."""


def words() -> tuple[str, str, str]:
    """What is measured, by name."""
    return tr("largest share"), tr("entropy"), tr("gradient")


def measures_of(pattern: Tensor) -> np.ndarray:
    """Mean over heads and rows of [L, H, T, S]: largest share, entropy, gradient; [3, L].

    The slope of share i in score j is p_i (δ_ij - p_j); the squares of all of them add up to
    Σp² - 2Σp³ + (Σp²)².
    """
    p = pattern.double()
    largest = p.amax(dim=-1)
    entropy = -(p * p.clamp(min=1e-300).log()).sum(dim=-1)
    square, cube = (p**2).sum(dim=-1), (p**3).sum(dim=-1)
    gradient = (square - 2 * cube + square**2).clamp(min=0).sqrt()
    return np.stack([m.mean(dim=(1, 2)).numpy() for m in (largest, entropy, gradient)])
