"""Run a command of ``ir-interp`` as a user does, in this process or in a fork."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ir_interp.cli.main import app, main
from ir_interp.converters.workers import Call, Forks


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of a command, what it printed, and what it complained of."""
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def completed(name: str, flag: str, text: str = "", **given: object) -> list[str]:
    """Return what a shell offers for a word that begins with ``text``, after a flag of a command."""
    of_typer: Any = typer.main.get_command(app)
    command = of_typer.commands[name]
    context = typer.Context(command)
    context.params = given
    (parameter,) = (each for each in command.params if flag in each.opts)
    return [item.value for item in parameter.shell_complete(context, text)]


_FORKS = ContextVar[Forks]("forks")


@contextmanager
def forks_of_commands() -> Iterator[None]:
    """Keep what forks processes for commands, apart from that of the program."""
    with closing(Forks()) as forks:
        token = _FORKS.set(forks)
        yield
        _FORKS.reset(token)


def command_in_a_fork(folder: Path, *arguments: str, imports: tuple[str, ...] = ()) -> tuple[int, str, str]:
    """Return the same of a command that may hang or do harm: it runs in a new process, in the current folder.

    A fork, which has the ``imports`` of the command already, starts at once where Python takes a second. Its memory is
    limited, and its time to a minute. A file in ``folder`` takes what it prints.
    """
    printed = folder.absolute() / "printed.txt"
    function = f"{__name__}:_run_printing"
    modules = ("ir_interp.cli.main", *imports)
    call = Call(function=function, argument=(arguments, printed), folder=folder, imports=modules, seconds=60, files=())
    code, errors = _FORKS.get().run(call)
    return code, printed.read_text(encoding="utf-8"), errors


def _run_printing(setting: tuple[tuple[str, ...], Path]) -> int:
    arguments, printed = setting
    os.dup2(os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
    code = main(arguments)
    sys.stdout.flush()
    return code


def words(table: str) -> str:
    """Return what a table says, without its frame and its folds."""
    return re.sub(r"\s+", " ", re.sub("[─━│┃┏┓┗┛┡┩└┘┳┴╇┷┬┼├┤╭╮╰╯]", " ", table))
