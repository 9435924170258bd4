"""The commands, each imported when it is called, and their help.

Help is plain text in the width of the terminal, with options under headings.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from itertools import groupby
from typing import Any, ClassVar, TypeGuard

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from ir_interp.plain_text import quote_shell

_INDENT = "  "
Parameter = TyperArgument | TyperOption
COMMON = "Options"
"""The heading of the options that most calls need; ``--help`` ends it."""


class Command(TyperCommand):
    """A command whose help stands under the headings of its options."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help."""
        formatter.write(_rendered(_command_lines(self, ctx)))


@dataclass(frozen=True, slots=True)
class Listed:
    """A command as help lists it, and the module of ``ir_interp.cli`` with its function and its EXAMPLES."""

    heading: str
    name: str
    module: str
    summary: str


class Commands(Mapping[str, Command]):
    """Commands by name, each made when it is looked up: their modules take a while to import."""

    def __init__(self, listed: Sequence[Listed]) -> None:
        self._listed = {each.name: each for each in listed}

    def __len__(self) -> int:
        return len(self._listed)

    def __iter__(self) -> Iterator[str]:
        return iter(self._listed)

    def __getitem__(self, name: str) -> Command:
        return _made(self._listed[name])


@functools.cache
def _made(listed: Listed) -> Command:
    function, examples, *kind = import_module(f"ir_interp.cli.{listed.module}").COMMANDS[listed.name]
    program = typer.Typer(add_completion=False, rich_markup_mode="rich")
    settings = {"cls": kind[0] if kind else Command, "epilog": examples, "rich_help_panel": listed.heading}
    program.command(listed.name, **settings)(function)
    made: Any = typer.main.get_command(program)
    assert isinstance(made, Command)
    return made


class Program(TyperGroup):
    """The program, whose help lists the commands by what they are for."""

    listed: ClassVar[Sequence[Listed]]

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands(self.listed)

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


def _program_lines(program: Program, ctx: typer.Context) -> Iterator[Line]:
    yield str(program.help)
    yield f"Usage: {ctx.command_path} COMMAND [OPTIONS]; COMMAND --help lists its options"
    width = max(len(command.name) for command in program.listed)
    for heading, commands in groupby(program.listed, lambda command: command.heading):
        yield ""
        yield heading, [(command.name.ljust(width), command.summary) for command in commands]
    yield ""
    yield "--version shows the installed runtimes; --install-completion sets up the shell"


def _command_lines(command: TyperCommand, ctx: typer.Context) -> Iterator[Line]:
    yield f"Usage: {usage(command, ctx.command_path)}"
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        yield ""
        yield " ".join(paragraph.split())
    known = (parameter for parameter in command.get_params(ctx) if isinstance(parameter, Parameter))
    parameters = [parameter for parameter in known if not parameter.hidden]
    width = max(len(spelled(parameter)) for parameter in parameters)
    for heading, members in headed(parameters).items():
        yield ""
        yield heading, [(spelled(parameter).ljust(width), described(parameter)) for parameter in members]
    yield ""
    yield "Examples", []
    yield from (f"{_INDENT}{example}" for example in (command.epilog or "").strip().splitlines())


def usage(command: TyperCommand, path: str) -> str:
    """Return how a command is called, as in ``ir-interp convert SOURCE DESTINATION [OPTIONS]``."""
    places = (_place(each) for each in command.params if is_argument(each) and not each.hidden)
    return " ".join([path, *places, "[OPTIONS]"])


def _place(argument: TyperArgument) -> str:
    text = f"{argument.metavar}{'...' if argument.nargs != 1 else ''}"
    return text if argument.required else f"[{text}]"


def is_argument(parameter: object) -> TypeGuard[TyperArgument]:
    """Say whether a parameter is an argument and no option."""
    return isinstance(parameter, TyperArgument)


def headed(parameters: Iterable[Parameter]) -> dict[str, list[Parameter]]:
    """Return parameters by their headings: arguments, common options, then the others; hidden ones are left out."""
    by_heading: dict[str, list[Parameter]] = {"Arguments": [], COMMON: []}
    for parameter in parameters:
        if parameter.hidden:
            continue
        heading = "Arguments" if is_argument(parameter) else parameter.rich_help_panel or COMMON
        by_heading.setdefault(heading, []).append(parameter)
    return {heading: members for heading, members in by_heading.items() if members}


def spelled(parameter: Parameter) -> str:
    """Return how a parameter is written: ``SOURCE``, ``-q, --quiet`` or ``--seed INTEGER``."""
    if is_argument(parameter):
        return str(parameter.metavar)
    flags = sorted([*parameter.opts, *parameter.secondary_opts], key=lambda flag: flag.startswith("--"))
    return " ".join(filter(None, [", ".join(flags), parameter.metavar]))


def described(parameter: Parameter) -> str:
    """Return the help of a parameter, with its default where it has one."""
    default = parameter.default
    shown = default.value if isinstance(default, Enum) else default
    is_shown = shown is not None and not isinstance(shown, bool) and not callable(shown)
    return f"{parameter.help} [default: {shown}]" if is_shown else parameter.help or ""


_COMMAND: ContextVar[Sequence[str]] = ContextVar("command", default=())


def remember(arguments: Sequence[str]) -> None:
    """Remember the command line, for the reports of it."""
    _COMMAND.set(tuple(arguments))


def called_command() -> str:
    """Return the command as a line of a shell."""
    return quote_shell("ir-interp", *_COMMAND.get())
