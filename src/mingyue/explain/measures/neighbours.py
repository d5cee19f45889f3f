"""Which rows of a table of vectors point the same way."""

from torch import Tensor
from torch.nn import functional as F


def nearest(table: Tensor, row: int, among: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k of ``among`` [n] whose rows of ``table`` [V, C] have the largest cosine with that of
    ``row``, the largest first, and the cosines."""
    rows = F.normalize(table.float(), dim=1)
    best = (rows[among] @ rows[row]).topk(min(k, len(among)))
    return among[best.indices], best.values
