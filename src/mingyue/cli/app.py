"""The commands put together, in the language chosen.

``build`` is called anew for each run, because help is text and text has a language.
"""

from typing import Any

import typer

from mingyue.cli import compare, data, eval, explain, info, train, write
from mingyue.cli.flags import callback
from mingyue.cli.help import Command, Group
from mingyue.cli.mistakes import in_one_line, is_usage_error
from mingyue.language import tr

COMMANDS = (train, write, explain, eval, compare, info, data)


def build() -> typer.Typer:
    """The application, its help in the current language."""
    app = typer.Typer(
        name="mingyue",
        cls=Group,
        add_completion=False,
        rich_markup_mode=None,
        help=tr(
            "Mingyue (明月): train a small GPT on Tang poetry or your own text, "
            "write with it, look at it."
        ),
        epilog="mingyue train tang --minutes 5\nmingyue write runs/tang 床前明月光",
        add_help_option=False,
    )

    for command in COMMANDS:
        app.command(
            name=command.__name__.rpartition(".")[2],
            cls=getattr(command, "COMMAND", Command),
            help=command.what(),
            short_help=command.brief(),
            epilog=command.EXAMPLES,
            add_help_option=False,
        )(callback(command.run, command.places(), command.panels()))
    return app


def run(arguments: list[str]) -> int:
    """Run one command; its exit code.

    Raises:
        UserError: a mistake in what was typed, or whatever the command found wrong.
    """
    command: Any = typer.main.get_command(build())
    try:
        with command.make_context("mingyue", arguments) as context:
            return command.invoke(context) or 0
    except typer.Exit as end:
        return end.exit_code
    except Exception as error:
        if is_usage_error(error):
            named = [word for word in arguments[:1] if word in command.commands]
            raise in_one_line(error, "".join(named)) from None
        raise
