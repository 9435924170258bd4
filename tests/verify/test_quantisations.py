"""What a model rounds to levels whose scale run time finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ir_interp import VerificationError
from ir_interp.converters.verify.compare import quantised_levels
from ir_interp.converters.verify.compare.model_outputs import SegmentError
from ir_interp.converters.verify.compare.quantisations import DynamicQuantisation
from ir_interp.converters.verify.conversion import verify
from ir_interp.converters.verify.run.inputs import Inputs
from tests.support.graphs import save_model

EACH = DynamicQuantisation(before="x", levels="y", scale="s", zero="z")


def values(scale: float, x: Any = (-1.0, 1.55), zero: int = 100) -> dict[str, Any]:
    """Return what a runtime makes of x: levels 0.01 apart."""
    x = np.array(x, np.float32)
    return {"x": x, "s": np.float32(scale), "z": np.uint8(zero), "y": (np.rint(x * 100) + zero).astype(np.uint8)}


def test_levels_are_counted_from_the_one_that_is_zero() -> None:
    """Which may tie as well: then all of them are moved by one."""
    own, made = values(0.01, (-1.0, 0.123, 1.55)), values(0.01, (-1.0, 0.123, 1.55), zero=99)
    numbers = EACH.numbers(own, own)
    assert numbers == pytest.approx([-1.0, 0.12, 1.55])
    assert EACH.numbers(made, own)[1:] == pytest.approx(numbers[1:])
    assert EACH.fixed(own).step == pytest.approx(0.01)


def test_a_scale_may_differ_by_what_any_output_may() -> None:
    quantised_levels._check_scale(EACH, values(0.01), values(0.01 * (1 + 9e-5)))
    with pytest.raises(
        SegmentError, match=r"'y' is the first that differs: its scale is 0\.010002, in the source 0\.01$"
    ):
        quantised_levels._check_scale(EACH, values(0.01), values(0.010002))


def test_levels_differ_even_where_outputs_agree(tmp_path: Path) -> None:
    """On these inputs nothing comes of the levels; on others it would."""
    text = """g (float[1,8] x) => (float[1,8] y) <float s = {0.01}, uint8 z = {%d}, float nothing = {0}> {
        [q] levels = QuantizeLinear (x, s, z) [d] quantised = DequantizeLinear (levels, s, z)
        y = Mul (quantised, nothing) }"""
    right, wrong = (save_model(tmp_path / f"{zero}.onnx", text % zero, 13) for zero in (100, 250))
    assert verify(right, right, (), Inputs()) is not None
    with pytest.raises(
        VerificationError, match=r"^the segment that ends with the quantisation 'quantised' is the first"
    ):
        verify(right, wrong, (), Inputs())


def test_any_scale_will_do_for_zeros() -> None:
    quantised_levels._check_scale(EACH, values(0, (0, 0)), values(1, (0, 0)))
    assert EACH.fixed(values(0, (0, 0))).step == 1
