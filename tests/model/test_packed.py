"""Matrices made ready: the same products, within what the narrower numbers can hold."""

from typing import get_args

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from mingyue.model.packed import Precision, pack, rounded, vector_type

# The largest error of a product, as a share of |x|·|weight| summed over its terms.
BOUND = {"fp32": 1e-6, "fp16": 2**-10, "bf16": 2**-6, "int8": 2**-6 + 1 / 127}


@pytest.mark.parametrize("precision", get_args(Precision))
@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([1, 2, 7, 33]),
    st.sampled_from([1, 3, 30, 64, 96]),
    st.sampled_from([1, 5, 64, 130]),
    st.booleans(),
    st.integers(0, 1000),
)
def test_the_same_product(
    precision: Precision, rows: int, n_in: int, n_out: int, biased: bool, seed: int
) -> None:
    """Whatever the shape: kernels that read several numbers at once must not read beyond."""
    torch.manual_seed(seed)
    weight, x = torch.randn(n_out, n_in), torch.randn(rows, n_in)
    bias = torch.randn(n_out) if biased else None
    y = pack(weight, bias, precision)(x.to(vector_type(precision)))
    # int8 errs by half a step of a row's largest number, however small the others are.
    widest = weight.abs().amax(dim=1, keepdim=True).expand_as(weight)
    terms = x.abs() @ (widest if precision == "int8" else weight.abs()).T
    terms = terms + (0 if bias is None else bias.abs())
    assert ((y.float() - F.linear(x, weight, bias)).abs() <= BOUND[precision] * terms).all()


@pytest.mark.parametrize("precision", get_args(Precision))
def test_a_row_does_not_depend_on_the_others(precision: Precision) -> None:
    """So a stream is the same whoever else is in the batch; to rounding in fp32 sums."""
    torch.manual_seed(0)
    x = torch.randn(33, 64) * torch.logspace(-3, 3, 33)[:, None]  # none may set another's scale
    product = pack(torch.randn(130, 64), None, precision)
    x = x.to(vector_type(precision))
    together = product(x).float()
    alone = torch.cat([product(row[None]) for row in x]).float()
    slack = 1e-5 if vector_type(precision) == torch.float32 and precision != "bf16" else 2**-7
    error = (together - alone).abs().amax(dim=1) / alone.abs().amax(dim=1)
    assert error.max() <= (2**-7 if precision == "int8" else slack)


@given(st.integers(0, 1000), st.sampled_from([1e-6, 1.0, 1e4]))
def test_rounding_by_half_a_step_at_most(seed: int, size: float) -> None:
    weight = torch.randn(9, 40, generator=torch.Generator().manual_seed(seed)) * size
    whole, scale = rounded(weight)
    assert whole.dtype == torch.int8 and whole.abs().max() <= 127
    # A scale that bf16 rounded down makes the largest number of a row clip at 127 of them.
    error = (weight - whole * scale[:, None]).abs().amax(dim=1)
    assert (error <= 0.5 * scale * (1 + 1e-4) + 127 * scale * 2**-8).all()


def test_a_row_of_zeros_stays_zero() -> None:
    whole, scale = rounded(torch.zeros(2, 32))
    assert not whole.any() and (scale > 0).all()
    assert not pack(torch.zeros(2, 32), None, "int8")(
        torch.ones(1, 32, dtype=vector_type("int8"))
    ).any()
