"""What an exhibit says can be turned is what can be turned, for the command line asks it first."""

from pathlib import Path
from typing import Any

import pytest

from mingyue.explain.catalogue import all_exhibits
from mingyue.explain.exhibit import Definition
from mingyue.explain.pages import dimensions, plain
from mingyue.explain.subject import Subject
from mingyue.generation.writer import load
from tests.explain.corpora import with_text
from tests.explain.helpers import POEM, subject
from tests.explain.test_learning import run_of

FEW = {"steps": 1, "repeats": 1, "rows": 2, "tokens": 32}
"""Of knobs for how long an exhibit takes; training 0 steps would leave panels out."""


def _subjects(definition: Definition, folder: Path) -> list[Subject]:
    if definition.needs_snapshots:
        seen = Subject.of(load(run_of(folder)), POEM, folder=folder)
        return [with_text(seen, [POEM] * 40, [POEM] * 40)]
    kinds: list[dict[str, Any]] = [{"position": each} for each in ("learned", "rope", "alibi")]
    return [with_text(subject(**kind), [POEM] * 40, [POEM] * 40) for kind in kinds]


@pytest.mark.parametrize("definition", all_exhibits(), ids=lambda definition: definition.name)
def test_declared_pages_are_those_that_are_made(definition: Definition, tmp_path: Path):
    fields = definition.knobs.model_fields
    knobs = definition.knobs(**{name: few for name, few in FEW.items() if name in fields})
    made: set[str] = set()
    for seen in _subjects(definition, tmp_path):
        made |= dimensions(definition.show(seen, knobs)).keys()
    assert made == set(definition.pages)
    assert all(plain(page) == page for page in definition.pages)
