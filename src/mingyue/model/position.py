"""Where a token stands (article: 位置编码).

A weighted sum does not care about the order of its terms: without positions 狗咬人 and 人咬狗
look alike to unmasked attention. Four ways to say where a token is:

- ``learned``     a second table, row *p* added to the token at position *p* (GPT-1 to GPT-3).
                  Past its last row there is nothing to look up.
- ``sinusoidal``  the row is computed, from clock hands of many speeds (Vaswani et al. 2017, §3.5).
- ``rope``        nothing is added; queries and keys are turned by an angle that grows with the
                  position, so that their product depends on the distance only (Su et al. 2021).
- ``alibi``       nothing is added; distant keys lose points (Press et al. 2022).
"""

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mingyue.errors import UserError
from mingyue.language import tr
from mingyue.model.config import ModelConfig


class ContextFull(UserError):
    """The sequence has reached the last position that this model has a row for."""


class LearnedPosition(nn.Module):
    """A table ``weight`` [block_size, C], learned like the token table."""

    def __init__(self, block_size: int, d_model: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(block_size, d_model))

    def forward(self, start: int, n: int) -> Tensor:
        """Rows ``start`` to ``start + n``, [n, C].

        Raises:
            ContextFull: past the last row, which is all a learned table can say.
        """
        block_size = self.weight.shape[0]
        if start + n > block_size:
            raise ContextFull(
                tr(
                    "this model has learned positions for {limit} tokens (block_size) "
                    "and none beyond; position {wanted} has no row",
                    limit=block_size,
                    wanted=start + n,
                )
            )
        return self.weight[start : start + n]


class SinusoidalPosition(nn.Module):
    """Computed rows: dimensions 2i and 2i+1 are the hands of one clock, sin and cos."""

    table: Tensor  # [rows so far, C]

    def __init__(self, d_model: int):
        super().__init__()
        self.d_model = d_model
        # One slow buffer instead of a formula per call: rows are made once and kept.
        self.register_buffer("table", torch.empty(0, d_model), persistent=False)

    def forward(self, start: int, n: int) -> Tensor:
        """Rows ``start`` to ``start + n``, [n, C], divided by √C.

        The paper multiplies the token vectors by √C before it adds the clock. Dividing the
        clock instead keeps the same proportion between the two, and lets the token table
        serve as the output layer too.
        """
        if start + n > self.table.shape[0]:
            with torch.inference_mode(False):  # the table outlives this call: training may follow
                self.table = sinusoid(_rows(start + n), self.d_model).to(self.table)
        return self.table[start : start + n] / math.sqrt(self.d_model)


def sinusoid(n: int, d_model: int) -> Tensor:
    """PE(p, 2i) = sin(p / 10000^(2i/C)), PE(p, 2i+1) = cos(same); [n, C] (Vaswani 2017, §3.5)."""
    position = torch.arange(n, dtype=torch.float64)[:, None]  # [n, 1]
    speed = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)  # [C/2]
    angle = position * speed  # [n, C/2]
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()


def _rows(wanted: int) -> int:
    """How many rows to make when ``wanted`` are asked for: the next power of two."""
    return 2 ** math.ceil(math.log2(wanted))


class Rotation(NamedTuple):
    """How far each position turns each pair of dimensions."""

    cos: Tensor  # [T, R], R = rotary width; both halves hold the same R/2 angles
    sin: Tensor  # [T, R]

    def turn(self, x: Tensor) -> Tensor:
        """Turn the first R dimensions of queries or keys, [B, H, T, D] → same shape.

        Dimensions i and i + R/2 are one pair, the two coordinates of a point in a plane.
        """
        return _Turn.apply(x, self.cos.to(x.dtype), self.sin.to(x.dtype))


class _Turn(torch.autograd.Function):
    """Turning as few passes over memory; the way back turns by the opposite angle."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return turned(x, cos, sin)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return turned(gradients[0], cos, -sin), None, None


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [..., T, D] with its first R dimensions turned: (a, b) → (a·cos - b·sin, b·cos + a·sin)."""
    width, half = cos.shape[-1], cos.shape[-1] // 2
    a, b, still = x[..., :half], x[..., half:width], x[..., width:]
    out = torch.cat((x[..., :width] * cos, still), dim=-1) if still.shape[-1] else x * cos
    out[..., :half].addcmul_(b, sin[..., :half], value=-1)
    out[..., half:width].addcmul_(a, sin[..., half:])
    return out


class RotaryPosition(nn.Module):
    """The angles of RoPE, made once for as many positions as were asked for."""

    cos: Tensor  # [rows so far, R]
    sin: Tensor

    def __init__(self, config: ModelConfig):
        super().__init__()
        self.frequency, self.magnitude = rotary_frequencies(config)
        self.register_buffer("cos", torch.empty(0, config.rotary_width), persistent=False)
        self.register_buffer("sin", torch.empty(0, config.rotary_width), persistent=False)

    def forward(self, start: int, n: int) -> Rotation:
        """The turns of positions ``start`` to ``start + n``."""
        if start + n > self.cos.shape[0]:
            with torch.inference_mode(False):
                position = torch.arange(_rows(start + n), dtype=torch.float32)[:, None]
                angle = position * self.frequency  # [rows, R/2]
                angle = torch.cat((angle, angle), dim=-1)  # [rows, R]
                # The cosine last: another thread that sees so many rows of it finds both.
                self.sin = (angle.sin() * self.magnitude).to(self.sin)
                self.cos = (angle.cos() * self.magnitude).to(self.cos)
        return Rotation(self.cos[start : start + n], self.sin[start : start + n])


def rotary_frequencies(config: ModelConfig) -> tuple[Tensor, float]:
    """Radians per position for each of R / 2 pairs, and a factor on queries and keys.

    Pair i turns by base^(-2i/R) a position (Su et al. 2021, eq. 15). Scaling slows the
    turning, so that ``factor`` times as many positions fit into the angles seen in training.
    """
    rope, width = config.rope, config.rotary_width
    exponent = torch.arange(0, width, 2, dtype=torch.float32, device="cpu") / width
    frequency = 1 / config.rotary_base**exponent  # [R/2]
    if rope.scaling == "linear":
        return frequency / rope.factor, 1.0
    if rope.scaling == "yarn":
        return _yarn(frequency, config)
    if rope.scaling == "llama3":
        return _llama3(frequency, config), 1.0
    return frequency, 1.0


def _llama3(frequency: Tensor, config: ModelConfig) -> Tensor:
    """Llama 3.1: pairs that turn ``high_turns`` times or more within the original length stay,
    those with ``low_turns`` or less are slowed by ``factor``, the others lie between."""
    rope = config.rope
    turns = config.rotary_length * frequency / (2 * math.pi)
    kept = ((turns - rope.low_turns) / (rope.high_turns - rope.low_turns)).clamp(0, 1)
    return frequency * kept + frequency / rope.factor * (1 - kept)


def _yarn(frequency: Tensor, config: ModelConfig) -> tuple[Tensor, float]:
    """YaRN (Peng et al. 2023, §3.2–3.4): pairs that turn more than 32 times within the original
    length stay, those that turn less than once are slowed by ``factor``, a ramp lies between;
    and cos and sin grow a little, which sharpens the softmax as longer rows need."""
    rope, width, length = config.rope, config.rotary_width, config.rotary_length

    def pair_with_turns(turns: float) -> float:
        return width * math.log(length / (turns * 2 * math.pi)) / (2 * math.log(rope.base))

    low = max(math.floor(pair_with_turns(32)), 0)
    high = min(math.ceil(pair_with_turns(1)), width - 1)
    pair = torch.arange(width // 2, dtype=torch.float32, device="cpu")
    slowed = ((pair - low) / max(high - low, 0.001)).clamp(0, 1)  # 0 keep … 1 slow down
    mixed = frequency * (1 - slowed) + frequency / rope.factor * slowed
    return mixed, 0.1 * math.log(rope.factor) + 1.0 if rope.factor > 1 else 1.0


def alibi_slopes(n_head: int) -> Tensor:
    """Points lost per token of distance, one number a head, [H] (Press et al. 2022, §3).

    A geometric sequence from 2^(-8/n); head counts that are no power of two fill up with
    every other slope of the next larger power.
    """
    power = 2 ** math.floor(math.log2(n_head))
    slopes = [2 ** (-8 * (i + 1) / power) for i in range(power)]
    between = [2 ** (-8 * (i + 0.5) / power) for i in range(power)]
    return torch.tensor(slopes + between[: n_head - power], device="cpu")
