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
- `--json` output has a `schema_version`; `ir-interp explain audit --schema` prints the JSON Schema of a command.

## Project file

`audit` reads its settings from the nearest `pyproject.toml` above a model that has this table:

```toml
[tool.ir-interp]
select = ["IRI01", "IRI02"]     # report only these codes or prefixes
ignore = ["IRI025"]             # but not these
fail-on = ["differs", "IRI012"] # what makes the exit code 1
severity = { tensorrt = "note" }

[tool.ir-interp.per-file-ignores]
"legacy/*" = ["IRI013"]         # with a slash: a path below the folder of pyproject.toml
"tiny.onnx" = ["IRI"]           # without one: a file name
```

The command line wins: `--select` replaces `select` and `ignore`, `--ignore` adds to `ignore`, `--severity` replaces
the level of a runtime, and `--fail-on` replaces `fail-on`. `--isolated` ignores the file. Unknown keys are errors.
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
