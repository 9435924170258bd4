"""Start modules of this program as separate processes, whatever lies in the current folder.

That folder may have come with the model. So a child searches modules where Python and this process do, but never
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

from ..runtimes.telemetry import silent_environment

_START = """\
import json, runpy, sys
own, known, module = json.loads(sys.argv[1])
if own not in sys.path:  # not installed: another version of this program may be
    sys.path.insert(0, own)
sys.path += [place for place in known if place not in sys.path]
sys.argv[:] = [module, *sys.argv[2:]]
from ir_interp.files.memory import limit_process
limit_process()
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
_ISOLATED = "-I"  # without the current folder and PYTHON... variables


@contextmanager
def started(module: str, *arguments: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that runs a module, named as for ``python -m``; it is killed at the end, if it still runs.

    Its stdin and stdout are pipes, and its stderr is discarded. It must end when its stdin does: that happens however
    this process ends. Its temporary files go into ``folder``. Its memory is limited to the bound.
    """
    setting = json.dumps([str(Path(sys.modules["ir_interp"].__path__[0]).parent), _module_folders(), module])
    unwritten = ["-B"] if sys.dont_write_bytecode else []
    command = [sys.executable, _ISOLATED, *unwritten, "-c", _START, setting, *arguments]
    environment = {**silent_environment(), "TMPDIR": str(folder.absolute())}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=environment, **pipes)  # type: ignore[call-overload]
    try:  # a signal before this line closes the pipe, and thereby ends the child: nobody waits for it
        yield process
    finally:
        process.kill()
        with process:  # closes its streams
            pass


def _module_folders() -> list[str]:
    """Return where this process looks for modules, except the current folder."""
    current = os.path.realpath(Path.cwd())
    return [place for place in sys.path if Path(place).is_absolute() and os.path.realpath(place) != current]
