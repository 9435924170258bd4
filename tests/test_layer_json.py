"""Layers of TensorRT and TFLite: as JSON, as they live in a network, and as the Python that builds them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ir_interp
from ir_interp import (
    Arithmetic,
    Coordinates,
    Cubic,
    InexactError,
    Linear,
    Nearest,
    ReadError,
    ResizeOp,
    Rounding,
    Scales,
    Sizes,
)
from ir_interp.converters import dialects
from ir_interp.converters.dialects import get, names
from ir_interp.translation.meaning import meaning
from ir_interp.translation.translate import Grade, write
from tests.support.ir_text import interpolate

KNOWN = ", ".join(names())
IMAGE: dict[str, Any] = {"shape": [1, 1, 4, 6], "dtype": "float32"}


def saved(folder: Path, *layers: dict[str, Any], dialect: str = "tensorrt", **entries: Any) -> Path:
    path = folder / "layers.json"
    path.write_text(json.dumps({"dialect": dialect, "layers": list(layers), **entries}))
    return path


def read(folder: Path, layer: dict[str, Any], **options: Any) -> ResizeOp:
    (op,) = ir_interp.load(saved(folder, layer, **options))
    return op


def refusal(path: Path) -> str:
    with pytest.raises(ReadError) as caught:
        ir_interp.load(path)
    return str(caught.value)


# TensorRT as JSON


def test_a_layer_in_full(tmp_path: Path) -> None:
    layer = {
        "name": "up",
        "input": {"shape": [1, 3, 8, 8], "dtype": "float16"},
        "resize_mode": "CUBIC",
        "coordinate_transformation": "HALF_PIXEL",
        "selector_for_single_pixel": "UPPER",
        "nearest_rounding": "CEIL",
        "cubic_coeff": -0.5,
        "exclude_outside": True,
        "shape": [1, 3, 16, 4],
    }
    op = read(tmp_path, layer, version=10)
    assert (op.name, op.where) == ("up", "layers.json:layers[0]")
    assert (op.dialect, op.version, op.shape, op.dtype) == ("tensorrt", 10, (1, 3, 8, 8), "float16")
    assert op.spec.kernel == Cubic(a=-0.5, exclude_outside=True)
    assert op.spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL
    assert (op.spec.axes, op.spec.target) == (None, Sizes((1, 3, 16, 4)))
    assert op.spec.arithmetic is Arithmetic.TENSORRT


def test_a_layer_by_its_defaults(tmp_path: Path) -> None:
    op = read(tmp_path, {"scales": [1, 1, 2, 0.5]})
    assert (op.name, op.shape, op.dtype) == ("", None, None)
    assert op.spec.kernel == Nearest(rounding=Rounding.FLOOR)
    assert op.spec.coordinates is Coordinates.ASYMMETRIC
    assert op.spec.target == Scales((1, 1, 2, 0.5))
    y = op.run(np.arange(24.0).reshape(1, 1, 4, 6))
    np.testing.assert_array_equal(y[0, 0, :3], [[0, 2, 4], [0, 2, 4], [6, 8, 10]])


def test_lengths_that_are_open(tmp_path: Path) -> None:
    op = read(tmp_path, {"input": {"shape": [None, 3, None, 8]}, "scales": [1, 1, 2, 2]})
    assert op.shape == (None, 3, None, 8)
    assert op.run(np.zeros((2, 3, 4, 8))).shape == (2, 3, 8, 16)


def test_several_layers(tmp_path: Path) -> None:
    path = saved(tmp_path, {"name": "a", "scales": [2]}, {"name": "b", "resize_mode": "LINEAR", "scales": [3]})
    assert [(op.name, op.where) for op in ir_interp.load(path)] == [
        ("a", "layers.json:layers[0]"),
        ("b", "layers.json:layers[1]"),
    ]


def test_no_layers(tmp_path: Path) -> None:
    assert ir_interp.load(saved(tmp_path)) == []


@pytest.mark.parametrize(
    ("layer", "reason"),
    [
        ({"resize_mod": "LINEAR"}, "@resize_mod: unknown setting; expected one of"),
        ({"nearest_rounding": "half_down"}, "@nearest_rounding: unknown value 'half_down'; expected one of"),
        ({"exclude_outside": 1}, "@exclude_outside: unknown value '1'; expected one of false, true"),
        ({"exclude_outside": "yes"}, "@exclude_outside: unknown value 'yes'; expected one of false, true"),
        ({"cubic_coeff": "a"}, "@cubic_coeff: 'a' is not one number"),
        ({"scales": [1, True]}, "@scales: [1, True] is not a list of numbers"),
        ({}, ": shape and scales are both missing"),
        ({"resize_mode": "LINEAR", "shape": [2, 1, 4, 6]}, ": LINEAR resizes the innermost 3 axes only, not axis 0"),
        ({"resize_mode": "CUBIC", "scales": [1, 2, 2, 2]}, ": CUBIC resizes the innermost 2 axes only, not axis 1"),
    ],
)
def test_settings_that_are_not_understood(layer: dict[str, Any], reason: str, tmp_path: Path) -> None:
    assert refusal(saved(tmp_path, {"input": IMAGE, **layer})).startswith(f"layers.json:layers[0]{reason}")


def test_an_unknown_setting_gets_an_offer(tmp_path: Path) -> None:
    assert refusal(saved(tmp_path, {"scale": [1, 2]})) == (
        "layers.json:layers[0]@scale: unknown setting; expected one of coordinate_transformation, cubic_coeff, "
        "exclude_outside, input, name, nearest_rounding, resize_mode, scales, selector_for_single_pixel, shape; "
        "did you mean 'scales'?"
    )


def test_a_value_in_lower_case_gets_an_offer(tmp_path: Path) -> None:
    assert refusal(saved(tmp_path, {"resize_mode": "linear", "scales": [2]})) == (
        "layers.json:layers[0]@resize_mode: unknown value 'linear'; expected one of CUBIC, LINEAR, NEAREST; "
        "did you mean 'LINEAR'?"
    )


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ({"layers": []}, f"@dialect: missing; expected one of {KNOWN}"),
        ({"dialect": "tensort", "layers": []}, None),
        ({"dialect": "tensorrt"}, "@layers: missing; expected a list of layers"),
        ({"dialect": "tensorrt", "layers": {}}, "@layers: missing; expected a list of layers"),
        ({"dialect": "tensorrt", "version": 8, "layers": []}, "@version: unknown value 8; expected 10"),
        ({"dialect": "tensorrt", "layers": ["up"]}, ":layers[0]: not an object"),
    ],
)
def test_documents_that_are_not_understood(document: dict[str, Any], reason: str | None, tmp_path: Path) -> None:
    path = tmp_path / "layers.json"
    path.write_text(json.dumps(document))
    said = refusal(path)
    if reason is None:
        reason = f"@dialect: unknown dialect 'tensort'; expected one of {KNOWN}; did you mean 'tensorrt'?"
    assert said == f"layers.json{reason}"


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    layers: list[dict[str, Any]] = [
        {"name": "a", "input": IMAGE, "resize_mode": "LINEAR", "shape": [1, 1, 8, 3]},
        {"name": "b", "input": {"shape": [None, 3, None, 8]}, "resize_mode": "CUBIC", "scales": [1, 1, 2, 2]},
        {"name": "c", "coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "HALF_UP", "scales": [1, 1.5]},
    ]
    ops = ir_interp.load(saved(tmp_path, *layers))
    text = dialects.dump_layers([(op, write(op.spec, get("tensorrt"), shape=op.shape)) for op in ops])
    path = tmp_path / "again.json"
    path.write_text(text)
    again = ir_interp.load(path)
    for op, other in zip(ops, again, strict=True):
        assert (other.name, other.shape, other.dtype) == (op.name, op.shape, op.dtype)
        assert meaning(other.spec, other.shape) == meaning(op.spec, op.shape)
    assert text.endswith("\n")
    assert json.loads(text)["dialect"] == "tensorrt"


def test_a_layer_of_openvino_as_json(tmp_path: Path) -> None:
    data = 'mode="nearest" nearest_mode="round_prefer_ceil" coordinate_transformation_mode="half_pixel"'
    (tmp_path / "layer.xml").write_text(interpolate(data, version="opset4"))
    report = ir_interp.convert(tmp_path / "layer.xml", tmp_path / "layer.json")
    assert [(row.name, row.grade) for row in report.rows] == [("up", Grade.EXACT_FOR_SHAPE)]
    assert json.loads((tmp_path / "layer.json").read_text()) == {
        "dialect": "tensorrt",
        "version": 10,
        "layers": [
            {
                "name": "up",
                "input": {"shape": [1, 1, 4, 6], "dtype": "float32"},
                "resize_mode": "NEAREST",
                "coordinate_transformation": "HALF_PIXEL",
                "selector_for_single_pixel": "FORMULA",
                "nearest_rounding": "HALF_UP",
                "shape": [1, 1, 8, 12],
            }
        ],
    }


def test_sizes_of_run_time_are_refused_as_such(tmp_path: Path) -> None:
    """The layer's axes are not what TensorRT cannot say."""
    text = interpolate('axes="2,3" mode="linear"', shape=(1, 1, -1, -1), out=None, dtype="")
    (tmp_path / "layer.xml").write_text(text)
    with pytest.raises(ExceptionGroup) as caught:
        ir_interp.convert(tmp_path / "layer.xml", tmp_path / "layer.json")
    (error,) = caught.value.exceptions
    assert isinstance(error, InexactError)
    assert "run time" in str(error)
    assert not (tmp_path / "layer.json").exists()


@pytest.mark.parametrize("end", ["onnx", "xml"])
def test_json_to_a_runtime_and_back(end: str, tmp_path: Path) -> None:
    path = saved(tmp_path, {"name": "up", "input": IMAGE, "resize_mode": "LINEAR", "shape": [1, 1, 8, 3]})
    report = ir_interp.convert(path, tmp_path / f"up.{end}")
    assert [row.grade for row in report.rows] == [Grade.EXACT]
    ir_interp.convert(tmp_path / f"up.{end}", tmp_path / "back.json")
    x = np.random.default_rng(0).random((1, 1, 4, 6), np.float32)
    ((first,), (second,)) = ir_interp.load(path), ir_interp.load(tmp_path / "back.json")
    np.testing.assert_allclose(second.run(x), first.run(x), rtol=0, atol=1e-6)
    assert second.name == "up"


# TFLite


@pytest.mark.parametrize(
    ("settings", "kernel", "coordinates"),
    [
        ({"op": "RESIZE_BILINEAR"}, Linear(), Coordinates.ASYMMETRIC),
        ({"op": "RESIZE_BILINEAR", "align_corners": True}, Linear(), Coordinates.ALIGN_CORNERS),
        ({"op": "RESIZE_BILINEAR", "half_pixel_centers": True}, Linear(), Coordinates.HALF_PIXEL),
        ({"op": "RESIZE_NEAREST_NEIGHBOR"}, Nearest(rounding=Rounding.FLOOR), Coordinates.ASYMMETRIC),
        (
            {"op": "RESIZE_NEAREST_NEIGHBOR", "align_corners": True},
            Nearest(rounding=Rounding.ROUND_PREFER_CEIL),
            Coordinates.ALIGN_CORNERS,
        ),
        (
            {"op": "RESIZE_NEAREST_NEIGHBOR", "half_pixel_centers": True},
            Nearest(rounding=Rounding.FLOOR),
            Coordinates.TF_HALF_PIXEL_FOR_NN,
        ),
    ],
)
def test_tflite(settings: dict[str, Any], kernel: Any, coordinates: Coordinates, tmp_path: Path) -> None:
    layer = {"name": "up", "input": {"shape": [1, 4, 6, 3], "dtype": "float32"}, "size": [8, 9], **settings}
    path = saved(tmp_path, layer, dialect="tflite")
    (op,) = ir_interp.load(path)
    assert (op.dialect, op.version, op.spec.kernel, op.spec.coordinates) == ("tflite", 1, kernel, coordinates)
    assert (op.spec.axes, op.spec.target) == ((1, 2), Sizes((8, 9)))
    assert op.run(np.zeros((1, 4, 6, 3), np.float32)).shape == (1, 8, 9, 3)
    ir_interp.convert(path, tmp_path / "up.onnx")
    ir_interp.convert(tmp_path / "up.onnx", tmp_path / "back.json", dialect="tflite")
    (back,) = ir_interp.load(tmp_path / "back.json")
    x = np.random.default_rng(0).random((1, 4, 6, 3), np.float32)
    np.testing.assert_allclose(back.run(x), op.run(x), rtol=0, atol=1e-6)


def test_tflite_nearest_takes_both_flags(tmp_path: Path) -> None:
    """round((i + 1/2) (n - 1) / (m - 1)), at most n - 1: as its kernel GetNearestNeighbor has it."""
    flags = {"op": "RESIZE_NEAREST_NEIGHBOR", "align_corners": True, "half_pixel_centers": True}
    layer = {"name": "up", "input": {"shape": [1, 5, 4, 1], "dtype": "float32"}, "size": [9, 1], **flags}
    (op,) = ir_interp.load(saved(tmp_path, layer, dialect="tflite"))
    x = np.arange(20, dtype=np.float32).reshape(1, 5, 4, 1)
    found = op.run(x)
    (row,) = ir_interp.convert(tmp_path / "layers.json", tmp_path / "up.onnx").rows
    assert row.form == "copies along axes 1, 2"
    rows = [min(4, int((i + 0.5) * 4 / 8 + 0.5)) for i in range(9)]
    assert found[0, :, 0, 0].tolist() == [4.0 * row + 2 for row in rows]  # a single output takes round(n / 2)


def test_tflite_rounds_8_bit_integers_half_up(tmp_path: Path) -> None:
    layer = {"input": {"shape": [1, 1, 2, 1], "dtype": "int8"}, "size": [1, 4], "op": "RESIZE_BILINEAR"}
    (op,) = ir_interp.load(saved(tmp_path, {"name": "up", **layer}, dialect="tflite"))
    assert op.run(np.array([-3, -2], np.int8).reshape(1, 1, 2, 1)).ravel().tolist() == [-3, -2, -2, -2]
    assert op.run(np.array([2, 3], np.int8).reshape(1, 1, 2, 1)).ravel().tolist() == [2, 3, 3, 3]


def test_tflite_settings_that_exclude_each_other(tmp_path: Path) -> None:
    layer = {"op": "RESIZE_BILINEAR", "align_corners": True, "half_pixel_centers": True, "size": [8, 9]}
    assert refusal(saved(tmp_path, layer, dialect="tflite")) == (
        "layers.json:layers[0]: align_corners and half_pixel_centers exclude each other in RESIZE_BILINEAR"
    )


def test_tflite_without_an_operator(tmp_path: Path) -> None:
    assert refusal(saved(tmp_path, {"size": [8, 9]}, dialect="tflite")) == (
        "layers.json:layers[0]@op: missing; expected one of RESIZE_BILINEAR, RESIZE_NEAREST_NEIGHBOR"
    )


def test_tflite_axes_cannot_be_chosen(tmp_path: Path) -> None:
    """Its operators resize axes 1 and 2, whatever a file says."""
    layer = {"op": "RESIZE_BILINEAR", "size": [8, 9], "axes": [2, 3]}
    assert refusal(saved(tmp_path, layer, dialect="tflite")).startswith("layers.json:layers[0]@axes: ")
