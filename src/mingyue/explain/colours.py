"""Numbers as colours: one palette and three ramps, for light paper and for dark.

A ramp should not invent edges: equal steps of a number should look like equal steps. So its
anchors are given in OKLCH (lightness, strength, hue, as the eye has them), joined by straight
lines in OKLab, and walked at constant speed. The low end of a ramp is close to the paper and yet
to be told from it, since an empty cell is left as bare paper.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from mingyue.explain.panels import Scale

Anchor = tuple[float, float, float]  # lightness 0…1, chroma, hue in degrees


@dataclass(frozen=True, kw_only=True)
class Theme:
    """The colours of everything that is no number."""

    paper: str
    card: str  # of what lies on the paper: code, buttons
    ink: str
    faint: str  # captions, ticks
    line: str
    good: str
    bad: str
    unsure: str
    lines: tuple[str, ...]  # curves, bars, groups of points


_RAMPS: dict[bool, dict[Scale, list[Anchor]]] = {
    False: {
        "share": [(0.950, 0.010, 245), (0.78, 0.08, 235), (0.55, 0.13, 255), (0.29, 0.10, 275)],
        "size": [(0.950, 0.015, 90), (0.83, 0.10, 78), (0.60, 0.16, 42), (0.31, 0.10, 18)],
        "signed": [
            *[(0.36, 0.11, 258), (0.66, 0.12, 242), (0.950, 0.006, 90)],
            *[(0.68, 0.15, 40), (0.39, 0.13, 25)],
        ],
    },
    True: {
        "share": [(0.270, 0.015, 260), (0.44, 0.10, 265), (0.68, 0.12, 235), (0.94, 0.05, 200)],
        "size": [(0.270, 0.015, 50), (0.43, 0.11, 28), (0.68, 0.15, 55), (0.95, 0.07, 95)],
        "signed": [
            *[(0.85, 0.08, 220), (0.56, 0.11, 245), (0.270, 0.006, 260)],
            *[(0.58, 0.15, 32), (0.86, 0.10, 65)],
        ],
    },
}
_HUES = (255, 38, 155, 320, 85, 205, 285, 0)  # neighbours far apart


@cache
def theme(dark: bool) -> Theme:
    """Warm rice paper, or the night."""
    lightness, chroma = (0.76, 0.12) if dark else (0.56, 0.14)
    lines = tuple(hexes(_rgb(_oklab([(lightness, chroma, hue) for hue in _HUES]))))
    if dark:
        return Theme(
            paper="#16181d",
            card="#1e2128",
            ink="#e6e3dc",
            faint="#a0a2a9",
            line="#343842",
            good="#74c69d",
            bad="#f0917a",
            unsure="#d8b964",
            lines=lines,
        )
    return Theme(
        paper="#fbfaf6",
        card="#f3f1ea",
        ink="#24272e",
        faint="#666970",
        line="#dedad0",
        good="#26734f",
        bad="#ae3f28",
        unsure="#7d611a",
        lines=lines,
    )


@cache
def ramp(scale: Scale, dark: bool, n: int = 256) -> np.ndarray:
    """The colours of a scale from its low to its high end, [n, 3] with red, green, blue 0…1."""
    path = _oklab(_RAMPS[dark][scale])
    dense = np.linspace(0, len(path) - 1, 1000)
    dense = np.stack([np.interp(dense, range(len(path)), axis) for axis in path.T], axis=1)
    way = np.concatenate([[0], np.linalg.norm(np.diff(dense, axis=0), axis=1).cumsum()])
    if scale == "signed":  # zero is in the middle, and each half has its own speed
        middle = np.argmin(np.abs(np.linspace(0, 1, 1000) - 0.5))
        way = np.concatenate(
            [
                way[:middle] / way[middle] / 2,
                0.5 + (way[middle:] - way[middle]) / (way[-1] - way[middle]) / 2,
            ]
        )
    even = np.linspace(0, way[-1], n)
    return _rgb(np.stack([np.interp(even, way, axis) for axis in dense.T], axis=1))


def limits(values: np.ndarray, scale: Scale) -> tuple[float, float]:
    """The numbers at both ends of the ramp, the same for all pages so that they compare."""
    finite = values[np.isfinite(values)].astype(float)
    if scale == "share":
        return 0.0, 1.0
    if scale == "signed":
        most = float(np.abs(finite).max(initial=0)) or 1.0
        return -most, most
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    return low, high if high > low else low + 1.0


def hexes(colours: np.ndarray) -> list[str]:
    """[n, 3] as #rrggbb."""
    return ["#" + bytes(row).hex() for row in np.rint(colours * 255).astype(np.uint8)]


def _oklab(anchors: list[Anchor]) -> np.ndarray:
    l, c, h = np.array(anchors, dtype=float).T  # noqa: E741
    return np.stack([l, c * np.cos(np.radians(h)), c * np.sin(np.radians(h))], axis=1)


def _rgb(lab: np.ndarray) -> np.ndarray:
    """OKLab to sRGB (Björn Ottosson's matrices), clipped to what a screen can show."""
    cones = lab @ np.array(
        [[1, 1, 1], [0.3963378, -0.1055613, -0.0894842], [0.2158038, -0.0638542, -1.2914855]]
    )
    linear = cones**3 @ np.array(
        [
            [4.0767417, -1.2684380, -0.0041961],
            [-3.3077116, 2.6097574, -0.7034186],
            [0.2309699, -0.3413194, 1.7076147],
        ]
    )
    linear = linear.clip(0, 1)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
