"""Run a command of ``ir-interp`` as a user does, in this process."""

from __future__ import annotations

import re

import pytest

from ir_interp.cli.main import main


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Return the exit code of a command, what it printed, and what it complained of."""
    code = main(arguments)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def words(table: str) -> str:
    """Return what a table says, without its frame and its folds."""
    return re.sub(r"\s+", " ", re.sub("[─━│┃┏┓┗┛┡┩└┘┳┴╇┷┬┼├┤╭╮╰╯]", " ", table))
