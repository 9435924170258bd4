"""Python as another processor, emulated by QEMU: ``python -m tests.support.emulated Haswell -m pytest tests/onnx``.

Without arguments, it only says whether that is possible.

A Haswell has AVX2 but no VNNI, so that sums of 8-bit products saturate; a Nehalem has SSE4 only. Processes that the
emulated Python starts are emulated too, since ``sys.executable`` is a script that starts QEMU.

Needs ``qemu-x86_64`` of QEMU 10 (Debian's package qemu-user; on Debian 12 from backports): QEMU 7.2 computes
OpenVINO's tanh wrong, and dies when a process with threads forks.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "IR_INTERP_FORKS"
"""The variable by which this program forks no process: QEMU hangs now and then where a process with threads forks."""

LEAST = 10
"""The oldest version of QEMU that emulates the instructions of both runtimes right."""

MISSING = {"Haswell": ("pcid", "x2apic", "tsc-deadline", "hle", "rtm", "invpcid"), "Nehalem": ()}
"""The processors, and their features that QEMU does not emulate: it would warn about these."""


def problem() -> str:
    """Return why nothing can be emulated; empty if it can."""
    qemu = shutil.which("qemu-x86_64")
    if qemu is None:
        return "qemu-x86_64 is not installed"
    text = subprocess.run([qemu, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    version = re.search(r"version (\d+)", text)
    return "" if version and int(version[1]) >= LEAST else f"QEMU {LEAST} is needed, not {text.splitlines()[0]}"


@contextmanager
def interpreter(processor: str) -> Iterator[Path]:
    """Yield an executable that runs this Python, with the same packages, as another processor."""
    with tempfile.TemporaryDirectory() as folder:
        place, real = Path(folder), Path(sys.executable).resolve()
        (place / "bin").mkdir()
        # Python takes a folder with this file for a virtual environment, whose packages are in lib.
        own = Path(sys.prefix) / "pyvenv.cfg"
        outside = f"home = {real.parent}\ninclude-system-site-packages = true\n"
        (place / own.name).write_text(own.read_text() if own.exists() else outside)
        (place / "lib").symlink_to(Path(sys.prefix) / "lib")
        script = place / "bin" / "python"
        features = ",".join([processor, *(f"-{name}" for name in MISSING[processor])])
        command = shlex.join(["qemu-x86_64", "-cpu", features, "-0", str(script), str(real)])
        script.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        script.chmod(0o755)
        yield script


def main() -> int:
    """Run Python with the arguments behind the name of a processor."""
    if problem():
        print(problem(), file=sys.stderr)
        return 2
    if len(sys.argv) == 1:
        return 0
    if len(sys.argv) == 2 or sys.argv[1] not in MISSING:
        print(f"usage: python -m tests.support.emulated {{{','.join(MISSING)}}} ARGUMENTS OF PYTHON", file=sys.stderr)
        return 2
    with interpreter(sys.argv[1]) as python:
        # A type of core that is set for OpenBLAS may have instructions that this processor has not.
        environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_CORETYPE"}
        return subprocess.run([python, *sys.argv[2:]], check=False, env={**environment, VARIABLE: "0"}).returncode


if __name__ == "__main__":
    sys.exit(main())
