"""The examples in docstrings of the public functions print what they show."""

from __future__ import annotations

import dataclasses
import doctest
import importlib.util
import inspect
from pathlib import Path

import numpy as np
import pytest

import ir_interp
from tests.support.graphs import save_model
from tests.support.places import ROOT

SHRINK = """g (float[1,3,8,8] x) => (float[1,3,4,4] y) <float[4] s = {1,1,0.5,0.5}> {
    [down] y = Resize <mode = "cubic", antialias = 1, cubic_coeff_a = -0.5> (x, "", s) }"""
LONG = ("reproduce", "kit")  # they write and run many models
FUNCTIONS = [name for name in ir_interp.__all__ if inspect.isfunction(getattr(ir_interp, name))]
DATA = inspect.getmembers(ir_interp, dataclasses.is_dataclass)
SPECS = [name for name, member in DATA if member.__module__.startswith("ir_interp.specs.")]
CLASSES = ("Images", "Pipeline", "Prepared", "ResizeOp", *SPECS)
NAMES = [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in (*FUNCTIONS, *CLASSES)]


@pytest.mark.parametrize("name", NAMES)
def test_an_example_prints_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "plot" and importlib.util.find_spec("matplotlib") is None:
        pytest.skip("needs matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("layer.xml").write_bytes((ROOT / "samples" / "pyramid_nearest" / "layer.xml").read_bytes())
    save_model(Path("model.onnx"), SHRINK)
    known = {"ir_interp": ir_interp, "np": np}
    tests = [test for test in doctest.DocTestFinder().find(getattr(ir_interp, name), globs=known) if test.examples]
    assert tests
    printed: list[str] = []
    results = [doctest.DocTestRunner(verbose=False).run(test, out=printed.append) for test in tests]
    assert not any(result.failed for result in results), "".join(printed)
