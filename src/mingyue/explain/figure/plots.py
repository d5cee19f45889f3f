"""Curves, bars, and points in a plane."""

import math
from typing import Any

import numpy as np

from mingyue.explain.figure.lists import MANY_ROWS, with_rest
from mingyue.explain.figure.sheet import Part, Sheet, inches
from mingyue.explain.numbers import column, number
from mingyue.explain.panels import Bars, Curves, Scatter, page_of


def curves(panel: Curves, sheet: Sheet) -> Part:
    key = 0.24 * math.ceil(len(panel.lines) / 5)

    def draw(y: float) -> None:
        axes = _plot(sheet, y + key + 0.05, 2.9, panel.x_label, panel.y_label)
        few = len(panel.x) <= 24
        for i, (name, values) in enumerate(panel.lines.items()):
            colour = sheet.theme.lines[i % len(sheet.theme.lines)]
            dash = ("-", "--", ":", "-.")[i // len(sheet.theme.lines) % 4]
            look = {"color": colour, "linestyle": dash, "linewidth": 1.8}
            axes.plot(panel.x, values, label=name, **look, marker="o" if few else "", markersize=4)
        axes.set_xscale("log" if panel.log_x else "linear")
        axes.set_yscale("log" if panel.log_y else "linear")
        if not panel.log_x and (panel.x == np.round(panel.x)).all():
            axes.xaxis.get_major_locator().set_params(integer=True)  # there is no layer 1.5
        axes.minorticks_off()
        if panel.log_x and few and panel.x.max() < 100 * panel.x.min():
            axes.set_xticks(panel.x)  # else there may be one power of ten, or none
        for axis in (axes.xaxis, axes.yaxis):
            if axis.get_scale() == "log" or max(axis.get_view_interval()) >= 10_000:
                axis.set_major_formatter(lambda value, _: number(float(value)))
        for name, x in panel.marks.items():
            axes.axvline(x, color=sheet.theme.faint, linewidth=0.9, linestyle=(0, (4, 3)))
            where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
            style = {"fontsize": 8.5, "color": sheet.theme.faint, "va": "top"}
            style["bbox"] = {"facecolor": sheet.theme.paper, "linewidth": 0, "pad": 1, "alpha": 0.8}
            axes.annotate(name, (x, 1), xytext=(4, -2), **where, **style)
        _key(axes, sheet)

    return Part(key + 3.55, draw)


def bars(panel: Bars, sheet: Sheet) -> Part:
    values = page_of(panel)[0][:MANY_ROWS]
    kinds = [(panel.unit, values), *((n, v[:MANY_ROWS]) for n, v in panel.beside.items())]
    left = 0.15 + max((inches(name, 9) for name in panel.names[:MANY_ROWS]), default=0)
    left = min(left, sheet.inner / 2)
    row = 0.25 + 0.12 * (len(kinds) - 1)
    key = 0.25 if panel.beside or panel.unit else 0

    def draw(y: float) -> None:
        axes = sheet.axes(left, y + key, sheet.inner - left - 0.7, row * len(values))
        thick = 0.72 / len(kinds)
        for i, (name, numbers) in enumerate(kinds):
            places = np.arange(len(values)) + (i - (len(kinds) - 1) / 2) * thick
            look = {"color": sheet.theme.lines[i % len(sheet.theme.lines)], "label": name or None}
            drawn = axes.barh(places, np.nan_to_num(numbers), height=thick * 0.9, **look)
            words = column(np.asarray(numbers, dtype=float).tolist())
            style = {"fontsize": 8, "color": sheet.theme.faint, "padding": 4}
            axes.bar_label(drawn, labels=words, **style)
        axes.margins(x=0.12 if any((v < 0).any() for _, v in kinds) else 0)
        axes.set_ylim(len(values) - 0.5, -0.5)
        axes.set_xticks([])
        axes.set_yticks(range(len(values)), panel.names[:MANY_ROWS])
        axes.axvline(0, color=sheet.theme.line, linewidth=1)
        if key:
            _key(axes, sheet)

    return with_rest(key + row * len(values), draw, len(panel.names) - MANY_ROWS, sheet)


def scatter(panel: Scatter, sheet: Sheet) -> Part:
    groups = list(dict.fromkeys(panel.groups))
    key = 0.24 * math.ceil(len(groups) / 5) if len(groups) > 1 else 0

    def draw(y: float) -> None:
        axes = _plot(sheet, y + key + 0.05, 4.8, panel.x_label, panel.y_label)
        axes.margins(0.06)
        of_point = np.array(panel.groups)
        for i, group in enumerate(groups):
            x, height = panel.points[of_point == group].T
            colour = sheet.theme.lines[i % len(sheet.theme.lines)]
            axes.scatter(x, height, s=22, color=colour, label=group, linewidths=0, alpha=0.85)
        if len(panel.names) <= 150:
            _name_points(axes, panel, sheet)
        if key:
            _key(axes, sheet)

    return Part(key + 5.45, draw)


def _name_points(axes: Any, panel: Scatter, sheet: Sheet) -> None:
    """Each name beside its point, at the place where it covers least of points and other names."""
    axes.autoscale_view()  # else done when it is drawn, and the points are not yet in place
    places = axes.transData.transform(panel.points) / axes.figure.dpi  # [n, 2] in inches
    edge = np.array(axes.bbox.extents).reshape(2, 2) / axes.figure.dpi
    tall, dot = 0.14, 0.05
    taken = [(x - dot, y - dot, x + dot, y + dot) for x, y in places.tolist()]
    for name, point, (x, y) in zip(panel.names, panel.points, places.tolist(), strict=True):
        wide = inches(name, 9)
        corners = [
            (x + right, y + up)  # of the name's box, its lower left one
            for far in (0, 0.1, 0.22)
            for right, up in (
                *((dot + far, 0), (-dot - far - wide, 0), (-wide / 2, dot + far)),
                *((-wide / 2, -dot - far - tall), (dot + far, far), (dot + far, -far - tall)),
                *((-dot - far - wide, far), (-dot - far - wide, -far - tall)),
            )
        ]
        boxes = [(left, low, left + wide, low + tall) for left, low in corners]
        best = boxes[int(np.argmin(_covered(np.array(boxes), np.array(taken), edge)))]
        taken.append(best)
        shift = ((best[0] - x) * 72, (best[1] - y) * 72)
        style = {"fontsize": 9, "color": sheet.theme.ink, "va": "bottom"}
        axes.annotate(name, point, xytext=shift, textcoords="offset points", **style)


def _covered(boxes: np.ndarray, taken: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """How much each box [n, 4] covers of those taken [m, 4], or is outside of the plot; [n]."""
    low = np.maximum(boxes[:, None, :2], taken[:, :2])  # [n, m, 2]
    high = np.minimum(boxes[:, None, 2:], taken[:, 2:])
    covered = (high - low).clip(min=0).prod(axis=-1).sum(axis=-1)
    outside = (edge[0] - boxes[:, :2]).clip(min=0) + (boxes[:, 2:] - edge[1]).clip(min=0)
    return covered + outside.sum(axis=-1)


def _plot(sheet: Sheet, y: float, height: float, x_label: str, y_label: str) -> Any:
    axes = sheet.axes(0.65, y, sheet.inner - 0.65, height)
    axes.grid(color=sheet.theme.line, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_xlabel(x_label, color=sheet.theme.faint, fontsize=9)
    axes.set_ylabel(y_label, color=sheet.theme.faint, fontsize=9)
    return axes


def _key(axes: Any, sheet: Sheet) -> None:
    """Which colour is which, above the plot."""
    style = {"frameon": False, "labelcolor": sheet.theme.ink, "fontsize": 9}
    size = {"handlelength": 1.2, "columnspacing": 1.4, "borderaxespad": 0.2, "ncols": 5}
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), **style, **size)
