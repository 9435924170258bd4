"""Start modules of this program as processes of their own, whatever lies in the folder where it runs.

That folder may have come with the model. So a child finds modules where Python and this process find theirs, but never
there; variables such as PYTHONPATH and PYTHONSTARTUP do not reach it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..runtimes.telemetry import silent_environment

_START = """\
import json, runpy, sys
own, known, module = json.loads(sys.argv[1])
if own not in sys.path:  # not installed: another version of this program may be
    sys.path.insert(0, own)
sys.path += [place for place in known if place not in sys.path]
sys.argv[:] = [module, *sys.argv[2:]]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
_ISOLATED = "-I"  # without the current folder and PYTHON... variables


@contextmanager
def started(module: str, *arguments: str, **streams: Any) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that runs a module, named as for ``python -m``; it is stopped at the end, if it still runs.

    ``streams`` are those of ``subprocess.Popen``.
    """
    command = [sys.executable, _ISOLATED, "-c", _START, json.dumps([_own(), _known(), module]), *arguments]
    with subprocess.Popen(command, text=True, env=silent_environment(), **streams) as process:
        try:
            yield process
        finally:
            process.kill()


def _own() -> str:
    """Return the folder in which this program lies."""
    return str(Path(sys.modules["ir_interp"].__path__[0]).parent)


def _known() -> list[str]:
    """Return where this process looks for modules, but for the current folder."""
    current = os.path.realpath(Path.cwd())
    return [place for place in sys.path if Path(place).is_absolute() and os.path.realpath(place) != current]
