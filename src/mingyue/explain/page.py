"""Exhibits as one HTML file that opens offline: interactive, in one language or both.

The file holds everything: style, script, and the exhibits as JSON. Arrays are packed (base64 of
their bytes), each once, so that the second language costs no more than its words; a number keeps
every bit, and -inf and nan stay what they are. What it looks like is in ``assets``.
"""

import base64
import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from mingyue import language
from mingyue.explain.colours import hexes, limits, ramp, theme
from mingyue.explain.exhibit import Exhibit
from mingyue.explain.panels import Matrix, Paged, Scale, Strip
from mingyue.language import Language, tr, translated
from mingyue.text.files import write_atomic

LOCALES: dict[Language, str] = {"en": "en", "zh": "zh-Hans"}
_SCALES: tuple[Scale, ...] = ("share", "signed", "size")
_SCRIPTS = (
    *("data", "elements", "colours", "tip"),  # what every drawing needs
    *("turning", "cells", "matrix", "plots", "curves", "lists"),  # a kind of panel each
    *("exhibits", "scrub", "start"),  # the whole; the last one begins
)
_N_COLOURS = 65  # of a ramp; the page blends between them


def save(
    exhibits: Mapping[Language, Sequence[Exhibit]], path: str | Path, steps: Sequence[int] = ()
) -> None:
    """Write the page; ``exhibits`` are the same ones in each language, one language will do.

    With ``steps`` they are one exhibit at so many steps of training, to scrub through.

    Raises:
        UserError: it cannot be written.
    """
    write_atomic(path, render(exhibits, steps).encode())


def render(exhibits: Mapping[Language, Sequence[Exhibit]], steps: Sequence[int] = ()) -> str:
    """The page. What stands in the head is in the language in force now, if the page has it."""
    here = language.current() if language.current() in exhibits else next(iter(exhibits))
    words: dict[Language, dict[str, str]] = {each: _words(each) for each in exhibits}
    first = exhibits[here]
    title = first[0].title if len(first) == 1 or steps else words[here]["title"]
    whole = pack(exhibits, words) | {"steps": list(steps)}
    data = json.dumps(whole, ensure_ascii=False, separators=(",", ":"))
    return f"""<!doctype html>
<html lang="{LOCALES[here]}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{html.escape(title)}</title>
<style>
{_inks()}
{_asset("page.css")}
</style>
</head>
<body>
<noscript>{html.escape(words[here]["noscript"])}</noscript>
<div id="app"></div>
<script type="application/json" id="data">{_inside_script(data)}</script>
<script>
{_script()}
</script>
</body>
</html>
"""


def pack(
    exhibits: Mapping[Language, Sequence[Exhibit]], words: Mapping[Language, Mapping[str, str]]
) -> dict[str, Any]:
    """All that the page needs, as JSON; an array is ``{"array": its place in "arrays"}``."""
    arrays: dict[tuple[str, tuple[int, ...], bytes], int] = {}

    def array(values: np.ndarray) -> dict[str, int]:
        with np.errstate(over="ignore"):
            exact = values.astype(np.float32)
        kind = "<f4" if np.array_equal(exact, values, equal_nan=True) else "<f8"
        key = (kind, values.shape, values.astype(kind).tobytes())
        return {"array": arrays.setdefault(key, len(arrays))}

    def placed(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return array(value)
        if isinstance(value, Mapping):
            return {name: placed(item) for name, item in value.items()}
        return value

    def packed(exhibit: Exhibit) -> dict[str, Any]:
        """The exhibit's own JSON, with places instead of arrays."""
        panels: list[Any] = [replace(panel, **placed(vars(panel))) for panel in exhibit.panels]
        plain = replace(exhibit, panels=panels).to_json()
        for panel, into in zip(exhibit.panels, plain["panels"], strict=True):
            if isinstance(panel, Matrix | Strip):
                into["limits"] = limits(panel.values, panel.scale)
        return plain

    languages = {
        each: {
            "lang": LOCALES[each],
            "words": words[each],
            "names": _names(of_language, each),
            "exhibits": [packed(exhibit) for exhibit in of_language],
        }
        for each, of_language in exhibits.items()
    }
    return {
        "languages": languages,
        "ramps": {
            name: {scale: hexes(ramp(scale, dark, _N_COLOURS)) for scale in _SCALES}
            for name, dark in (("light", False), ("dark", True))
        },
        "arrays": [
            {"kind": kind, "shape": shape, "bytes": base64.b64encode(raw).decode()}
            for kind, shape, raw in arrays
        ],
    }


def _words(of: Language) -> dict[str, str]:
    """The page's own words in a language."""
    with language.speaking(of):
        return {
            "title": tr("A look inside the model"),
            "brief": tr("Every number here was computed from this model."),
            "contents": tr("Contents"),
            "light": tr("Light"),
            "dark": tr("Dark"),
            "holds": tr("borne out by this model"),
            "fails": tr("not borne out by this model"),
            "open": tr("cannot be told here"),
            "all": tr("All at once: choose one"),
            "empty": tr("empty"),
            "step": tr("step of training"),
            "keys": tr("Point at it, or use the arrow keys, to read the values."),
            "noscript": tr("This page draws its figures with JavaScript; please allow it."),
        }


def _names(exhibits: Sequence[Exhibit], of: Language) -> dict[str, str]:
    """What the kinds of pages are called in a language."""
    with language.speaking(of):
        panels = [panel for exhibit in exhibits for panel in exhibit.panels]
        return {
            name: translated(name)
            for panel in panels
            if isinstance(panel, Paged)
            for name in panel.pages
        }


def _inks() -> str:
    """The colours of both themes as variables of the style sheet."""

    def variables(dark: bool) -> str:
        of = vars(theme(dark)).copy()
        lines = of.pop("lines")
        of |= {f"line-{i}": colour for i, colour in enumerate(lines)}
        return " ".join(f"--{name}: {colour};" for name, colour in of.items())

    light, dark = variables(False), variables(True)
    return f""":root {{ color-scheme: light; {light} }}
@media (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}
:root[data-theme="light"] {{ color-scheme: light; {light} }}
:root[data-theme="dark"] {{ color-scheme: dark; {dark} }}"""


def _script() -> str:
    """The page's program: its files one after another, as one script with one set of names."""
    return '"use strict";\n' + "\n".join(_asset(f"page/{name}.js") for name in _SCRIPTS)


def _asset(name: str) -> str:
    return (files("mingyue.explain") / "assets" / name).read_text(encoding="utf-8")


def _inside_script(text: str) -> str:
    """JSON that cannot end the script element it stands in (``<`` occurs only in its strings)."""
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
