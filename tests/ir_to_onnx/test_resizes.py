"""Interpolate inside whole models: where Resize is exact and runs, and where it is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from openvino import opset1

import ir_interp
from ir_interp import UnsupportedLayerError
from tests.support.configurations import IrCase, run_in_openvino
from tests.support.graphs import onnxruntime_outputs, openvino_outputs, values
from tests.support.layers import Configuration, Draw, check, configurations, constant, layer
from tests.support.translations import ir_to_onnx


def followed(x: Any) -> Any:
    """Return something else that computes, so that the net is not a resize alone."""
    return layer("Relu", 1, x)


def resize(draw: Draw) -> Any:
    shape = [1, 2, *draw.integers(2, 3, 6)]
    attributes = {
        "mode": draw.among("nearest", "linear_onnx", "cubic"),
        "shape_calculation_mode": "sizes",
        "coordinate_transformation_mode": draw.among("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners"),
        "nearest_mode": draw.among("floor", "ceil"),
        "antialias": False,
        "pads_begin": [0],
        "pads_end": [0],
        "cube_coeff": draw.among(-0.75, -0.5),
    }
    sizes = constant(draw.integers(2, 2, 12), np.int64)
    return followed(layer("Interpolate", 11, draw.numbers(shape), sizes, constant([2, 3], np.int64), **attributes))


def resize_of_axes(version: int) -> Configuration:
    """The versions before 11; their linear mode shrinks with antialias."""

    def draw_layer(draw: Draw) -> Any:
        x, sizes = draw.numbers([1, 2, *draw.integers(2, 5, 9)]), draw.integers(2, 2, 12)
        pads = {name: draw.among([0], [0, 0, 1, 2]) for name in ("pads_begin", "pads_end")}
        attributes: dict[str, Any] = {"antialias": draw.chance(), **pads}
        if version == 1:
            attributes |= {"axes": [2, 3], "mode": draw.among("nearest", "linear"), "align_corners": draw.chance()}
            return followed(layer("Interpolate", 1, x, constant(sizes, np.int64), **attributes))
        attributes |= {
            "mode": draw.among("linear", "linear_onnx", "nearest", "cubic"),
            "shape_calculation_mode": "sizes",
            "coordinate_transformation_mode": draw.among("half_pixel", "asymmetric"),
            "nearest_mode": draw.among("floor", "round_prefer_ceil"),
            "cube_coeff": draw.among(-0.75, -0.5),
        }
        scales, axes = constant([1, 1], np.float32), constant([2, 3], np.int64)
        return followed(layer("Interpolate", 4, x, constant(sizes, np.int64), scales, axes, **attributes))

    return draw_layer


def resize_like_another(draw: Draw) -> Any:
    """Sizes that shape arithmetic makes of another input."""
    x, other = draw.numbers([1, 2, 3, 4]), draw.numbers([1, 1, *draw.integers(2, 3, 9)])
    shape = layer("ShapeOf", 3, other, output_type="i64")
    sizes = layer("StridedSlice", 1, shape, *(constant([v], np.int64) for v in (2, 4, 1)), begin_mask=[0], end_mask=[0])
    attributes: dict[str, Any] = {
        "mode": "nearest",
        "nearest_mode": "floor",
        "coordinate_transformation_mode": "asymmetric",
    }
    attributes |= {"shape_calculation_mode": "sizes", "pads_begin": [0], "pads_end": [0]}
    return followed(layer("Interpolate", 11, x, sizes, constant([2, 3], np.int64), **attributes))


def resize_at_run_time(draw: Draw) -> Any:
    attributes: dict[str, Any] = {
        "mode": "nearest",
        "nearest_mode": "floor",
        "coordinate_transformation_mode": "asymmetric",
    }
    attributes |= {"shape_calculation_mode": "sizes", "pads_begin": [0], "pads_end": [0]}
    sizes = draw.input(np.array(draw.integers(2, 2, 9), draw.among(np.int32, np.int64)))
    x = draw.numbers([1, 2, 3, 4])
    return followed(layer("Interpolate", 11, x, sizes, constant([2, 3], np.int64), **attributes))


def resize_between_transposes(draw: Draw) -> Any:
    """An image whose channels come last: onnxruntime's optimiser moves the Transposes, also over a Resize."""
    before, behind = (constant(order, np.int64) for order in ([0, 3, 1, 2], [0, 2, 3, 1]))
    attributes = {
        "mode": draw.among("nearest", "linear_onnx", "cubic"),
        "shape_calculation_mode": draw.among("sizes", "scales"),
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
        "antialias": False,
        "pads_begin": [0],
        "pads_end": [0],
        "cube_coeff": -0.75,
    }
    sizes = draw.integers(2, 2, 12)
    if attributes["shape_calculation_mode"] == "scales":
        target = constant([2, 0.5], np.float32)
    else:
        target = draw.either(np.array(sizes, np.int64))
    image = draw.input(draw.values([2, *draw.integers(2, 3, 6), 3]), open_axes=draw.some(3))
    x = layer("Transpose", 1, image, before)
    axes = constant(draw.among([2, 3], [3, 2]), np.int64)
    return layer("Transpose", 1, layer("Interpolate", 11, x, target, axes, **attributes), behind)


RESIZES: dict[str, Configuration] = {
    "Interpolate": resize,
    "Interpolate-1": resize_of_axes(1),
    "Interpolate-4": resize_of_axes(4),
    "Interpolate like another": resize_like_another,
    "Interpolate at run time": resize_at_run_time,
    "Interpolate between Transposes": resize_between_transposes,
}


@pytest.mark.parametrize(("configuration", "seed"), configurations(RESIZES))
def test_layer(configuration: Configuration, seed: int) -> None:
    check(configuration, seed)


@pytest.mark.parametrize(
    ("case", "note"),
    [
        (
            IrCase(version=4, shape=(25,), attributes={"mode": "nearest"}, axes=(0,), scales=(2.5999999046325684,)),
            "ONNX's shape inference computes another size from the scales than float32",
        ),
        (
            IrCase(version=11, shape=(9, 7), dtype="int32", attributes={"mode": "bilinear_pillow"}, sizes=(20, 9)),
            "onnxruntime: it rounds int32 after each axis under antialias",
        ),
    ],
    ids=["scales of two lengths", "int32 under antialias"],
)
def test_what_resize_would_not_say_right(case: IrCase, note: str) -> None:
    outcome = ir_to_onnx(case)
    assert outcome.note == note
    assert outcome.output is not None
    np.testing.assert_array_equal(outcome.output, run_in_openvino(case))


def test_ties_behind_pads() -> None:
    """23 to 34 lengths, padded: of output 17 at 11.5 float32 makes another pixel in onnxruntime."""
    attributes = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "round_prefer_ceil",
        "pads_begin": (1,),
        "pads_end": (1,),
    }
    case = IrCase(version=4, shape=(21,), attributes=attributes, axes=(0,), sizes=(34,))
    outcome = ir_to_onnx(case, left_open="shape")
    assert outcome.note == "Resize may decide float32 ties differently"
    assert outcome.output is not None
    np.testing.assert_array_equal(outcome.output, run_in_openvino(case))


def test_a_dynamic_cubic_whose_channels_come_last_may_shrink() -> None:
    """onnxruntime has no kernel for that; verification, which enlarges, would not show it."""
    attributes = {"mode": "cubic", "align_corners": False, "pads_begin": "0", "pads_end": "0"}
    case = IrCase(version=1, shape=(1, 5, 12, 4), dtype="float32", attributes=attributes, axes=(1, 2), sizes=(15, 2))
    expected = run_in_openvino(case)
    for left_open in ("shape", "both"):
        outcome = ir_to_onnx(case, left_open=left_open)
        assert outcome.output is not None
        np.testing.assert_allclose(outcome.output, expected, rtol=0, atol=1e-5)
        assert outcome.note == "onnxruntime: it may refuse a cubic Resize of channels-last images that may shrink"


def padded(path: Path, axes: tuple[int, ...], pads: tuple[tuple[int, ...], tuple[int, ...]], behind: str = "") -> Path:
    """Write an Interpolate-1 that pads axes, listed or not."""
    shape = (2, 3, 7, 5)[-len(pads[0]) :]
    x = opset1.parameter(shape, np.float32, name="x")
    attributes = {"axes": axes, "mode": "nearest", "pads_begin": pads[0], "pads_end": pads[1]}
    y = opset1.interpolate(x, opset1.constant(np.array([14, 9][: len(axes)], np.int64)), attributes)
    end = opset1.relu(y) if behind else y
    ov.save_model(ov.Model([opset1.result(end)], [x]), path, compress_to_fp16=False)
    return path


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("axes", "pads"),
    [
        ((2,), ((0, 1, 1), (0, 1, 1))),
        ((1, 2), ((1, 0, 0), (1, 0, 0))),
        ((1, 2), ((1, 2, 0), (1, 1, 1))),
        ((2, 3), ((1, 0, 2, 0), (0, 0, 1, 1))),
        ((2, 3), ((1, 0, 0, 0), (0, 0, 0, 0))),
        ((1, 2), ((1, 0, 0, 0), (1, 0, 0, 0))),
    ],
)
def test_pads_of_axes_that_are_not_listed(
    axes: tuple[int, ...], pads: tuple[tuple[int, ...], tuple[int, ...]], tmp_path: Path
) -> None:
    """OpenVINO declares the size of such an axis as kept, and returns a larger one."""
    source = padded(tmp_path / "a.xml", axes, pads)
    report = ir_interp.convert(source, tmp_path / "a.onnx")
    assert report.verification is not None
    x = values(*ov.Core().read_model(source).input(0).shape)
    (expected,) = openvino_outputs(source, {"x": x})
    (actual,) = onnxruntime_outputs(tmp_path / "a.onnx", {"x": x})
    np.testing.assert_array_equal(actual, expected)
    assert actual.shape != tuple(ov.Core().read_model(source).output(0).shape)


@pytest.mark.parametrize(
    ("axes", "pads", "behind", "problem"),
    [
        ((1, 2), ((0, 0, 1, 1), (0, 0, 1, 1)), "", "OpenVINO applies these pads to others"),
        ((2, 3), ((1, 0, 0, 0), (0, 0, 0, 0)), "relu", "read another shape than the declared one"),
    ],
)
def test_pads_of_unlisted_axes_that_openvino_leaves_open(
    axes: tuple[int, ...], pads: tuple[tuple[int, ...], tuple[int, ...]], behind: str, problem: str, tmp_path: Path
) -> None:
    source = padded(tmp_path / "a.xml", axes, pads, behind)
    with pytest.raises(ExceptionGroup) as failure:
        ir_interp.convert(source, tmp_path / "a.onnx", verify=False)
    (error,) = failure.value.exceptions
    assert isinstance(error, UnsupportedLayerError)
    assert problem in str(error)
