"""Scales that half precision rounded: what they were, and how many pixels they make."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp.converters.audit.mistakes import before_half, rounded_to_half, unrounded
from ir_interp.plan.taps import scaled_length
from ir_interp.specs import Arithmetic
from tests.support.runtimes import onnx_model

SCALES = [Fraction(p, q) for q, ps in ((10, (1, 3, 7, 11, 14, 19, 21, 23, 29, 37)), (3, (1, 2, 4, 5, 8))) for p in ps]
SCALES += [
    Fraction(p, q) for q, ps in ((8, (1, 5, 11)), (7, (3, 10)), (6, (1, 5)), (5, (3, 4, 16)), (12, (7,))) for p in ps
]


def half(scale: Fraction | float) -> float:
    return float(np.float16(float(scale)))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_the_length_is_that_of_pytorch(scale: Fraction) -> None:
    """PyTorch computes floor(length * scale) in double: 100 * 2.3 is 229 there."""
    assert before_half(half(scale)) == scale
    for length in range(1, 1001):
        taken = unrounded(half(scale), length, Arithmetic.ONNXRUNTIME)
        assert float(np.float32(taken)) == taken == pytest.approx(float(scale), rel=1e-6)
        made = scaled_length(Fraction(length), Fraction(taken), Arithmetic.ONNXRUNTIME)
        assert made == math.floor(length * float(scale))


@pytest.mark.parametrize(
    ("scales", "lengths", "certain", "likely"),
    [
        ((1, 1, 2.3, 0.7), (1, 3, 100, 100), [2, 3], [2, 3]),
        ((1, 1, 2.5, 0.125), (1, 3, 100, 100), [], []),
        ((65 / 64, 589 / 256), (64, 256), [1], []),  # the scales are ratios of lengths; 589/256 is 2.3 rounded, too
        ((65 / 64, 589 / 256), (65, 255), [0, 1], [1]),  # 64/63 is simpler than 65/64, but no simple fraction
        ((65 / 64, 589 / 256), (None, None), [0, 1], [1]),
        ((2**-13, 2048), (None, None), [], []),
    ],
)
def test_scales_that_were_rounded(
    scales: tuple[float, ...], lengths: tuple[int | None, ...], certain: list[int], likely: list[int]
) -> None:
    values = tuple(map(half, scales))
    assert rounded_to_half(values, lengths, is_certain=True) == certain
    assert rounded_to_half(values, lengths, is_certain=False) == likely
    unfit = (*values, 0.30000001192092896, 70000.0)  # values that half precision does not hold
    assert rounded_to_half(unfit, (*lengths, None, None), is_certain=False) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("opset", "scale", "length", "rows"),
    [(9, 2.3, 100, 229), (10, 2.3, 100, 229), (10, 0.7, 30, 21), (13, 1.1, 10, 11), (18, 1 / 3, 9, 3)],
)
def test_scales_that_are_stored_in_float32_again(
    opset: int, scale: float, length: int, rows: int, tmp_path: Path
) -> None:
    kind = "Upsample" if opset == 9 else "Resize"
    shape, scales = (1, 1, length, 4), (1, 1, half(scale), 2)
    onnx.save(onnx_model(kind, opset, shape, "float32", {"mode": "linear"}, scales=scales), tmp_path / "a.onnx")
    (row,) = ir_interp.audit(tmp_path / "a.onnx", runtimes=["onnxruntime"]).rows
    message = f"scales were rounded to half precision: {half(scale):.7g} was {Fraction(scale).limit_denominator(10)}"
    assert ("IRI014", message) in row.mistakes
    ir_interp.fix(tmp_path / "a.onnx", tmp_path / "b.onnx")
    (row,) = ir_interp.audit(tmp_path / "b.onnx", runtimes=["onnxruntime"]).rows
    assert row.mistakes == ()
    (op,) = ir_interp.load(tmp_path / "b.onnx")
    assert op.run(np.zeros(shape, np.float32)).shape == (1, 1, rows, 8)
