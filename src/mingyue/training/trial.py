"""How fast a model learns on this machine: real steps of it, timed and thrown away.

No table of processors says what a step costs here today, beside whatever else is running. A few
steps tell, with the same model, batches and optimizer that the run would have.

The ways to calculate are tried too. Work that is cut into pieces for two cores is done when the
slower one is done: small models, and busy machines, are quicker on one thread. Narrow numbers
(bf16) multiply faster where the processor knows them, but cost casts.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import NamedTuple

import torch

from mingyue.data.batches import Batches
from mingyue.data.dataset import Dataset
from mingyue.model.config import ModelConfig
from mingyue.model.making import make_model
from mingyue.training.compiling import plain
from mingyue.training.config import TrainConfig
from mingyue.training.optimizer import Optimizer, build_optimizer
from mingyue.training.precision import LossScale, Precision, autocast, precisions, product_dtype
from mingyue.training.step import learn

COLD, LEAST, MOST = 2, 2, 12
"""Steps to warm up, and the least and most that are timed …"""
ENOUGH = 0.1
"""… within about so many seconds."""
HOPELESS = 3.0
"""A way whose first steps take so much longer than those of another is not tried further."""


class Way(NamedTuple):
    """How to calculate."""

    threads: int
    precision: Precision


class Speed(NamedTuple):
    """How long a step takes in one way."""

    seconds: float
    way: Way


def try_out(
    model: ModelConfig,
    config: TrainConfig,
    data: Dataset,
    device: torch.device,
    ways: Sequence[Way],
) -> list[Speed]:
    """Learn for a moment in each of the ``ways``."""
    learner = make_model(model).to(device).train()
    batches = Batches(
        data.train,
        batch_size=config.batch_size,
        block_size=model.block_size,
        seed=config.seed,
        end_id=data.tokenizer.end_id,
    )
    forward = plain(learner)

    def seconds(step: int, optimizer: Optimizer, precision: Precision) -> float:
        begun = time.perf_counter()
        x, y = (torch.from_numpy(a).to(device) for a in batches.batch(step))
        learn(
            forward,
            optimizer,
            x,
            y,
            share=1e-3,  # a model that comes to nothing must not become infinite either
            clip=config.clip,
            scale=LossScale.of(precision),
            micro_batch=config.micro_batch,
            autocast=lambda: autocast(device, precision),
        )
        return time.perf_counter() - begun

    found: list[Speed] = []
    for way in ways:
        optimizer = build_optimizer(learner, config, product_dtype(way.precision))
        with threads_of_torch(way.threads):
            times = [seconds(0, optimizer, way.precision)]
            if found and times[0] > 10 * HOPELESS * min(found).seconds:
                found.append(Speed(times[0], way))
                continue
            times = [seconds(step, optimizer, way.precision) for step in range(COLD)]
            if not found or min(times) < HOPELESS * min(found).seconds:
                times = []
            while len(times) < LEAST or (sum(times) < ENOUGH and len(times) < MOST):
                times.append(seconds(len(times), optimizer, way.precision))
        found.append(Speed(median(times), way))
    return found


def ways(device: torch.device, threads: int | None, precision: str) -> list[Way]:
    """What is worth trying: the threads that torch would use, or one; each precision that the
    processor knows. What is asked for is the only one of its kind."""
    usual = threads or torch.get_num_threads()
    counts = [1, usual] if threads is None and device.type == "cpu" and usual > 1 else [usual]
    return [Way(count, precise) for precise in precisions(precision, device) for count in counts]


@contextmanager
def threads_of_torch(count: int | None) -> Iterator[None]:
    """So many threads for a while; None: as it is."""
    before = torch.get_num_threads()
    if count is not None and count != before:
        torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
