"""Exhibits for tests of the command line: they show what they were given, and nothing is drawn."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pydantic import Field

from mingyue.cli import exhibits as listing
from mingyue.explain import catalogue
from mingyue.explain.exhibit import Definition, Exhibit, Knobs
from mingyue.explain.panels import Matrix
from mingyue.explain.subject import Subject


class ProbeKnobs(Knobs):
    query: int = Field(default=0, ge=0, le=9, description="whose question")
    words: tuple[str, ...] = Field(default=(), description="some words")


def probe_of(subject: Subject, knobs: ProbeKnobs) -> Exhibit:
    """An exhibit that shows what it was given."""
    n = len(subject.labels)
    given = f"query {knobs.query} words {'/'.join(knobs.words)} corpus {bool(subject.dataset)}"
    return Exhibit(
        name="probe",
        title="Probe",
        see=given,
        verdicts=[],
        notes=subject.notes,
        panels=[
            Matrix(
                title="values",
                values=np.arange(4)[:, None, None, None] * np.ones((4, 2, n, n)),
                rows=subject.labels,
                columns=subject.labels,
                pages={"layer": list("0123"), "head": list("01")},
            )
        ],
    )


def definition(**changed: Any) -> Definition:
    said: dict[str, Any] = {
        "name": "probe",
        "spec": "D4",
        "title": lambda: "Probe",
        "brief": lambda: "what was given",
        "texts": ("猫喜欢吃鱼", "天地玄黄"),
        "show": probe_of,
        "knobs": ProbeKnobs,
        "pages": ("layer", "head"),
    }
    return Definition(**(said | changed))


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of two exhibits."""
    both = [definition(), definition(name="corpus", spec="D8", needs_dataset=True)]
    for module in (catalogue, listing):
        monkeypatch.setattr(module, "all_exhibits", lambda: both)


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Any, ...]]]:
    """Figures and pages are not drawn but noted."""
    seen: list[tuple[Any, ...]] = []

    def save(what: Any, path: Path, **said: Any) -> None:
        seen.append((what, said))
        Path(path).write_text("drawn", encoding="utf-8")

    import mingyue.explain

    for name in ("figure", "page"):
        module = ModuleType(f"mingyue.explain.{name}")
        vars(module).update(save=save, require=lambda: None)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setattr(mingyue.explain, name, module, raising=False)
    yield seen
