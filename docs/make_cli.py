"""Write docs/cli.md, the reference of the command line, from the program itself: ``python docs/make_cli.py``."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer.main

from ir_interp.cli import command_help
from ir_interp.cli.main import app

PATH = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

`ir-interp --help` lists the commands, `ir-interp COMMAND --help` the options of one. Python code generates this page
from the same declarations.

- Options that take several values accept commas as well as repetition: `--ignore IRI022,IRI011`. `\\,` is a comma
  inside a name.
- Exit codes: 0 done, 1 findings or inexact results, 2 bad input or usage. With `--fail-on` you choose which findings
  count.
- Errors are single lines on standard error. `IR_INTERP_TRACEBACK=1` adds the traceback of an unexpected one.
"""


def text() -> str:
    """Return the page."""
    program: Any = typer.main.get_command(app)
    groups = groupby(program.commands.values(), lambda command: command.rich_help_panel)
    return "\n".join([INTRODUCTION, *(line for group, members in groups for line in _group(group, members))])


def _group(name: str, commands: Iterator[Any]) -> Iterator[str]:
    yield f"## {name}\n"
    for command in commands:
        yield from _section(command)


def _section(command: Any) -> Iterator[str]:
    yield f"### {command.name}\n"
    yield f"{inspect.cleandoc(command.help)}\n"
    yield f"    {command_help.usage(command, f'ir-interp {command.name}')}\n"
    for heading, members in command_help.headed(command.params).items():
        yield f"| {heading} | Meaning |\n|---|---|"
        yield from (f"| `{command_help.spelled(each)}` | {command_help.described(each)} |" for each in members)
        yield ""
    yield "Examples:\n"
    yield from (f"    {line}" for line in command.epilog.strip().splitlines())
    yield ""


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
