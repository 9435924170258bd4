"""Install the wheel alone in an empty environment of each Python, and run what a new user would run.

``python -m tests.sweeps.pythons [PYTHON ...]`` takes interpreters; by default those of pyenv and of the PATH from 3.11
on. Exits with 1 where a command fails. Needs nothing but Python and pip.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.support.places import ROOT, SAMPLES

_OLDEST = 11  # of Python 3
_LAYER = SAMPLES / "interpolate1_corners" / "layer.xml"
_RESIZE = "import ir_interp, numpy; print(ir_interp.resize(numpy.eye(8), (4, 4), 'pillow:bicubic').shape)"
COMMANDS: dict[tuple[str, ...], int] = {  # with their exit codes
    ("ir-interp", "--version"): 0,
    ("python", "-c", _RESIZE): 0,
    ("ir-interp", "inspect", str(_LAYER)): 0,
    ("python", str(SAMPLES / "exports.py"), "torch-antialias", "soft.onnx"): 0,
    ("ir-interp", "audit", "soft.onnx"): 1,
    ("ir-interp", "fix", "soft.onnx", "fixed.onnx"): 0,
    ("ir-interp", "convert", "fixed.onnx", "fixed.xml"): 0,
    ("ir-interp", "compare", "fixed.onnx", "fixed.xml"): 0,
}


def interpreters() -> list[Path]:
    """Return one interpreter for each version that is installed."""
    folders = [*(Path.home() / ".pyenv" / "versions").glob("*/bin"), *map(Path, os.get_exec_path())]
    versions = range(_OLDEST, 20)
    places = ([folder / f"python3.{minor}" for folder in folders] for minor in versions)
    return [next(path for path in paths if path.is_file()) for paths in places if any(map(Path.is_file, paths))]


def faults(python: Path, folder: Path) -> Iterator[str]:
    """Yield the commands that do not end as they should, in a fresh environment; builds the wheel with its pip."""
    run([str(python), "-m", "venv", "venv"], folder)
    bin_folder = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    pip = [str(bin_folder / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], folder)
    run([*pip, "install", *map(str, folder.glob("*.whl"))], folder)
    for (program, *arguments), code in COMMANDS.items():
        done = run([str(bin_folder / program), *arguments], folder, check=False)
        if done.returncode != code:
            yield f"{program} {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout}{done.stderr}"


def run(command: list[str], folder: Path, *, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a command that finds no package but those of its environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=check)


def main() -> int:
    """Return the exit code."""
    failed = False
    for python in map(Path, sys.argv[1:]) if sys.argv[1:] else interpreters():
        with tempfile.TemporaryDirectory() as folder:
            problems = list(faults(python, Path(folder)))
        print(python, *(problems or [f"{len(COMMANDS)} commands pass"]), sep="\n  ", flush=True)
        failed |= bool(problems)
    return failed


if __name__ == "__main__":
    sys.exit(main())
