"""Integers summed in passes of integral weights: the nodes have the executor's bits in both runtimes."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino as ov
import pytest

import ir_interp
from ir_interp.converters.decompose.integer_sums import are_integral
from ir_interp.converters.onnx.resize_form import write_resize as write_onnx
from ir_interp.converters.openvino.ir_save import write_resize as write_ir
from ir_interp.plan.library_passes import Pass
from ir_interp.specs import IntegerRounding
from tests.support.runtimes import Array


def layer(dtype: str, shape: list[int | None], sizes: list[int], **attributes: Any) -> dict[str, Any]:
    attributes |= {"op": "RESIZE_BILINEAR", "size": sizes, "input": {"shape": shape, "dtype": dtype}}
    return {"dialect": "tflite", "layers": [attributes]}


def extremes(dtype: str, shape: list[int]) -> Array:
    """Return the smallest and the largest integers of a type, and some between."""
    rng, bounds = np.random.default_rng(0), np.iinfo(dtype)
    values = rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.4, rng.choice(np.array([bounds.min, bounds.max], dtype), shape), values)


@pytest.mark.sampled(3)
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


@pytest.mark.sampled(2)
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


def of_library(call: str, shape: tuple[int | None, ...], sizes: tuple[int, int]) -> ir_interp.ResizeOp:
    (op,) = ir_interp.load(call)
    spec = replace(op.spec, axes=(2, 3), target=ir_interp.Sizes(sizes))
    return replace(op, spec=spec, shape=shape, dtype="uint8")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("call", "sizes", "ends"),
    [
        ("pillow:box", (12, 20), ("onnx", "xml")),
        ("pillow@12:box", (24, 11), ("onnx", "xml")),
        ("torch:bilinear,antialias=true", (12, 20), ("xml",)),  # onnxruntime's Resize is preferred, and within 2
        ("torch:bicubic", (40, 7), ("onnx",)),  # as OpenVINO's Interpolate is, within 41
        ("torchvision:bilinear", (12, 20), ("xml",)),
    ],
)
def test_libraries_with_a_dynamic_batch_and_channels(
    call: str, sizes: tuple[int, int], ends: tuple[str, ...], tmp_path: Path
) -> None:
    """Weights follow from height and width alone, so any batch has the library's own bytes."""
    op = of_library(call, (None, None, 24, 30), sizes)
    for end in ends:
        path = tmp_path / f"a.{end}"
        row = (write_ir if end == "xml" else write_onnx)(op, path)
        assert (row.form[:25], row.exactness) == ("integral sums along axes ", "exact for this shape")
        for shape in ([1, 3, 24, 30], [3, 1, 24, 30], [2, 5, 24, 30]):
            x = extremes("uint8", shape)
            np.testing.assert_array_equal(in_runtime(path, x), ir_interp.resize(x, op.spec))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(1, 3, 12, 16), (None, 3, 12, 16)])
@pytest.mark.parametrize("sizes", [(23, 16), (23, 40), (7, 40)])
def test_a_box_that_grows_copies_pixels(shape: tuple[int | None, ...], sizes: tuple[int, int], tmp_path: Path) -> None:
    """An axis without weights has a bound as well; the comparison ended in an internal error."""
    op, x = of_library("pillow:box", shape, sizes), extremes("uint8", [1, 3, 12, 16])
    for path, write in ((tmp_path / "a.xml", write_ir), (tmp_path / "a.onnx", write_onnx)):
        row = write(op, path)
        apart = np.abs(in_runtime(path, x).astype(int) - ir_interp.resize(x, op.spec))
        assert apart.max() <= row.within


def in_runtime(path: Path, x: Array) -> Array:
    if path.suffix == ".xml":
        return np.asarray(ov.Core().compile_model(path, "CPU")([x])[0])
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


LAST = "the last axis first"


@pytest.mark.parametrize(
    ("call", "sums"),
    [
        (
            "pillow@12:bilinear",
            f"weights of 22 bits, sums rounded between axes, {LAST} unless the image is over 100 times as tall as wide "
            "and gets shorter",
        ),
        (
            "pillow@13:bicubic",
            f"weights of 22 bits, sums rounded between axes, {LAST} unless the first loses more "
            "than twice as many pixels",
        ),
        ("opencv:linear", f"weights of 11 bits, sums shortened between axes, {LAST}"),
        ("opencv:area", "opencv_area"),
        ("opencv:cubic", "fused sums of float32, as IPP orders them, rounded half to even"),
        ("torch:bilinear", f"weights of 22 bits that fit 16, sums rounded between axes, {LAST}"),
    ],
)
def test_libraries_with_dynamic_sizes_are_refused(call: str, sums: str, tmp_path: Path) -> None:
    """Their weights come from float64 arithmetic, which OpenVINO lacks; preprocess writes what it takes instead."""
    op = of_library(call, (1, 3, None, None), (12, 20))
    for write in (write_ir, write_onnx):
        with pytest.raises(ir_interp.InexactError) as refusal:
            write(op, tmp_path / "a.xml")
        assert refusal.value.reason == f"integers are summed as {sums}, which needs static sizes"


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
