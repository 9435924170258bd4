"""Run a command of ``ir-interp`` as a user does, in this process or in a fork."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from ir_interp.cli.main import main
from ir_interp.converters.workers import Call, Forks


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of a command, what it printed, and what it complained of."""
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def command_in_a_fork(
    forks: Forks, folder: Path, *arguments: str, imports: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    """Return the same of a command that may hang or do harm: it runs in a new process, in the current folder.

    A fork, which has the ``imports`` of the command already, starts at once where Python takes a second. Its memory is
    limited, and its time to a minute. A file in ``folder`` takes what it prints.
    """
    printed = folder.absolute() / "printed.txt"
    function = f"{__name__}:_run_printing"
    modules = ("ir_interp.cli.main", *imports)
    call = Call(function=function, argument=(arguments, printed), folder=folder, imports=modules, seconds=60, files=())
    code, errors = forks.run(call)
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
