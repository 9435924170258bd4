"""Integers summed in passes of integral weights: the nodes have the executor's bits in both runtimes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino as ov
import pytest

import ir_interp
from ir_interp.converters.decompose.integer_passes import are_integral
from ir_interp.plan.libraries.passes import Pass
from ir_interp.spec import IntegerRounding
from tests.support.runtimes import Array


def layer(dtype: str, shape: list[int | None], sizes: list[int], **attributes: Any) -> dict[str, Any]:
    attributes |= {"op": "RESIZE_BILINEAR", "size": sizes, "input": {"shape": shape, "dtype": dtype}}
    return {"dialect": "tflite", "layers": [attributes]}


def extremes(dtype: str, shape: list[int]) -> Array:
    """Return the smallest and the largest integers of a type, and some between."""
    rng, bounds = np.random.default_rng(0), np.iinfo(dtype)
    values = rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.4, rng.choice(np.array([bounds.min, bounds.max], dtype), shape), values)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
@pytest.mark.parametrize(
    ("sizes", "corners", "centres"),
    [([9, 13], False, False), ([9, 13], True, False), ([3, 20], False, True), ([5, 11], False, True)],
)
def test_litert(sizes: list[int], corners: bool, centres: bool, dtype: str, tmp_path: Path) -> None:
    document = layer(dtype, [2, 5, 7, 3], sizes, align_corners=corners, half_pixel_centers=centres)
    (tmp_path / "a.json").write_text(json.dumps(document))
    x = extremes(dtype, [2, 5, 7, 3])
    (op,) = ir_interp.load(tmp_path / "a.json")
    for name in ("a.onnx", "a.xml"):
        (row,) = ir_interp.convert(tmp_path / "a.json", tmp_path / name).rows
        assert row.form.startswith("integral sums along axes ")
        assert row.exactness == "exact for this shape"
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    results = [session.run(None, {session.get_inputs()[0].name: x})[0]]
    results += [ov.Core().compile_model(tmp_path / "a.xml", "CPU")([x])[0]]
    for result in results:
        np.testing.assert_array_equal(result, op.run(x))
        assert result.dtype == x.dtype


@pytest.mark.parametrize(
    ("dtype", "sizes", "corners", "centres"),
    [("uint8", [9, 13], False, True), ("int8", [1, 20], True, False), ("int16", [5, 11], False, True)],
)
def test_litert_with_dynamic_dimensions(
    dtype: str, sizes: list[int], corners: bool, centres: bool, tmp_path: Path
) -> None:
    document = layer(dtype, [None, None, None, 3], sizes, align_corners=corners, half_pixel_centers=centres)
    (tmp_path / "a.json").write_text(json.dumps(document))
    (op,) = ir_interp.load(tmp_path / "a.json")
    for name in ("a.onnx", "a.xml"):
        (row,) = ir_interp.convert(tmp_path / "a.json", tmp_path / name).rows
        assert row.form == "integral sums along axes 1, 2, indices at run time"
        assert row.grade is ir_interp.Grade.DECOMPOSED
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx")
    compiled = ov.Core().compile_model(tmp_path / "a.xml", "CPU")
    for shape in ([1, 1, 2, 3], [2, 29, 47, 3], [1, 300, 7, 3]):
        x = extremes(dtype, shape)
        for result in (session.run(None, {session.get_inputs()[0].name: x})[0], compiled([x])[0]):
            np.testing.assert_array_equal(result, op.run(x))
            assert result.dtype == x.dtype


def weighed(bits: int, weight: int, **more: Any) -> Pass:
    indices, weights = np.zeros((1, 2), np.intp), np.full((1, 2), weight, np.int64)
    return Pass(axis=0, indices=indices, weights=weights, bits_after=bits, **more)


@pytest.mark.parametrize(
    ("step", "dtype", "is_held"),
    [
        (weighed(21, 2**20, rounding=IntegerRounding.HALF_UP), "uint8", True),
        (weighed(21, 2**20, rounding=IntegerRounding.HALF_UP), "int16", True),  # in two pieces
        (weighed(29, 2**28, rounding=IntegerRounding.HALF_UP), "uint8", False),
        (weighed(21, 2**20, rounding=IntegerRounding.HALF_EVEN), "uint8", False),
        (weighed(21, 2**20, rounding=IntegerRounding.HALF_UP, bits_each=4), "uint8", False),
        (weighed(0, 2**20), "uint8", True),
        (weighed(0, 2**20), "int16", False),
    ],
)
def test_what_int32_holds(step: Pass, dtype: str, is_held: bool) -> None:
    assert are_integral([step], dtype) == is_held
