"""Numbers as words, the same in every sentence and every drawing: 12,288, 0.0312, 1.9e-5.

A difference of nothing at all is said to be exactly 0, for a rounded 0.0 could be anything small.
"""

import math
from collections.abc import Sequence

from mingyue.language import tr


def number(value: float) -> str:
    """In as few signs as tell it: four digits, whole ones in full, very small ones by powers."""
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "-∞")
    size = abs(value)
    if size >= 1e9 or 0 < size < 1e-3:
        return short_power(f"{value:.1e}")
    if size >= 9999.5:
        return f"{value:,.0f}"
    return f"{value:.4g}"


def deviation(value: float) -> str:
    """By how much two numbers differ that should be equal, in two digits."""
    if value == 0:
        return tr("exactly 0")
    return f"{value:.2g}" if 1e-3 <= abs(value) < 10 else number(value)


def percent(share: float) -> str:
    """A probability that does not look like none or like all unless it is."""
    if share in (0, 1):
        return f"{share:.0%}"
    if share > 0.9995:
        return ">99.9%"
    if share >= 1e-3:
        return f"{share:.1%}"
    return f"{float(f'{100 * share:.1g}'):f}".rstrip("0") + "%" if share >= 1e-7 else "<0.00001%"


def with_error(mean: float, error: float, sign: str = "") -> str:
    """A mean and its error in as many decimals: one digit of the error, two if it is a 1."""
    if not (math.isfinite(error) and error > 0):
        return f"{sign if mean > 0 else ''}{number(mean)} ± {number(error)}"
    decimals = min(max(0, math.ceil(-math.log10(error / 2))), 6)
    return f"{mean:{sign}.{decimals}f} ± {error:.{decimals}f}"


def column(values: Sequence[float]) -> list[str]:
    """Numbers under each other, with as many decimals each; those that would lose all but one
    digit by that have their own way."""
    sizes = [abs(float(v)) for v in values if math.isfinite(v)]
    if all(size.is_integer() for size in sizes):
        return [number(v) for v in values]
    decimals = 4 - min(max(math.ceil(math.log10(max(sizes))), 0), 3)
    return [
        f"{v:,.{decimals}f}" if math.isfinite(v) and abs(v) >= 10 ** (1 - decimals) else number(v)
        for v in map(float, values)
    ]


def short_power(text: str) -> str:
    """Without idle zeros and signs in the power: 1.9e-05 is 1.9e-5."""
    digits, _, power = text.partition("e")
    return f"{digits}e{int(power)}"
