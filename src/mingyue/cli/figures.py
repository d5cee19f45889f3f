"""Figures and pages as files: whether one can be made, and which of the two makes it."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mingyue.cli.screen import console, visible
from mingyue.errors import UserError
from mingyue.explain.exhibit import Exhibit
from mingyue.language import Language, tr


def target(form: dict[str, Any], *, whole: bool) -> str | None:
    """Where to write, if anywhere; asked before the long work begins. ``whole``: all exhibits.

    Raises:
        UserError: the options do not fit together, another ending, or no such folder.
    """
    right, wrong = ("out", "figure") if whole else ("figure", "out")
    if wrong in form:
        raise UserError(
            tr("--{wrong} does not go with this; give --{right}", wrong=wrong, right=right)
        )
    path = form.get(right)
    if path is None:
        if whole and "json" not in form:
            raise UserError(tr("where to? give --out FILE.html (or --json)"))
        if "dark" in form:
            raise UserError(tr("--dark is about a figure; give --figure FILE too"))
        return None
    endings = (".html",) if whole else (".svg", ".png", ".html")
    suffix = Path(path).suffix.lower()
    if suffix not in endings:
        raise UserError(
            tr(
                "{path}: --{option} writes {endings}",
                path=path,
                option=right,
                endings=", ".join(endings),
            )
        )
    folder = Path(path).parent
    if not Path(path).absolute().parent.is_dir():
        raise UserError(
            tr("{path}: there is no folder {folder}; make it first", path=path, folder=folder)
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(
            tr("{path}: the folder {folder} may not be written into", path=path, folder=folder)
        )
    if Path(path).is_dir():
        raise UserError(tr("{path}: is a folder; name a file", path=path))
    if suffix != ".html":
        from mingyue.explain.figure import require

        require()
    elif "dark" in form:
        raise UserError(tr("--dark is for .svg and .png; a page is turned light or dark itself"))
    return path


def write(path: str, exhibits: Mapping[Language, Sequence[Exhibit]], *, dark: bool = False) -> None:
    """Draw into a file; what was there is replaced.

    ``exhibits`` are the same ones in each language; a still figure is of the first.
    """
    if Path(path).suffix.lower() == ".html":
        from mingyue.explain import page

        page.save(exhibits, path)
    else:
        from mingyue.explain import figure

        figure.save(next(iter(exhibits.values()))[0], path, dark=dark)


def say_written(path: str, *, errors: bool) -> None:
    """On the error stream where the output is for a program."""
    console(errors=errors).print(visible(tr("written to {path}", path=path)), soft_wrap=True)
