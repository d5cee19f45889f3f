"""How large a step may be, as a pure function of its number.

Both schedules start with a *warm-up*: the rate grows evenly from nearly nothing, because the
first gradients of a random model point anywhere. After that

- ``cosine`` (Loshchilov & Hutter 2016) falls along half a cosine wave to the end;
- ``wsd``, warm-up–stable–decay (Hu et al. 2024, MiniCPM), stays at the full rate and falls in
  a straight line over the last part only. As long as it is stable the end may be moved freely,
  which suits a training that must end on time.

All results are shares of the full rate, in (0, 1].
"""

import math
from typing import Literal

Schedule = Literal["wsd", "cosine"]


def warmup_steps(total: int | None, warmup: int) -> int:
    """Steps of the warm-up: as asked, but never more than half of all."""
    return warmup if total is None else min(warmup, total // 2)


def decay_start(total: int, schedule: Schedule, warmup: int, decay_fraction: float) -> int:
    """The first step whose rate depends on ``total``."""
    warm = warmup_steps(total, warmup)
    if schedule == "cosine":
        return warm
    return max(warm, total - round(decay_fraction * total))


def rate(
    step: int,
    total: int | None,
    *,
    schedule: Schedule = "wsd",
    warmup: int = 0,
    decay_fraction: float = 0.4,
    final_rate: float = 0.0,
) -> float:
    """The share of the full learning rate at ``step`` (from 0) of ``total``.

    ``total`` None means that the end is not known yet: warm up, then stay. At the last step,
    ``total - 1``, the rate is one decay step above ``final_rate``; no step is wasted at zero.
    """
    warm = warmup_steps(total, warmup)
    if step < warm:
        return (step + 1) / (warm + 1)
    if total is None:
        return 1.0
    start = decay_start(total, schedule, warmup, decay_fraction)
    if step < start or start >= total:
        return 1.0
    left = max(0.0, (total - step) / (total - start))  # 1 at the start of the decay, 0 at total
    shape = left if schedule == "wsd" else 0.5 * (1 - math.cos(math.pi * left))
    return final_rate + (1 - final_rate) * shape
