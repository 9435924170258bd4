"""The core works without each wing: what a wing adds is gone with its folder, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import ROOT

WINGS = ("converters/frameworks", "converters/fleet.py", "converters/reproduce", "ir_interp/large", "ir_interp/origins")
CORE = """
import numpy as np
import ir_interp

ir_interp.resize(np.zeros((9, 9, 3), np.uint8), (4, 4), "pillow:bicubic")
(op, *_) = ir_interp.load("fpn.onnx")
ir_interp.explain("fpn.onnx", layer=op.name, shape=(1, 16, 20, 20))
ir_interp.convert("fpn.onnx", "fpn.xml")
ir_interp.convert("fpn.xml", "back.onnx", verify=False)
ir_interp.convert("fpn.onnx", "portable.onnx", target="tensorrt", verify=False)
ir_interp.compare("fpn.onnx", "fpn.xml")
ir_interp.fix("fpn.onnx", "fixed.onnx")
assert len(ir_interp.audit("fpn.onnx").rows) == 4
print(ir_interp.__file__)
"""
TESTS = ("tests/test_spec.py", "tests/dialects", "tests/translation", "tests/executor/test_golden.py")


def _without(wing: str, folder: Path) -> None:
    for name in ("ir_interp", "converters", "samples", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc.*"))
    for path in ROOT.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder)
    gone = folder / wing
    assert gone.exists()
    shutil.rmtree(gone) if gone.is_dir() else gone.unlink()


def _run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder, on the sources there."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wing", WINGS)
def test_the_core_works_without_a_wing(wing: str, tmp_path: Path) -> None:
    _without(wing, tmp_path)
    _run(tmp_path, "samples/fpn.py", "fpn.onnx")
    assert _run(tmp_path, "-c", CORE).strip() == str(tmp_path / "ir_interp" / "__init__.py")
    assert "\naudit " in _run(tmp_path, "-m", "ir_interp", "--help").replace("  ", "")


@pytest.mark.long
@pytest.mark.parametrize("wing", WINGS)
def test_the_tests_of_the_core_pass_without_a_wing(wing: str, tmp_path: Path) -> None:
    _without(wing, tmp_path)
    _run(tmp_path, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *TESTS)
