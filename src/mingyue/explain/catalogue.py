"""All exhibits, found by looking into the folder: a new file there is a new exhibit."""

import difflib
from importlib import import_module
from pkgutil import iter_modules

from mingyue.errors import UserError
from mingyue.explain import exhibits
from mingyue.explain.exhibit import Definition
from mingyue.language import tr


def names() -> list[str]:
    """Of all exhibits, in the order of the article (each file's ``SPEC`` row)."""
    return [definition.name for definition in all_exhibits()]


def all_exhibits() -> list[Definition]:
    """Every exhibit, in the order of the specification."""
    found = [
        import_module(f"{exhibits.__name__}.{module.name}").EXHIBIT
        for module in iter_modules(exhibits.__path__)
    ]
    return sorted(found, key=lambda definition: int(definition.spec.removeprefix("D")))


def find(name: str) -> Definition:
    """The exhibit of that name.

    Raises:
        UserError: there is none, naming those there are.
    """
    known = {definition.name: definition for definition in all_exhibits()}
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        raise UserError(
            tr(
                "{name}: no such exhibit; there are {known}",
                name=name,
                known=", ".join(known),
            )
            if not close
            else tr("{name}: no such exhibit; do you mean {close}?", name=name, close=close[0])
        )
    return known[name]
