"""The help of the program and of its commands: plain text in the width of the terminal, options under headings."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import groupby
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

_INDENT = "  "
COMMON = "Options"
"""The heading of the options that most calls need; ``--help`` ends it."""


class Command(TyperCommand):
    """A command whose help stands under the headings of its options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(_rendered(_command_lines(self, ctx)))


class Program(TyperGroup):
    """The program, whose help lists the commands by what they are for."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help: as many lines as a small terminal shows at once."""
        formatter.write(_rendered(_program_lines(self, ctx)))


Line = str | tuple[str, list[tuple[str, str]]]
"""A paragraph, or a heading and rows of a name and its text."""


def _rendered(lines: Iterable[Line]) -> str:
    from ir_interp.cli.terminal import Console

    console = Console()
    with console.capture() as captured:
        for line in lines:
            if isinstance(line, str):
                is_example = line.startswith(_INDENT)  # unbroken, to be copied
                console.print(line, markup=False, highlight=False, soft_wrap=is_example)
                continue
            heading, rows = line
            console.print(heading, style="bold")
            console.pairs(rows, indent=_INDENT)
    return captured.get()


def _program_lines(program: Any, ctx: Any) -> Iterator[Line]:
    yield program.help
    yield f"Usage: {ctx.command_path} COMMAND [OPTIONS]; COMMAND --help lists its options"
    commands = [program.get_command(ctx, name) for name in program.list_commands(ctx)]
    width = max(len(command.name) for command in commands)
    for group, members in groupby(commands, lambda command: command.rich_help_panel):
        yield ""
        yield group, [(command.name.ljust(width), summary(command)) for command in members]
    yield ""
    yield "--version shows the installed runtimes; --install-completion sets up the shell"


def _command_lines(command: Any, ctx: Any) -> Iterator[Line]:
    yield f"Usage: {usage(command, ctx.command_path)}"
    for paragraph in inspect.cleandoc(command.help).split("\n\n"):
        yield ""
        yield " ".join(paragraph.split())
    parameters = [parameter for parameter in command.get_params(ctx) if not parameter.hidden]
    width = max(len(spelled(parameter)) for parameter in parameters)
    for heading, members in headed(parameters).items():
        yield ""
        yield heading, [(spelled(parameter).ljust(width), described(parameter)) for parameter in members]
    yield ""
    yield "Examples", []
    yield from (f"{_INDENT}{example}" for example in command.epilog.strip().splitlines())


def summary(command: Any) -> str:
    """Return what a command does, in one line."""
    return str(inspect.cleandoc(command.help).split("\n\n")[0].removesuffix("."))


def usage(command: Any, path: str) -> str:
    """Return how a command is called, as in ``ir-interp convert SOURCE DESTINATION [OPTIONS]``."""
    return " ".join([path, *(_place(parameter) for parameter in command.params if is_argument(parameter)), "[OPTIONS]"])


def _place(argument: Any) -> str:
    text = f"{argument.metavar}{'...' if argument.nargs != 1 else ''}"
    return text if argument.required else f"[{text}]"


def is_argument(parameter: Any) -> bool:
    """Say whether a parameter is an argument and no option."""
    return isinstance(parameter, TyperArgument)


def headed(parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Return parameters by their headings: arguments, common options, then the others as they are declared."""
    by_heading: dict[str, list[Any]] = {"Arguments": [], COMMON: []}
    for parameter in parameters:
        heading = "Arguments" if is_argument(parameter) else parameter.rich_help_panel or COMMON
        by_heading.setdefault(heading, []).append(parameter)
    return {heading: members for heading, members in by_heading.items() if members}


def spelled(parameter: Any) -> str:
    """Return how a parameter is written: ``SOURCE``, ``-q, --quiet`` or ``--seed INTEGER``."""
    if is_argument(parameter):
        return str(parameter.metavar)
    flags = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda flag: flag.startswith("--"))
    return " ".join(filter(None, [", ".join(flags), parameter.metavar]))


def described(parameter: Any) -> str:
    """Return the help of a parameter, with its default where it has one."""
    default = parameter.default
    shown = default.value if isinstance(default, Enum) else default
    is_shown = shown is not None and not isinstance(shown, bool) and not callable(shown)
    return f"{parameter.help} [default: {shown}]" if is_shown else parameter.help
