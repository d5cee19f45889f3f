"""A matrix made ready for a processor that multiplies few rows with it, again and again.

Writing one token multiplies a single vector with every matrix of the model. That costs little
arithmetic and much reading: all weights pass through the processor once a token, and how fast
they can be read is how fast the model writes. So it counts in which order they lie in memory, and
how many bits each has:

``fp32``  the same numbers, in the order in which the processor's matrix product takes them
``fp16``  half the bits, three digits of each number; what they multiply stays fp32
``bf16``  half the bits, two digits; for processors that multiply them as they are
``int8``  a quarter: each row of the matrix is whole numbers up to 127 times one scale

Training needs the weights as they are, so this is a copy; it does not follow when they change.
A row of a product never depends on the other rows: a text is the same whoever else is written.
"""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

Precision = Literal["fp32", "fp16", "bf16", "int8"]

Multiply = Callable[[Tensor], Tensor]
"""x [B, in] → x · weightᵀ + bias [B, out]. It takes fp32 or the ``vector_type``, and gives what
its kernel gives."""

_MANY_ROWS = 32  # of x; the order that is best for so many is also best for one
_STRIDE = 32  # the kernel of whole numbers reads so many at a time, and never a part of them


def vector_type(precision: Precision) -> torch.dtype:
    """The type in which vectors are kept for long, as keys and values are."""
    narrow = precision in ("bf16", "int8") and torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if narrow else torch.float32


def pack(weight: Tensor, bias: Tensor | None, precision: Precision) -> Multiply:
    """A product with ``weight`` [out, in] and its ``bias`` [out]."""
    weight, bias = weight.detach(), None if bias is None else bias.detach()
    match precision:
        case "fp32":
            return _in_blocks(weight, bias)
        case "fp16":
            return _halves(weight, bias)
        case "bf16":
            return _short_halves(weight, bias)
        case "int8":
            return _whole_numbers(weight, bias)


def _in_blocks(weight: Tensor, bias: Tensor | None) -> Multiply:
    if not torch.backends.mkldnn.is_available():
        columns = weight.t().contiguous()  # [in, out]: the product is a sum of whole rows
        if bias is None:
            return lambda x: torch.mm(x, columns)
        return lambda x: torch.addmm(bias, x, columns)
    blocks = torch.ops.mkldnn._reorder_linear_weight(weight, _MANY_ROWS)
    linear = torch.ops.mkldnn._linear_pointwise.default
    return lambda x: linear(x, blocks, bias, "none", [], "")


def _halves(weight: Tensor, bias: Tensor | None) -> Multiply:
    if "fbgemm" in torch.backends.quantized.supported_engines:
        packed = torch.ops.quantized.linear_prepack_fp16(weight, bias)
        linear = torch.ops.quantized.linear_dynamic_fp16.default
        return lambda x: linear(x, packed)
    weight, bias = weight.half(), None if bias is None else bias.half()
    return lambda x: F.linear(x.half(), weight, bias).float()


def _short_halves(weight: Tensor, bias: Tensor | None) -> Multiply:
    weight, bias = weight.bfloat16(), None if bias is None else bias.bfloat16()
    if vector_type("bf16") == torch.bfloat16:
        product = _in_blocks(weight, bias)
        return lambda x: product(x.bfloat16())
    return lambda x: F.linear(x.bfloat16(), weight, bias)


def _whole_numbers(weight: Tensor, bias: Tensor | None) -> Multiply:
    whole, scale = rounded(weight)
    if weight.shape[1] % _STRIDE:
        plain = _in_blocks(whole * scale[:, None], bias)
        return lambda x: plain(x.float())
    scale, product = scale.bfloat16(), torch.ops.aten._weight_int8pack_mm.default
    if bias is None:
        return lambda x: product(x.bfloat16(), whole, scale)
    return lambda x: product(x.bfloat16(), whole, scale) + bias


def rounded(weight: Tensor) -> tuple[Tensor, Tensor]:
    """Whole numbers [out, in] int8 and a scale for each row [out]: weight ≈ whole · scale."""
    # The scale is used in bf16; rounding it first makes the whole numbers fit the one that is used.
    scale = (weight.abs().amax(dim=1) / 127).clamp(min=1e-12).bfloat16().float()  # [out]
    return (weight / scale[:, None]).round().clamp(-127, 127).to(torch.int8), scale
