"""The examples in docstrings of the public functions print what they show."""

from __future__ import annotations

import doctest
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from tests.support.graphs import save_model
from tests.support.places import ROOT

SHRINK = """g (float[1,3,8,8] x) => (float[1,3,4,4] y) <float[4] s = {1,1,0.5,0.5}> {
    [down] y = Resize <mode = "cubic", antialias = 1, cubic_coeff_a = -0.5> (x, "", s) }"""
QUICK = (
    *(ir_interp.load, ir_interp.convert, ir_interp.compare, ir_interp.audit, ir_interp.fix),
    *(ir_interp.explain, ir_interp.plot, ir_interp.spec, ir_interp.identify, ir_interp.preprocess),
)
LONG = (ir_interp.reproduce, ir_interp.kit)  # they write and run many models
FUNCTIONS = [*QUICK, *(pytest.param(each, marks=pytest.mark.long, id=each.__name__) for each in LONG)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_an_example_prints_what_it_shows(
    function: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if function is ir_interp.plot and importlib.util.find_spec("matplotlib") is None:
        pytest.skip("needs matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("layer.xml").write_bytes((ROOT / "samples" / "pyramid_nearest" / "layer.xml").read_bytes())
    save_model(Path("model.onnx"), SHRINK)
    [example] = doctest.DocTestFinder().find(function, globs={"ir_interp": ir_interp, "np": np})
    assert example.examples
    printed: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(example, out=printed.append)
    assert result.failed == 0, "".join(printed)
