"""The flags of a command, made of the options that are declared for it; their help and completion.

Help is plain text in the width of the terminal, with options under headings. Values that a shell completes are computed
on request, as some take a while to import.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup

from ir_interp.diagnostic_codes import BYTE_PRODUCTS, FAILURES, RULES
from ir_interp.errors import IrInterpError
from ir_interp.options.declaration import Option, declared, flagged
from ir_interp.translation.dialect import Semantics

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


Complete = Callable[[typer.Context, str], list[str]]
_FILES = ("file", "model", "source", "subject")
"""The arguments that may be the file of a resize."""


def completion(name: str) -> Complete:
    """Return what completes the last word of a list from the words of a name."""

    def complete(ctx: typer.Context, incomplete: str) -> list[str]:
        # Options take lists with commas, of which only the last word is completed.
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{word}" for word in words(name, ctx) if word.startswith(last)]

    return complete


def words(name: str, ctx: typer.Context | None = None) -> list[str]:
    """Return the words of a name; of layers, those in the file that the command line names already."""
    if name == "layers":
        return _layers(ctx.params if ctx else {})
    return list(WORDS[name]())


def _layers(arguments: dict[str, object]) -> list[str]:
    import ir_interp

    file = next((arguments[name] for name in _FILES if arguments.get(name)), None)
    names: list[str] = []
    with suppress(IrInterpError, OSError):  # a shell shows nothing for what it cannot complete
        names = [op.name for op in ir_interp.load(Path(str(file))) if op.name] if file else []
    return names


def _runtimes() -> Iterable[str]:
    from ir_interp.converters.predictions import NAMES

    return [*NAMES, "installed"]


def _runners() -> Iterable[str]:
    from ir_interp.converters.audit.probe import RUNNERS

    return RUNNERS


def _targets() -> Iterable[str]:
    from ir_interp.converters.portable.targets import names

    return names()


def _dialects() -> Iterable[str]:
    from ir_interp.converters.sources import registry

    return registry.names()


def _likes() -> Iterable[str]:
    from ir_interp import libraries

    for library in map(libraries.get, libraries.names()):
        choices = library.dialect.choices(library.dialect.versions[0])[library.first]
        for word in choices:
            call = f"{library.name}:{word.removeprefix('INTER_').lower()}"
            with suppress(IrInterpError):  # SciPy's orders from 2 on are not supported
                libraries.load(call)
                yield call


WORDS: dict[str, Callable[[], Iterable[str]]] = {
    "codes": lambda: RULES,
    "failures": lambda: (*FAILURES, *RULES),
    "mistakes": lambda: (code for code in RULES if code.startswith("IRI01") or code == BYTE_PRODUCTS),
    "semantics": lambda: (reading.value for reading in Semantics),
    "runtimes": _runtimes,
    "runners": _runners,
    "targets": _targets,
    "dialects": _dialects,
    "likes": _likes,
}


Result = TypeVar("Result")
_OPTIONS = "options"  # the parameter of a command that gets all of them


def with_options(owner: type[Any]) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Return what gives a command the flags of a dataclass; it is called with an instance of that as ``options``."""

    def decorate(command: Callable[..., Result]) -> Callable[..., Result]:
        places = inspect.signature(command, eval_str=True)
        parameters = {name: parameter for name, parameter in places.parameters.items() if name != _OPTIONS}
        parameters |= {option.name: _parameter(option) for option in flagged(owner)}

        @functools.wraps(command)
        def call(**values: Any) -> Result:
            flags = {option.name: values.pop(option.name) for option in flagged(owner)}
            return command(**values, **{_OPTIONS: options_of(owner, flags)})

        # Typer reads the flags from the signature, types from the annotations.
        call.__signature__ = places.replace(parameters=list(parameters.values()))  # type: ignore[attr-defined]
        call.__annotations__ = {name: parameter.annotation for name, parameter in parameters.items()}
        return call

    return decorate


def options_of(owner: type[Any], flags: Mapping[str, Any]) -> Any:
    """Return options of what typer read of their flags; those that are not given keep their defaults.

    Raises IrInterpError, which names the flag, for text that means nothing.
    """
    values = {}
    for option in declared(owner):
        # Options of images are a dataclass of their own, whose flags stand beside the others.
        if option.parts is not None:
            values[option.name] = options_of(option.parts, flags)
        elif option.flags and flags[option.name] not in (None, []):
            values[option.name] = _read(option, flags[option.name])
    return owner(**values)


def _read(option: Option, value: Any) -> Any:
    if option.choices:
        return option.kind.check(value.value, option.flag)
    return option.kind.read(value, option.flag)


def _parameter(option: Option) -> inspect.Parameter:
    """Return the parameter that typer makes a flag of."""
    kind = option.kind
    info = typer.Option(
        *_spelled(option),
        help=option.help,
        metavar=option.metavar,
        rich_help_panel=option.panel or None,
        parser=_parser(kind.parse, option) if kind.parse else None,
        autocompletion=completion(option.complete) if option.complete else None,
    )
    text: Any = Enum(option.name, {word: word for word in option.choices}) if option.choices else option.kind.text
    default = option.default if isinstance(option.default, bool | int | Enum) and not option.choices else None
    hint: Any = text | None if default is None else text
    if kind.is_repeated:
        hint = list[text] | None
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[hint, info]
    )


def _spelled(option: Option) -> tuple[str, ...]:
    """Return the names of a flag as typer takes them: a switch that can be turned off has both in one."""
    return ("/".join(option.flags),) if option.default is True else option.flags


def _parser(parse: Callable[[str], Any], option: Option) -> Callable[[str], Any]:
    expected = f"; expected {option.metavar}, as in {option.kind.example}" if option.kind.example else ""

    def parsed(text: str) -> Any:
        try:
            return parse(str(text))
        except ValueError as error:
            raise typer.BadParameter(f"{error}{expected}") from None

    return parsed
