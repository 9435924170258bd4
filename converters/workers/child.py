"""Start modules of this program as processes of their own, whatever lies in the folder where it runs.

That folder may have come with the model. So a child finds modules where Python and this process find theirs, but never
there; variables such as PYTHONPATH and PYTHONSTARTUP do not reach it.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..runtimes.telemetry import silent_environment

_START = """\
import json, os, pathlib, runpy, signal, sys, threading
own, known, module, seconds, files, declared, fed = json.loads(sys.argv[1])
if seconds and hasattr(signal, "alarm"):
    signal.alarm(seconds)  # the system ends it then, whatever it does
def end_with_parent():
    os.read(0, 1)
    os._exit(1)
if not fed:
    threading.Thread(target=end_with_parent, daemon=True).start()
if own not in sys.path:  # not installed: another version of this program may be
    sys.path.insert(0, own)
sys.path += [place for place in known if place not in sys.path]
sys.argv[:] = [module, *sys.argv[2:]]
from ir_interp.files.memory import allow_declared, allow_files, limit_process
limit_process()
allow_files(*map(pathlib.Path, files))
allow_declared(declared)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
LATER = 60
"""Seconds after which a child ends by itself that should have been stopped."""

_ISOLATED = "-I"  # without the current folder and PYTHON... variables


@contextmanager
def started(
    module: str,
    *arguments: str,
    folder: Path,
    seconds: float | None = None,
    files: Iterable[Path] = (),
    declared: float = 0.0,
    fed: bool = False,
    **streams: Any,
) -> Iterator[subprocess.Popen[str]]:
    """Yield a process that runs a module, named as for ``python -m``; it is stopped at the end, if it still runs.

    It also ends with this process, however that ends, and at latest some time after ``seconds``. What it keeps for a
    while goes into ``folder``. It may take as much memory as is allowed beyond ``files``, for a model whose tensors are
    of ``declared`` bytes. ``streams`` are the outputs of ``subprocess.Popen``. One that is ``fed`` reads what this
    process writes, and has to end where that ends.
    """
    limit = seconds and math.ceil(seconds) + LATER
    setting = json.dumps([_own(), _known(), module, limit, list(map(str, files)), declared, fed])
    unwritten = ["-B"] if sys.dont_write_bytecode else []
    command = [sys.executable, _ISOLATED, *unwritten, "-c", _START, setting, *arguments]
    environment = {**silent_environment(), "TMPDIR": str(folder.absolute())}
    with _pipe() as theirs:
        stdin = subprocess.PIPE if fed else theirs
        process = subprocess.Popen(command, text=True, env=environment, stdin=stdin, **streams)
        try:  # a signal that comes before this line ends the pipe, and thereby the child: nobody waits for it
            yield process
        finally:
            process.kill()
            with process:  # closes its streams
                pass


@contextmanager
def _pipe() -> Iterator[int]:
    """Yield what a child reads: nothing, and its end when this process, which alone holds the other side, is gone."""
    theirs, ours = os.pipe()
    try:
        yield theirs
    finally:
        os.close(theirs)
        os.close(ours)


def _own() -> str:
    """Return the folder in which this program lies."""
    return str(Path(sys.modules["ir_interp"].__path__[0]).parent)


def _known() -> list[str]:
    """Return where this process looks for modules, but for the current folder."""
    current = os.path.realpath(Path.cwd())
    return [place for place in sys.path if Path(place).is_absolute() and os.path.realpath(place) != current]
