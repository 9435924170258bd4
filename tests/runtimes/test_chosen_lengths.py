"""Nodes whose prediction depends on lengths, static or chosen for a dynamic file: predicted and run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from ir_interp import Kind
from tests.support.image_nodes import compute_sizes, lay_between_transposes, loosen, values
from tests.support.runtimes import OTHERS, onnx_model, onnxruntime_resize

pytestmark = pytest.mark.usefixtures("one_worker")

IMAGE, ALL = (2, 3), (0, 1, 2, 3)
LINEAR, NEAREST, CUBIC = {"mode": "linear"}, {"mode": "nearest"}, {"mode": "cubic"}
FLOOR, CEIL = {**NEAREST, "nearest_mode": "floor"}, {**NEAREST, "nearest_mode": "ceil"}
UP = {**NEAREST, "nearest_mode": "round_prefer_ceil"}
MODE = "coordinate_transformation_mode"
CORNERS, ASYMMETRIC, MOVED = {MODE: "align_corners"}, {MODE: "asymmetric"}, {MODE: "tf_half_pixel_for_nn"}
SYMMETRIC, TORCH = {MODE: "half_pixel_symmetric"}, {MODE: "pytorch_half_pixel"}
ROWS: tuple[tuple[str, int, tuple[int, ...], tuple[int, ...], dict[str, Any], dict[str, Any], Kind, str], ...] = (
    # runtime, operator set, shape, dynamic dimensions, attributes, target, what is predicted, and why
    ("onnxruntime", 11, (1, 3, 8, 2), (), {**CUBIC, **CORNERS}, {"scales": (1, 1.3, 2, 1)}, Kind.SAME, ""),
    ("onnxruntime", 11, (1, 3, 8, 2), (), CUBIC, {"scales": (1, 1.3, 2, 1)}, Kind.DIFFERS, "mixes up the axes"),
    (
        "openvino",
        13,
        (2, 3, 9, 4),
        IMAGE,
        {**LINEAR, **SYMMETRIC},
        {"scales": (0.5, 1, 2, 2)},
        Kind.REFUSED,
        "does not support",
    ),
    ("tvm", 7, (1, 1, 22, 1), (), NEAREST, {"scales": (1, 1, 1, 4)}, Kind.SAME, ""),
    ("tvm", 7, (1, 1, 22, 2), (), NEAREST, {"scales": (1, 1, 1, 4)}, Kind.DIFFERS, "rounds nearest positions"),
    ("openvino", 13, (2, 3, 6, 7), (0,), LINEAR, {"sizes": (1, 3, 12, 14)}, Kind.REFUSED, "on a single thread"),
    ("openvino", 13, (1, 3, 6, 7), (0,), LINEAR, {"sizes": (1, 3, 12, 14)}, Kind.SAME, ""),
    (
        "onnxruntime",
        11,
        (1, 22, 21, 4),
        (0, 2, 3),
        {**CUBIC, **CORNERS},
        {"scales": (1, 2.6, 3, 1)},
        Kind.SAME,
        "",
    ),
    ("opencv-dnn", 13, (2, 4, 2, 10), ALL, {**CEIL, **MOVED}, {"scales": (1, 1, 1.1, 4)}, Kind.SAME, ""),
    ("opencv-dnn", 13, (2, 4, 2, 10), ALL, {**UP, **MOVED}, {"scales": (1, 1, 1.1, 4)}, Kind.DIFFERS, "shifts an"),
    ("opencv-dnn", 11, (1, 1, 12, 15), (), {**NEAREST, **MOVED}, {"sizes": (1, 1, 24, 19)}, Kind.SAME, ""),
    ("opencv-dnn", 11, (1, 1, 12, 27), (), {**NEAREST, **MOVED}, {"sizes": (1, 1, 24, 51)}, Kind.DIFFERS, "float32"),
    ("opencv-dnn", 11, (1, 1, 9, 8), ALL, {**CUBIC, **MOVED}, {"scales": (1.5, 1, 1, 1)}, Kind.SAME, ""),
    ("opencv-dnn", 11, (2, 5, 6, 4), (0,), {**CUBIC, **MOVED}, {"sizes": (2, 5, 6, 4)}, Kind.SAME, ""),
    ("opencv-dnn", 11, (2, 5, 6, 4), (), {**CUBIC, **MOVED}, {"scales": (1, 1, 2, 1)}, Kind.DIFFERS, "shifts an axis"),
    ("opencv-dnn", 9, (1, 1, 20, 5), IMAGE, NEAREST, {"scales": (1, 1, 2.6, 2)}, Kind.DIFFERS, "ties differently"),
    ("opencv-dnn", 9, (1, 1, 10, 5), IMAGE, NEAREST, {"scales": (1, 1, 2.6, 2)}, Kind.SAME, ""),
    ("mnn", 13, (1, 4, 7, 3), (0,), {**LINEAR, **MOVED}, {"scales": (1, 1, 1.1, 1.3)}, Kind.SAME, ""),
    ("mnn", 19, (1, 3, 9, 8), ALL, {**CUBIC, **MOVED}, {"scales": (1, 1, 1, 1)}, Kind.DIFFERS, "shifts an axis"),
    ("mnn", 11, (1, 3, 9, 14), ALL, {**NEAREST, **CORNERS}, {"scales": (1, 1, 1, 3)}, Kind.SAME, ""),
    (
        "ncnn",
        9,
        (1, 3, 6, 5),
        (),
        NEAREST,
        {"scales": (1, 1, 1.1, 1)},
        Kind.DIFFERS,
        "keeps both sizes",
    ),
    ("ncnn", 11, (1, 3, 21, 3), (), {**NEAREST, **ASYMMETRIC}, {"sizes": (1, 3, 6, 1)}, Kind.SAME, ""),
    ("tvm", 11, (1, 6, 9, 1), (0,), {**LINEAR, **CORNERS}, {"scales": (1, 1, 1, 1)}, Kind.REFUSED, "divides by 0"),
    ("tvm", 13, (1, 3, 1, 26), IMAGE, {**LINEAR, **CORNERS}, {"scales": (1, 1, 1.5, 0.7)}, Kind.DIFFERS, "returns NaN"),
    ("tvm", 13, (2, 1, 2, 30), (), {**CEIL, **TORCH}, {"sizes": (2, 1, 7, 46)}, Kind.SAME, ""),
    ("iree", 19, (1, 4, 15, 8), IMAGE, NEAREST, {"scales": (1, 1, 2.6, 0.5)}, Kind.SAME, ""),
    ("iree", 19, (1, 4, 15, 8), (), NEAREST, {"scales": (1, 1, 2.6, 0.5)}, Kind.DIFFERS, "scales exactly"),
    ("iree", 9, (1, 1, 6, 5), (0,), NEAREST, {"scales": (2, 1.1, 2, 2)}, Kind.DIFFERS, "the last two axes only"),
    ("iree", 13, (1, 9, 8, 4), ALL, LINEAR, {"sizes": (1, 12, 9, 2)}, Kind.REFUSED, "height and width only"),
    (
        "iree",
        13,
        (1, 1, 5, 15),
        (),
        {**LINEAR, **SYMMETRIC},
        {"scales": (1, 1, 2, 0.7)},
        Kind.UNKNOWN,
        "pixel twice",
    ),
    ("iree", 13, (1, 1, 5, 10), (), {**LINEAR, **SYMMETRIC}, {"scales": (1, 1, 2, 1.5)}, Kind.SAME, ""),
    ("tract", 13, (1, 4, 30, 38), (0,), {**NEAREST, **SYMMETRIC}, {"scales": (1, 1, 1.3, 1.1)}, Kind.DIFFERS, "ties"),
    ("tract", 11, (1, 4, 2, 3), IMAGE, {**CUBIC, **TORCH}, {"scales": (1, 1, 0.5, 1)}, Kind.DIFFERS, "at -1/2"),
    ("tract", 11, (1, 4, 5, 3), IMAGE, {**CUBIC, **TORCH}, {"scales": (1, 1, 0.5, 1)}, Kind.SAME, ""),
    ("tract", 19, (2, 1, 9, 7), IMAGE, {**CUBIC, **TORCH}, {"sizes": (1, 1, 5, 11)}, Kind.DIFFERS, "at -1/2"),
)


@pytest.mark.parametrize(("name", "opset", "shape", "dynamic", "attributes", "target", "kind", "why"), ROWS, ids=str)
def test_what_is_predicted_is_seen(
    name: str,
    opset: int,
    shape: tuple[int, ...],
    dynamic: tuple[int, ...],
    attributes: dict[str, Any],
    target: dict[str, Any],
    kind: Kind,
    why: str,
    tmp_path: Path,
) -> None:
    op = "Resize" if opset > 9 else "Upsample"
    model = onnx_model(op, opset, shape, "float32", attributes, **target)
    loosen(model, dynamic)
    onnx.save(model, tmp_path / "a.onnx")
    run = (name not in OTHERS or OTHERS[name].is_installed) and kind is not Kind.UNKNOWN
    (row,) = ir_interp.audit(tmp_path / "a.onnx", runtimes=[name], shapes={"x": shape}, run=run).rows
    predicted = row.predictions[name]
    assert (predicted.kind, why in predicted.reason) == (kind, True), predicted
    assert row.seen.get(name, predicted).kind is kind, row.seen[name]


def test_sizes_of_run_time_that_change_no_length(tmp_path: Path) -> None:
    """A cubic Resize of integers is refused in onnxruntime where a length changes, and copies where none does."""
    path, shape = tmp_path / "a.onnx", (2, 3, 6, 5)
    model = onnx_model("Resize", 13, shape, "uint8", CUBIC, sizes=shape)
    compute_sizes(model, 13, shape, IMAGE, shape)
    loosen(model, ALL)
    onnx.save(model, path)
    verdicts = []
    for lengths in ((2, 3, 7, 5), shape, None):
        (row,) = ir_interp.audit(path, runtimes=["onnxruntime"], shapes={"x": lengths} if lengths else None).rows
        verdicts.append(row.predictions["onnxruntime"])
    assert [each.kind for each in verdicts] == [Kind.REFUSED, Kind.SAME, Kind.REFUSED]
    assert verdicts[-1].reason == "no cubic Resize of uint8; provided that axes [2, 3] change"
    x = values(np.random.default_rng(0), shape, "uint8")
    np.testing.assert_array_equal(onnxruntime_resize(model, {"x": x}), x)


BETWEEN = (  # element type, shape of the node, dynamic dimensions, size, what comes of the chosen lengths, and of any
    (
        "uint8",
        (1, 1, 15, 30),
        (0,),
        {"scales": (1, 1, 3, 4)},
        Kind.DIFFERS,
        "its cubic rounds and clips integers after",
    ),
    ("float32", (2, 1, 18, 1), IMAGE, {"sizes": (2, 1, 6, 1)}, Kind.REFUSED, "no size shrinks"),
)


@pytest.mark.parametrize(("dtype", "shape", "dynamic", "size", "kind", "told"), BETWEEN, ids=str)
def test_a_cubic_between_transposes(
    dtype: str,
    shape: tuple[int, ...],
    dynamic: tuple[int, ...],
    size: dict[str, Any],
    kind: Kind,
    told: str,
    tmp_path: Path,
) -> None:
    """The optimiser of onnxruntime makes it a cubic of images whose channels come last, whatever is dynamic."""
    path = tmp_path / "a.onnx"
    model = onnx_model("Resize", 13, shape, dtype, {**CUBIC, **MOVED}, **size)
    loosen(model, dynamic)
    lay_between_transposes(model, has_relu=False)
    onnx.save(model, path)
    x = values(np.random.default_rng(0), (shape[0], *shape[2:], shape[1]), dtype)
    (row,) = ir_interp.audit(path, runtimes=["onnxruntime"], shapes={"x": x.shape}).rows
    assert row.predictions["onnxruntime"].kind is kind
    (row,) = ir_interp.audit(path, runtimes=["onnxruntime"]).rows
    assert told in str(row.predictions["onnxruntime"])
    if kind is Kind.REFUSED:
        with pytest.raises(Exception, match="'Cubic' mode only supports"):
            onnxruntime_resize(model, {"x": x})
        return
    (op,) = ir_interp.load(path)
    meant = op.run(x.transpose(0, 3, 1, 2)).transpose(0, 2, 3, 1)
    assert np.abs(onnxruntime_resize(model, {"x": x}).astype(int) - meant).max() > 1


def test_a_size_of_run_time_that_is_a_static_length(tmp_path: Path) -> None:
    """An axis keeps its length where the constant entry for it is its static length."""
    path, shape = tmp_path / "a.onnx", (2, 8, 23, 1)
    model = onnx_model("Resize", 12, shape, "float32", {**CUBIC, **ASYMMETRIC}, sizes=shape)
    compute_sizes(model, 12, shape, (1, 2), shape)
    loosen(model, (0, 2, 3))
    onnx.save(model, path)
    (row,) = ir_interp.audit(path, runtimes=["ncnn"], shapes={"x": shape}, run=OTHERS["ncnn"].is_installed).rows
    predicted = row.predictions["ncnn"]
    assert (predicted.kind, row.seen.get("ncnn", predicted).kind) == (Kind.SAME, Kind.SAME)


OF_INTEGERS = (  # element type, dynamic dimensions, size, what comes of the lengths, and the condition of any
    ("uint8", (0, 2, 3), {"scales": (1, 2.6, 3, 1)}, Kind.DIFFERS, ""),
    ("int8", (2, 3), {"sizes": (1, 20, 18, 4)}, Kind.DIFFERS, "provided that a size shrinks"),
    ("int8", (2, 3), {"sizes": (1, 30, 18, 4)}, Kind.DIFFERS, "provided that a size shrinks"),
    ("uint8", (2, 3), {"sizes": (1, 30, 7, 4)}, Kind.REFUSED, "provided that a size shrinks"),
    ("uint8", (1, 2), {"sizes": (1, 30, 18, 4)}, Kind.DIFFERS, "provided that no size changes"),
)


@pytest.mark.parametrize(("dtype", "dynamic", "size", "kind", "condition"), OF_INTEGERS, ids=str)
def test_a_cubic_of_integers_whose_channels_come_last(
    dtype: str, dynamic: tuple[int, ...], size: dict[str, Any], kind: Kind, condition: str, tmp_path: Path
) -> None:
    """onnxruntime runs it only where it grows, and then rounds after each axis."""
    path, shape = tmp_path / "a.onnx", (1, 13, 9, 4)
    model = onnx_model("Resize", 11, shape, dtype, CUBIC, **size)
    loosen(model, dynamic)
    onnx.save(model, path)
    (row,) = ir_interp.audit(path, runtimes=["onnxruntime"], shapes={"x": shape}, run=True).rows
    assert (row.predictions["onnxruntime"].kind, row.seen["onnxruntime"].kind) == (kind, kind)
    (row,) = ir_interp.audit(path, runtimes=["onnxruntime"]).rows
    assert condition in str(row.predictions["onnxruntime"])
