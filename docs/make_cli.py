"""Write docs/cli.md, the reference of the command line, from the program itself: ``python docs/make_cli.py``."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

import typer.main

from ir_interp.cli import commands as help_of
from ir_interp.cli.main import app

PATH = Path(__file__).with_name("cli.md")
INTRODUCTION = """\
# Command line

`ir-interp --help` lists the commands, `ir-interp COMMAND --help` the options of one, with examples.

- Options that take several values accept commas or repetition: `--ignore IRI022,IRI011`. `\\,` is a comma inside a
  name.
- Exit codes: 0 done, 1 findings or inexact results, 2 bad input or usage. [ci.md](ci.md) has those of `audit`.
- Errors are single lines on standard error. `IR_INTERP_TRACEBACK=1` adds the traceback of an unexpected one.
- `--json` output has a `schema_version`.

## Project file

`audit` reads its settings from the nearest `pyproject.toml` above a model that has this table:

```toml
[tool.ir-interp]
select = ["IRI01", "IRI02"]     # report only these codes or prefixes
ignore = ["IRI025"]             # but not these
fail-on = ["differs", "IRI012"] # what makes the exit code 1
runtime = ["openvino"]          # runtimes to predict
severity = { tensorrt = "note" }

[tool.ir-interp.per-file-ignores]
"legacy/*" = ["IRI013"]         # with a slash: a path below the folder of pyproject.toml
"tiny.onnx" = ["IRI"]           # without one: a file name
```

Options of the command line replace their keys, `--severity` the level of one runtime. But `--ignore` adds to `ignore`,
and `--select` replaces both `select` and `ignore`. `--isolated` ignores the file. Any other key is an error.

## Options of several commands
"""


_SHARED = 2  # commands that have an option in the same words, which is then described once


def text() -> str:
    """Return the page."""
    program: Any = typer.main.get_command(app)
    commands = list(program.commands.values())
    shared = _shared(commands)
    groups = groupby(commands, lambda command: command.rich_help_panel)
    sections = (line for group, members in groups for line in _group(group, members, shared))
    return "\n".join([INTRODUCTION, *_list(shared.values()), *sections])


def _shared(commands: Iterable[Any]) -> dict[tuple[str, str], Any]:
    """Return the options that several commands describe in the same words, by these words."""
    by_words: dict[tuple[str, str], list[Any]] = {}
    for command in commands:
        for members in help_of.headed(command.params).values():
            for each in members:
                by_words.setdefault(_words(each), []).append(each)
    shared = {words: those for words, those in by_words.items() if len(those) >= _SHARED and words[0].startswith("-")}
    usual = {words[0]: words for words in sorted(shared, key=lambda words: len(shared[words]))}  # one text for a flag
    return {words: those[0] for words, those in shared.items() if usual[words[0]] == words}


def _words(parameter: Any) -> tuple[str, str]:
    return help_of.spelled(parameter), help_of.described(parameter)


def _list(members: Iterable[Any]) -> Iterator[str]:
    yield from (f"- `{spelled}`: {described}" for spelled, described in map(_words, members))
    yield ""


def _group(name: str, commands: Iterator[Any], shared: Collection[tuple[str, str]]) -> Iterator[str]:
    yield f"## {name}\n"
    for command in commands:
        yield from _section(command, shared)


def _section(command: Any, shared: Collection[tuple[str, str]]) -> Iterator[str]:
    yield f"### {command.name}\n"
    yield f"{inspect.cleandoc(command.help)}\n"
    yield f"    {help_of.usage(command, f'ir-interp {command.name}')}\n"
    also = []
    for heading, members in help_of.headed(command.params).items():
        also += [each for each in members if _words(each) in shared]
        own = [each for each in members if _words(each) not in shared]
        if own:
            yield f"{heading}:\n"
            yield from _list(own)
    if also:
        flags = (help_of.spelled(each).split(",")[0].split()[0] for each in also)
        yield f"Shared: {', '.join(f'`{flag}`' for flag in flags)}.\n"


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")
    print(f"wrote {PATH.name}")
