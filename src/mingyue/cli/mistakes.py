"""What was typed wrong, as one line in the reader's language.

Typer finds the mistake and words it in English; here its kind is recognised and worded anew. The
kinds are told apart by name, since Typer has moved the classes between its versions.
"""

from typing import Any

from mingyue.errors import UserError
from mingyue.language import tr


def is_usage_error(error: Exception) -> bool:
    """Whether Typer raised ``error`` because of what was typed."""
    return any(kind.__name__ == "ClickException" for kind in type(error).__mro__)


def in_one_line(error: Any, command: str) -> UserError:
    """The same mistake as a ``UserError``, with the help of ``command``, which would tell more."""
    help = f"mingyue {command} --help" if command else "mingyue --help"
    return UserError(tr("{mistake}; see {help}", mistake=_worded(error), help=help))


def no_such_command(name: str, known: list[str]) -> UserError:
    """``mingyue trian``: the nearest name there is, and all of them."""
    return UserError(
        tr(
            "{name}: no such command{guess}; there are {known}",
            name=name,
            guess=_guess(near(name, known)),
            known=", ".join(known),
        )
    )


def near(word: str, known: list[str]) -> list[str]:
    """The words in ``known`` that ``word`` may have meant, the likeliest first."""
    from difflib import get_close_matches

    return get_close_matches(word, known)


def _worded(error: Any) -> str:
    name = getattr(error, "option_name", "")
    match type(error).__name__:
        case "NoSuchOption":
            guess = _guess(list(error.possibilities or []))
            return tr("{option}: no such option{guess}", option=name, guess=guess)
        case "BadOptionUsage" if "requires" in error.message:
            return tr("{option}: its value is missing", option=name)
        case "BadOptionUsage":
            return tr("{option}: takes no value", option=name)
        case "MissingParameter" if error.param is not None:
            return tr("{name} is missing", name=error.param.metavar or error.param.name)
        case _:
            return error.format_message().splitlines()[0].rstrip(".")


def _guess(words: list[str]) -> str:
    return tr(" (did you mean {word}?)", word=words[0]) if words else ""
