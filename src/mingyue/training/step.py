"""One step of learning: predict, compare, go back, clip, move.

The text is its own teacher: for every position of a batch the model gives a probability to every
token, and the loss is minus the logarithm of the one it gave to the token that really follows
(cross-entropy, in nats). The backward pass says for each weight which way the loss falls; the
optimizer moves them all a little that way.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch
from torch import Tensor

from mingyue.model.loss import IGNORED
from mingyue.training.optimizer import Optimizer
from mingyue.training.precision import LossScale

Forward = Callable[[Tensor, Tensor], Tensor]
"""ids [B, T], targets [B, T] → mean loss over the targets that are not ``IGNORED``."""


class Step(NamedTuple):
    """What one step measured."""

    loss: float  # nats per token, before the step
    gradient_norm: float  # of all parameters as one vector, before clipping
    finite: bool  # False: nothing was moved, and nothing can be


def gradients(
    forward: Forward,
    x: Tensor,
    y: Tensor,
    *,
    micro_batch: int | None = None,
    autocast: Callable[[], AbstractContextManager[object]],
    scale: float = 1.0,
) -> Tensor:
    """Add the gradient of the batch's mean loss to the parameters; the loss, a scalar.

    x, y [B, T]. With ``micro_batch`` the rows pass in groups of that many. Each group's mean
    weighs as much as it has targets, so that the sum is the mean over the batch however it
    was cut.
    """
    targets = int((y != IGNORED).sum())
    total = torch.zeros((), device=x.device)
    size = micro_batch or len(x)
    for rows, wanted in zip(x.split(size), y.split(size), strict=True):
        counted = int((wanted != IGNORED).sum())
        if counted == 0:  # a mean over nothing is not a number
            continue
        with autocast():
            loss = forward(rows, wanted) * (counted / targets)
        (loss * scale).backward()
        total += loss.detach()
    return total


def learn(
    forward: Forward,
    optimizer: Optimizer,
    x: Tensor,
    y: Tensor,
    *,
    share: float,
    clip: float | None,
    scale: LossScale,
    micro_batch: int | None,
    autocast: Callable[[], AbstractContextManager[object]],
) -> Step:
    """One whole step on the batch x, y [B, T]; ``share`` is the schedule's part of the rate."""
    optimizer.zero_grad()
    loss = gradients(
        forward, x, y, micro_batch=micro_batch, autocast=autocast, scale=scale.value
    ).item()
    parameters = optimizer.parameters
    scale.unscale(parameters)
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    length = norm.item()
    finite = loss - loss == 0 and scale.survives(length)  # inf - inf and nan - nan are nan
    if finite and length - length == 0:
        if clip is not None:
            torch.nn.utils.clip_grads_with_norm_(parameters, clip, norm)
        optimizer.step(share)
    scale.update(length)
    return Step(loss, length, finite)
