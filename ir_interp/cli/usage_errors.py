"""Errors of usage in the words of all other errors: one line, which names the option."""

from __future__ import annotations

from typing import Any

from ir_interp.errors import closest, hint
from ir_interp.text.names import printable


def text(error: Any) -> str:
    """Return what to print for an error of typer: help where nothing was asked for, else one line."""
    kind = type(error).__name__
    if kind == "NoArgsIsHelpError":
        return str(error.format_message())
    problem = printable(_PROBLEMS.get(kind, _other)(error))
    path = error.ctx.command_path if getattr(error, "ctx", None) else ""
    separator = " See" if problem.endswith("?") else "; see"
    return f"error: {problem}{separator} `{path} --help`" if path else f"error: {problem}"


def _bad_value(error: Any) -> str:
    return f"{_named(error.param)}: {_sentence(error.message)}" if error.param else _sentence(error.message)


def _missing(error: Any) -> str:
    return f"{_named(error.param)} is missing" if error.param else _other(error)


def _named(parameter: Any) -> str:
    flags = [flag for flag in parameter.opts if flag.startswith("-")]
    return str(flags[0] if flags else parameter.metavar)


def _no_option(error: Any) -> str:
    known = [flag for parameter in error.ctx.command.params for flag in (*parameter.opts, *parameter.secondary_opts)]
    return f"no option {error.option_name}{hint(error.option_name, known)}"


def _other(error: Any) -> str:
    """Return the message of any other error; for an unknown command, with those that exist."""
    commands = getattr(error.ctx and error.ctx.command, "commands", {})
    unknown = [word for word in _words(error.message) if commands and word not in commands]
    if unknown:
        return f"no command {unknown[0]!r}; {closest(unknown[0], list(commands))}"
    return _sentence(error.format_message())


def _words(message: str) -> list[str]:
    """Return what stands in quotes at the start of a message, as in ``No such command 'bogus'.``."""
    return message.split("'")[1:2] if message.startswith("No such command") else []


def _sentence(message: str) -> str:
    """Return a message of typer as the middle of a line."""
    message = message.strip().removesuffix(".").removeprefix("Value error, ")  # of pydantic, which reads choices
    return message[:1].lower() + message[1:]


_PROBLEMS = {"BadParameter": _bad_value, "MissingParameter": _missing, "NoSuchOption": _no_option}
