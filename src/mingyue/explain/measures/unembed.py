"""From the residual stream to scores: what a vector that was added to it says about each token.

The final norm divides the stream by one number and multiplies each dimension by a weight; then
the unembedding compares it with each token. All but the division is linear: a sum of vectors says
the sum of what they say. ``scale`` is that one number, taken as it was and held fast.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mingyue.model.gpt import GPT
from mingyue.model.loss import IGNORED, SLICE


def readers(model: GPT, tokens: Tensor | None = None) -> Tensor:
    """The directions [n, C] of the stream that raise the scores of ``tokens`` [n]; all if None.

    ``stream @ direction / scale`` is the score, but for ``constant``.
    """
    rows = model.unembedding if tokens is None else model.unembedding[tokens]
    assert isinstance(model.norm.weight, Tensor)
    directions = rows.float() * model.norm.weight.float()  # [n, C]
    if isinstance(model.norm, nn.LayerNorm):  # which takes the stream's mean away
        directions = directions - directions.mean(dim=-1, keepdim=True)
    return directions


def constant(model: GPT, tokens: Tensor) -> Tensor:
    """What the final norm's bias adds to the scores of ``tokens``, [n]; 0 for RMSNorm."""
    bias = model.norm.bias if isinstance(model.norm, nn.LayerNorm) else None
    rows = model.unembedding[tokens].float()
    return rows.new_zeros(len(rows)) if bias is None else rows @ bias.float()


def lens(model: GPT, stream: Tensor) -> Tensor:
    """Log-probabilities of the next token if the stream were read here: [..., C] → [..., V]."""
    return F.linear(model.norm(stream), model.unembedding).float().log_softmax(dim=-1)


def token_losses(last: Tensor, unembedding: Tensor, targets: Tensor) -> Tensor:
    """-ln p of each target, 0 where it is ``IGNORED``: last [..., C], targets [...] → [...].

    ``last`` comes from the final norm. Scores are made a slice at a time, which stays near the
    processor: in half the time.
    """
    rows = max(1, SLICE // 2 // len(unembedding))
    parts = zip(last.flatten(0, -2).split(rows), targets.flatten().split(rows), strict=True)
    found = [
        F.cross_entropy(F.linear(x, unembedding).float(), y, reduction="none", ignore_index=IGNORED)
        for x, y in parts
    ]
    return torch.cat(found).view(targets.shape)


def onward(model: GPT, stream: Tensor, layer: int) -> Tensor:
    """The last stream [B, T, C], from the stream as ``layer`` finds it.

    Where a stream was changed, only the layers above are computed again.
    """
    view = model.view(0, stream.shape[1])
    for block in model.blocks[layer:]:
        stream = block(stream, view)
    return stream
