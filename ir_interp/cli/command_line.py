"""The flags of a command, made of the options that are declared for it, and their completion.

Values that a shell completes are computed on request, as some take a while to import.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from ir_interp.diagnostic_codes import FAILURES, RULES
from ir_interp.errors import IrInterpError
from ir_interp.options.declaration import Option, declared, flagged
from ir_interp.translation.dialect import Semantics

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


def _mistakes() -> Iterable[str]:
    from ir_interp.converters.fix import REPAIRED

    return REPAIRED


def _metrics() -> Iterable[str]:
    from ir_interp.converters.verify.task_metrics import NAMES

    return NAMES


def _dialects() -> Iterable[str]:
    from ir_interp.converters import dialects

    return dialects.names()


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
    "mistakes": _mistakes,
    "semantics": lambda: (reading.value for reading in Semantics),
    "runtimes": _runtimes,
    "runners": _runners,
    "targets": _targets,
    "dialects": _dialects,
    "metrics": _metrics,
    "likes": _likes,
}


Result = TypeVar("Result")
_OPTIONS = "options"  # the parameter of a command that gets all of them


def with_options(owner: type[object]) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
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


def options_of(owner: type[Result], flags: Mapping[str, object]) -> Result:
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


def _read(option: Option, value: Any) -> object:
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


def _parser(parse: Callable[[str], Result], option: Option) -> Callable[[str], Result]:
    expected = f"; expected {option.metavar}, as in {option.kind.example}" if option.kind.example else ""

    def parsed(text: str) -> Result:
        try:
            return parse(str(text))
        except ValueError as error:
            raise typer.BadParameter(f"{error}{expected}") from None

    return parsed
