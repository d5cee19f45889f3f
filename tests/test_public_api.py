"""``import mingyue`` costs nothing, and every name it offers is there and explained."""

import inspect
import subprocess
import sys

import pytest

import mingyue


def test_importing_loads_nothing_heavy():
    heavy = ("torch", "numpy", "tokenizers", "transformers", "pydantic", "rich", "typer")
    program = f"import sys, mingyue; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", mingyue.__all__)
def test_every_name_is_there_and_has_a_docstring(name: str):
    thing = getattr(mingyue, name)
    assert inspect.getdoc(thing)
    assert name in dir(mingyue)
    assert thing.__module__.startswith("mingyue.")


@pytest.mark.parametrize("name", mingyue.__all__)
def test_what_a_public_class_offers_is_explained(name: str):
    thing = getattr(mingyue, name)
    if inspect.isclass(thing) and thing is not mingyue.UserError:
        for method, function in vars(thing).items():
            if inspect.isfunction(function) and not method.startswith("_"):
                assert inspect.getdoc(getattr(thing, method)), f"{name}.{method}"


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="moon"):
        mingyue.moon  # noqa: B018


def test_type_checkers_see_the_names_that_run():
    """The imports written for type checkers and the table that really loads agree."""
    source = inspect.getsource(mingyue)
    for name, home in mingyue._HOMES.items():
        line = next(x for x in source.splitlines() if x.strip().startswith(f"from {home} import"))
        assert name in line.partition(" import ")[2].split(", ")
