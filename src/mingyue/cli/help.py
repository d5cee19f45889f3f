"""How help is laid out.

    mingyue write RUN [PROMPT] [options]

    What it does, in a sentence or two.

    EXAMPLES          first, because they are what people look for
    ARGUMENTS         and the options under their headings: the option left, what it means right,
                      [what holds without it] behind; below each other on a narrow terminal

Typer's own help has six columns, English headings, and folds option names on a narrow terminal.
"""

from typing import TYPE_CHECKING, Any

from typer.core import TyperCommand, TyperGroup

from mingyue.cli.mistakes import near, no_such_command
from mingyue.errors import UserError
from mingyue.language import tr

if TYPE_CHECKING:
    from rich.console import Console

NARROW = 64
"""Columns below which option and meaning stand below each other."""
WIDE = 110
"""Lines longer than this are hard to read."""

HELP = ("--help", "-h")
"""Looked for here and not by Typer, which would load pydantic to make sure that True is true."""

Row = tuple[str, str]


class Command(TyperCommand):
    """A command whose help is laid out here; ``epilog`` holds its examples, one a line."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        usage = " ".join(
            [ctx.command_path, *(_place(p) for p in self.params if _is_place(p)), tr("[options]")]
        )
        panels: dict[str, list[Row]] = {}
        for param in self.params:
            heading = tr("Arguments") if _is_place(param) else getattr(param, "rich_help_panel", "")
            panels.setdefault(heading, []).append(_row(param))
        print_help(usage, self.help or "", self.epilog or "", panels)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        if any(word in HELP for word in words):
            self.format_help(ctx, None)
            ctx.exit()
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest and not ctx.resilient_parsing:
            raise UserError(
                tr(
                    "{words}: one word too many; put quotes around text with spaces, see {help}",
                    words=" ".join(rest),
                    help=f"{ctx.command_path} --help",
                )
            )
        return rest


class Group(TyperGroup):
    """``mingyue`` itself: its help lists the commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        commands = [(name, c.short_help or "") for name, c in self.commands.items()]
        usage = f"{ctx.command_path} {tr('COMMAND …')}"
        options = [
            ("--version", tr("print the version")),
        ]
        print_help(
            usage, self.help or "", self.epilog or "", {tr("Commands"): commands, "": options}
        )

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args[:1] == ["--version"]:
            from mingyue import __version__

            print(__version__)
            ctx.exit()
        if not args or args[0] in HELP:
            self.format_help(ctx, None)
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name = args[0]
        if name not in self.commands:
            if name.startswith("-"):
                options = ["--help", "--lang", "--version"]
                guess = near(name, options)
                raise UserError(
                    tr(
                        "{option}: no such option; there are {known}",
                        option=name,
                        known=", ".join(guess or options),
                    )
                )
            raise no_such_command(name, list(self.commands))
        return super().resolve_command(ctx, args)


def _is_place(param: Any) -> bool:
    return param.param_type_name == "argument"


def _place(param: Any) -> str:
    name = param.metavar or param.name.upper()
    return name if param.required else f"[{name}]"


def _row(param: Any) -> Row:
    """An option's spelling with its value, and its help with the default."""
    if _is_place(param):
        return param.metavar or param.name.upper(), param.help or ""
    names = ", ".join([*param.opts, *param.secondary_opts])
    spelling = f"{names} {param.metavar}" if param.metavar else names
    meaning = param.help or ""
    if isinstance(param.show_default, str):
        meaning += f" [{param.show_default}]"
    return spelling, meaning


def print_help(usage: str, what: str, examples: str, panels: dict[str, list[Row]]) -> None:
    """A page of help; ``examples`` has one on each line, ``panels`` the options by heading."""
    from mingyue.cli.screen import console, is_terminal

    out = console(wrap=True)
    with out.capture() as captured:
        _compose(out, usage, what, examples, panels)
    # Tables fill their cells with spaces, which are of no use in a file.
    text = captured.get()
    lines = text.splitlines() if is_terminal() else [line.rstrip() for line in text.splitlines()]
    print("\n".join(lines))


def _compose(
    out: "Console", usage: str, what: str, examples: str, panels: dict[str, list[Row]]
) -> None:
    width = min(out.width, WIDE)
    common = [
        ("--lang en|zh", tr("language of all messages [that of the system]")),
        ("--help", tr("print this help")),
    ]
    panels = dict(panels)
    panels[tr("Everywhere")] = [*panels.pop("", []), *common]
    out.print(usage, style="bold", width=width)
    out.print()
    out.print(what.strip(), width=width)
    if examples:
        out.print(f"\n{tr('Examples')}", style="bold")
        for line in examples.strip().splitlines():
            out.print(f"  {line.strip()}", style="cyan", soft_wrap=True)
    for title, rows in panels.items():
        out.print(f"\n{title}", style="bold")
        _print_rows(out, rows, width)


def _print_rows(out: "Console", rows: list[Row], width: int) -> None:
    from rich.cells import cell_len
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    if width < NARROW:
        for name, meaning in rows:
            out.print(Padding(Text(name, style="cyan"), (0, 0, 0, 2)), width=width)
            out.print(Padding(Text(meaning), (0, 0, 0, 6)), width=width)
        return
    left = min(max(cell_len(name) for name, _ in rows), width * 2 // 5)
    table = Table.grid(padding=(0, 2))
    table.add_column(width=left, style="cyan", overflow="fold")
    table.add_column()
    for name, meaning in rows:
        table.add_row(Text(name), Text(meaning))
    out.print(Padding(table, (0, 0, 0, 2)), width=width)
