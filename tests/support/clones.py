"""Copies of the project, to which a test adds files, and commands that run there."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import ROOT

_COMMANDS = """
import contextlib, io, json, sys
from ir_interp.cli.main import main
for line in json.loads(sys.argv[1]):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = main(line)
    print(json.dumps([code, printed.getvalue()]))
"""


@dataclass(frozen=True)
class Clone:
    """A folder of the project, and where Python finds what is installed."""

    root: Path
    path: Path

    def run(self, *arguments: str) -> str:
        """Run Python there and return what it printed, errors too."""
        environment = os.environ | {"PYTHONPATH": str(self.path), "COLUMNS": "200", "NO_COLOR": "1"}
        done = subprocess.run(
            [sys.executable, *arguments], cwd=self.root, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def commands(self, *lines: tuple[str | Path, ...]) -> list[list[int | str]]:
        """Run commands of ``ir-interp`` in one process; return the exit code of each, and what it printed."""
        printed = self.run("-c", _COMMANDS, json.dumps([[str(word) for word in line] for line in lines]))
        return [json.loads(row) for row in printed.splitlines()]


def copied(folder: Path) -> Clone:
    """Return a copy of the project in a folder."""
    for part in ("ir_interp", "converters", "tests", "docs"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return Clone(folder, folder)
