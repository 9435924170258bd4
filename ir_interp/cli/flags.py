"""The flags of a command, made of the options that are declared for it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, TypeVar

import typer

from ir_interp.cli.completion import completion
from ir_interp.options.declaration import Option, declared, flagged

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
