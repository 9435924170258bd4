"""Integer outputs are exact, however large; only where floats are rounded to them, last bits may decide."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ir_interp
from ir_interp import VerificationError
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.inputs import Inputs
from tests.support.graphs import save_model
from tests.support.runtimes import Array

COUNT = """g (int64[8] x) => (int64[8] y) <int64 million = {1000000}, int64 more = {%d}> {
    z = Mul (x, million) y = Add (z, more) }"""
ROUNDED = """g (float[1,4096] x) => (int64[1,4096] y) <float million = {1000000}> {
    z = Mul (x, million) f = Floor (z) y = Cast <to = 7> (f) }"""


@pytest.fixture
def x(tmp_path: Path) -> Path:
    np.save(tmp_path / "x.npy", np.arange(8))
    return tmp_path / "x.npy"


@pytest.mark.parametrize("off", [1, 100])
def test_a_large_integer_is_exact(off: int, tmp_path: Path, x: Path) -> None:
    """1e-4 of the largest value is 700."""
    right, wrong = (save_model(tmp_path / f"{more}.onnx", COUNT % more, 17) for more in (5, 5 + off))
    assert ir_interp.compare(right, right, inputs={"x": x}).passes
    (output,) = ir_interp.compare(right, wrong, inputs={"x": x}).outputs
    assert (output.compared.verdict, output.seen.absolute) == ("DIFFERS", off)
    (output,) = ir_interp.compare(right, reference=lambda x: x * 1_000_000 + 5 + off, inputs={"x": x}).outputs
    assert output.compared.verdict == "DIFFERS"
    with pytest.raises(VerificationError, match=f"'y' differs by {off}"):
        verify(right, wrong, (), Inputs(files={"x": (x,)}))
    assert ir_interp.compare(right, wrong, inputs={"x": x}, tolerance=1e-4).passes  # on request


def test_last_bits_decide_where_floats_are_rounded(tmp_path: Path) -> None:
    """A float32 near 1e6 is off by 1/32 at most: one in 40 is rounded down to another integer."""
    path = save_model(tmp_path / "a.onnx", ROUNDED, 17)

    def in_float64(x: Array) -> Array:
        return np.floor(x.astype(np.float64) * 1e6).astype(np.int64)

    (output,) = ir_interp.compare(path, reference=in_float64).outputs
    assert 0 < output.seen.absolute <= 1
    assert output.compared.verdict == "equal"
    assert "last bits decide" in output.verdict
    (output,) = ir_interp.compare(path, reference=lambda x: in_float64(x) + 1).outputs
    assert output.compared.verdict == "DIFFERS"
