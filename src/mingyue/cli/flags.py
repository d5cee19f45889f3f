"""An option as data.

The options of ``train`` are the settings of the model, the data and the training, so each one is
a line in a table: the setting's name, how its value is read, a sentence of help, and what holds
when it is left out. Typer does the syntax; ``read`` here does the meaning, so that every
impossible value is refused in one line of the reader's language before anything heavy is loaded.
"""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from mingyue.errors import UserError
from mingyue.language import tr


@dataclass(frozen=True)
class Kind:
    """How a value is read. ``read`` raises ValueError; ``wanted`` says what would have done."""

    read: Callable[[str], Any]
    metavar: str
    wanted: str
    words: str = ""  # all of them, where they are too many for the metavar


def whole(least: int = 1, most: int | None = None) -> Kind:
    """A whole number from ``least`` (to ``most``)."""

    def read(text: str) -> int:
        value = int(text.replace("_", ""))
        if value < least or (most is not None and value > most):
            raise ValueError
        return value

    wanted = (
        tr("a whole number from {least}", least=least)
        if most is None
        else tr("a whole number from {least} to {most}", least=least, most=most)
    )
    return Kind(read, "N", wanted)


def real(
    *,
    above: float | None = None,
    least: float | None = None,
    below: float | None = None,
    most: float | None = None,
) -> Kind:
    """A number with bounds, which it may touch (``least``, ``most``) or not (others)."""

    def read(text: str) -> float:
        value = float(text)
        if (
            not math.isfinite(value)
            or (above is not None and value <= above)
            or (least is not None and value < least)
            or (below is not None and value >= below)
            or (most is not None and value > most)
        ):
            raise ValueError
        return value

    low = f"> {above:g}" if above is not None else f"≥ {least:g}" if least is not None else ""
    high = f"< {below:g}" if below is not None else f"≤ {most:g}" if most is not None else ""
    return Kind(read, "X", tr("a number {bounds}", bounds=", ".join(filter(None, (low, high)))))


def choice(*words: str) -> Kind:
    """One of a few words."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError
        return text

    listed, short = ", ".join(words), "|".join(words)
    wanted = tr("one of {words}", words=listed)
    return Kind(read, short, wanted) if len(short) <= 20 else Kind(read, "WORD", wanted, listed)


def text(metavar: str) -> Kind:
    """Any text that is one: bytes that the system could not decode are none."""

    def read(value: str) -> str:
        value.encode()
        return value

    return Kind(read, metavar, tr("text in UTF-8"))


SWITCH = Kind(lambda text: text, "", "")
"""On or off by being there; ``option`` then names both: ``--tie/--untie``."""


@dataclass(frozen=True)
class Flag:
    """An option. ``default`` is what the help says about leaving it out."""

    name: str
    kind: Kind
    help: str
    default: str = ""
    option: str = ""
    repeat: bool = False

    @property
    def spelling(self) -> str:
        return self.option or "--" + self.name.replace("_", "-")

    def parameter(self, panel: str) -> inspect.Parameter:
        """What Typer makes the option from; given or not, it arrives as text or None."""
        base: Any = (
            bool | None if self.kind is SWITCH else list[str] | None if self.repeat else str | None
        )
        option = typer.Option(
            *self.spelling.split(" "),
            help=f"{self.help}: {self.kind.words}" if self.kind.words else self.help,
            metavar=self.kind.metavar or None,
            show_default=self.default or False,
            rich_help_panel=panel,
        )
        return _parameter(self.name, base, option, None)

    def value(self, given: Any) -> Any:
        """The meaning of what was typed.

        Raises:
            UserError: it has none.
        """
        if self.kind is SWITCH:
            return given
        if self.repeat:
            return [self._read(one) for one in given]
        return self._read(given)

    def _read(self, given: str) -> Any:
        try:
            return self.kind.read(given)
        except ValueError:
            raise UserError(
                tr(
                    "{option}: {value} does not fit; give {wanted}",
                    option=self.spelling.split("/")[0],
                    value=repr(given) if given.strip() != given or not given else given,
                    wanted=self.kind.wanted,
                )
            ) from None


@dataclass(frozen=True)
class Place:
    """An argument without a name, by its position; ``required`` or else None when left out.

    Of one with ``many`` there may be several, and they come as a list.
    """

    name: str
    metavar: str
    help: str
    required: bool = True
    many: bool = False

    def parameter(self) -> inspect.Parameter:
        argument = typer.Argument(help=self.help, metavar=self.metavar, show_default=False)
        if self.many:
            return _parameter(self.name, list[str], argument, inspect.Parameter.empty)
        if self.required:
            return _parameter(self.name, str, argument, inspect.Parameter.empty)
        return _parameter(self.name, str | None, argument, None)


@dataclass(frozen=True)
class Panel:
    """Options that belong together under one heading."""

    title: str
    flags: list[Flag] = field(default_factory=list)

    def said(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of this panel that were given, with their meaning.

        Raises:
            UserError: a value that has none.
        """
        return {
            flag.name: flag.value(given[flag.name])
            for flag in self.flags
            if given.get(flag.name) not in (None, [])
        }


def callback(
    run: Callable[..., int | None], places: Sequence[Place], panels: Sequence[Panel]
) -> Callable[..., int | None]:
    """A function with the signature that Typer reads, which calls ``run(given)``."""

    def command(**given: Any) -> int | None:
        for place in places:
            words = given[place.name]
            for word in [words] if isinstance(words, str) else words or ():
                _as_text(place, word)
        return run(given)

    command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [place.parameter() for place in places]
        + [flag.parameter(panel.title) for panel in panels for flag in panel.flags]
    )
    return command


def _as_text(place: Place, given: str) -> None:
    try:
        given.encode()
    except UnicodeEncodeError:
        raise UserError(tr("{name}: not text in UTF-8", name=place.metavar)) from None


def _parameter(name: str, base: Any, info: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[base, info], default=default
    )
