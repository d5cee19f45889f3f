"""What heads cost, counted: the same width in 1, 2, 4 … heads, and channels beside them."""

import torch
from torch import nn

from mingyue.errors import UserError
from mingyue.explain.exhibit import Verdict
from mingyue.explain.panels import Table
from mingyue.language import tr
from mingyue.model.config import ModelConfig
from mingyue.model.gpt import GPT

KERNEL = 3
"""Tokens that a channel of a convolution sees at once."""


def costs(config: ModelConfig) -> tuple[Table, Verdict]:
    """The model rebuilt with other numbers of heads, all as wide together as it is now.

    Every head has keys and values of its own here, and no norm for them, so that only the number
    differs. The weights are counted, not filled.
    """
    C, width = config.d_model, config.n_head * config.head_width
    rows: list[list[int]] = []
    for n in sorted({1, 2, 4, 8, 16, 32, config.n_head}):
        if width % n:
            continue
        try:
            shape = config.changed(n_head=n, n_kv_head=None, d_head=width // n, qk_norm=False)
            wide = shape.changed(d_head=width)
        except UserError:  # too narrow for RoPE, which turns pairs
            continue
        with torch.device("meta"):
            parameters = GPT(shape).count_parameters()
            channels = sum(p.numel() for p in nn.Conv1d(C, n, KERNEL, bias=False).parameters())
            full = GPT(wide).count_parameters()
        flops = shape.flops_per_token(config.block_size)
        rows.append([n, width // n, parameters, flops, full, channels])
    sizes, works = {row[2] for row in rows}, {row[3] for row in rows}
    table = Table(
        title=tr(
            "the same width in more heads: nothing grows; "
            "in more channels of a convolution over {n} tokens: it does",
            n=KERNEL,
        ),
        columns=[
            tr("heads"),
            tr("width of each"),
            tr("parameters"),
            tr("FLOPs a token"),
            tr("parameters, all of full width"),
            tr("parameters of as many channels"),
        ],
        rows=rows,
    )
    return table, Verdict(
        tr("parameters, and the operations of all products, do not grow with the number of heads"),
        tr(
            "{heads} heads: {parameters} parameters, {flops} FLOPs a token",
            heads=", ".join(str(row[0]) for row in rows),
            parameters=_one(sizes),
            flops=_one(works),
        ),
        max(len(sizes), len(works)) == 1 if len(rows) > 1 else None,
    )


def _one(numbers: set[int]) -> str:
    return f"{min(numbers):,}" if len(numbers) == 1 else f"{min(numbers):,}–{max(numbers):,}"
