"""Infinities and NaNs of an input reach the outputs that they reach in onnxruntime and in OpenVINO."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import openvino as ov
import pytest
from onnx import TensorProto, helper

import ir_interp
from ir_interp.specs import Cubic, Linear
from tests.support.loops import use_loops
from tests.sweeps import infinities

COORDINATES = (
    "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric", "tf_crop_and_resize",
)  # fmt: skip
SIZES = (((4, 4), (8, 8)), ((4, 5), (8, 3)), ((6, 6), (3, 3)), ((5, 7), (5, 9)), ((9, 4), (3, 7)), ((5, 3), (1, 3)))
VALUES = (np.nan, np.inf, -np.inf)


def model(path: Path, shape: tuple[int, ...], out: tuple[int, ...], **attributes: Any) -> None:
    """Write an ONNX model of one resize, of a whole image if it is a crop."""
    rank = len(shape)
    window = np.array([0.0] * rank + [1.0] * rank, np.float32)
    node = helper.make_node("Resize", ["x", "roi", "", "sizes"], ["y"], **attributes)
    ends = [
        helper.make_tensor_value_info(*end) for end in (("x", TensorProto.FLOAT, shape), ("y", TensorProto.FLOAT, out))
    ]
    constants = [
        helper.make_tensor("roi", TensorProto.FLOAT, [2 * rank], window),
        helper.make_tensor("sizes", TensorProto.INT64, [rank], out),
    ]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9), path)


def masks(y: np.ndarray[Any, Any]) -> tuple[bytes, bytes, bytes]:
    return np.isnan(y).tobytes(), (y == np.inf).tobytes(), (y == -np.inf).tobytes()


def images(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """Return images with one infinity or NaN, at each place, and one with several."""
    made = []
    for value, place in product(VALUES, np.ndindex(*shape)):
        x = np.random.default_rng(1).random(shape).astype(np.float32)
        x[place] = value
        made.append(x)
    mixed = np.random.default_rng(2).choice([0.5, 0.5, 0.5, *VALUES], shape).astype(np.float32)
    return [*made, mixed]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("coordinates", COORDINATES)
@pytest.mark.parametrize(
    "attributes",
    [
        {"mode": "linear"},
        {"mode": "cubic"},
        {"mode": "cubic", "exclude_outside": 1},
        {"mode": "linear", "antialias": 1},
        {"mode": "cubic", "antialias": 1},
        {"mode": "cubic", "antialias": 1, "exclude_outside": 1},
    ],
    ids=str,
)
def test_they_are_those_of_onnxruntime(
    attributes: dict[str, Any], coordinates: str, compiled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba") if compiled else None
    use_loops(monkeypatch, "1" if compiled else "0")
    path = tmp_path / "a.onnx"
    for shape, out in SIZES[:3] if compiled else SIZES:
        model(path, (1, 1, *shape), (1, 1, *out), coordinate_transformation_mode=coordinates, **attributes)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        (op,) = ir_interp.load(path)
        for x in images((1, 1, *shape)):
            assert masks(op.run(x)) == masks(session.run(None, {"x": x})[0]), (shape, out)


def test_random_nodes_and_layers_have_those_of_their_runtime() -> None:
    """Crops outside the image, other layouts and mixtures of extreme values among them."""
    counts = infinities.sweep(200, 521129)
    assert not {kind for kind, end in counts if end == "DIFFERENT"}
    assert sum(count for (_, end), count in counts.items() if end == "same") > 270


@pytest.mark.parametrize(("shape", "out"), [((1, 11, 5, 3), (1, 12, 5, 3)), ((1, 5, 6, 1), (1, 9, 9, 1))])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_channels_may_come_last(mode: str, shape: tuple[int, ...], out: tuple[int, ...], tmp_path: Path) -> None:
    """onnxruntime's cubic of such images is that of its antialias, which copies axes that keep their size."""
    path = tmp_path / "a.onnx"
    model(path, shape, out, mode=mode)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (op,) = ir_interp.load(path)
    for x in images(shape)[::4]:
        assert masks(op.run(x)) == masks(session.run(None, {"x": x})[0])


@pytest.mark.sampled(5)
@pytest.mark.parametrize("coordinates", ["half_pixel", "asymmetric", "align_corners"])
@pytest.mark.parametrize("mode", ["linear", "linear_onnx", "cubic", "bilinear_pillow", "bicubic_pillow"])
def test_they_are_those_of_openvino(mode: str, coordinates: str, tmp_path: Path) -> None:
    import openvino.opset11 as ops

    for shape, out in (*SIZES[:4], ((7, 5), (9, 5)), ((7, 5), (3, 5))):
        x = ops.parameter([1, 1, *shape], np.float32, "x")
        axes, sizes = (ops.constant(np.array(values, np.int64)) for values in ((2, 3), out))
        y = ops.interpolate(x, sizes, mode, "sizes", coordinate_transformation_mode=coordinates, axes=axes)
        ov.save_model(ov.Model([y], [x], "m"), tmp_path / "a.xml", compress_to_fp16=False)
        run = ov.Core().compile_model(tmp_path / "a.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        (op,) = ir_interp.load(tmp_path / "a.xml")
        for image in images((1, 1, *shape))[::4]:
            assert masks(op.run(image)) == masks(run(image)[0]), (shape, out)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("antialias", [0, 1])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize(("shape", "out"), SIZES)
def test_a_piece_has_those_of_the_whole(
    mode: str, antialias: int, shape: tuple[int, int], out: tuple[int, int], tmp_path: Path
) -> None:
    """A piece reads the inputs of weight 0 beside it as well."""
    model(tmp_path / "a.onnx", (1, 1, *shape), (1, 1, *out), mode=mode, antialias=antialias)
    (op,) = ir_interp.load(tmp_path / "a.onnx")
    for x in images((1, 1, *shape))[::5]:
        y = op.run(x)
        for row, column in np.ndindex(*out):
            region = (slice(0, 1), slice(0, 1), slice(row, row + 1), slice(column, column + 1))
            assert masks(ir_interp.resize(x, op.spec, region=region)) == masks(y[region])


def test_the_default_leaves_out_inputs_of_weight_0() -> None:
    spec = ir_interp.ResizeSpec(kernel=Linear(), axes=(0, 1), target=ir_interp.Sizes((8, 8)))
    x = np.zeros((4, 4), np.float32)
    x[1, 1] = np.nan
    assert np.isnan(ir_interp.resize(x, spec)).sum() == 16
    assert np.isnan(ir_interp.resize(x, spec, arithmetic="onnxruntime")).sum() == 25
    assert np.isnan(ir_interp.resize(x, spec, arithmetic="openvino")).sum() == 25


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_the_largest_finite_numbers_need_no_warning(dtype: str) -> None:
    """Inputs are compared with a limit that float16 does not hold."""
    spec = ir_interp.ResizeSpec(kernel=Cubic(a=-0.75), axes=(0, 1), target=ir_interp.Sizes((6, 7)))
    x = np.full((4, 4), np.finfo(dtype).max, dtype)
    assert ir_interp.resize(x, spec, arithmetic="onnxruntime").dtype == x.dtype


def test_finite_values_keep_their_bits(tmp_path: Path) -> None:
    """A NaN elsewhere changes no bit of an output that it does not reach."""
    model(tmp_path / "a.onnx", (1, 1, 9, 9), (1, 1, 14, 13), mode="cubic")
    (op,) = ir_interp.load(tmp_path / "a.onnx")
    x = np.random.default_rng(3).random((1, 1, 9, 9)).astype(np.float32)
    plain = op.run(x)
    x[0, 0, 0, 0] = np.nan
    y = op.run(x)
    assert np.isnan(y).any()
    np.testing.assert_array_equal(y[~np.isnan(y)], plain[~np.isnan(y)])


@pytest.mark.parametrize(
    ("mode", "shape", "axes", "sizes", "count", "here"),
    [
        ("linear", (1, 1, 4, 6), [2, 3], [4, 6], 2, 2),
        ("cubic", (1, 1, 4, 6), [2, 3], [4, 6], 12, 12),
        ("linear_onnx", (1, 1, 4, 6, 5), [2, 3, 4], [8, 6, 5], 20, 20),
        ("cubic", (1, 4, 6), [2], [8], 5, 5),
        ("cubic", (1, 2, 4, 6), [1], [8], 32, 32),
        ("linear", (1, 1, 4, 6), [1, 2, 3], [1, 8, 6], 10, 10),
        ("cubic", (1, 1, 4, 6), [1, 2, 3], [1, 8, 6], 28, 28),
        ("linear", (1, 1, 4, 6, 5), [2, 3, 4], [7, 6, 5], 3, 16),  # with align_corners: the same spec as linear_onnx
    ],
)
def test_any_axes_may_be_listed(
    mode: str, shape: tuple[int, ...], axes: list[int], sizes: list[int], count: int, here: int, tmp_path: Path
) -> None:
    """The counts of docs/semantics.md. OpenVINO reads neighbours along axes that keep their size, or are not listed."""
    import openvino.opset11 as ops

    x = np.random.default_rng(0).random(shape, np.float32)
    x[(*(min(1, size - 1) for size in shape[:-1]), 2)] = np.nan
    data = ops.parameter(list(shape), np.float32, name="x")
    coordinates = "align_corners" if count != here else "half_pixel"
    choices: dict[str, Any] = {"coordinate_transformation_mode": coordinates, "cube_coeff": -0.75}
    layer = ops.interpolate(data, np.array(sizes), mode, "sizes", axes=np.array(axes), **choices)
    model, path = ov.Model([layer], [data]), tmp_path / "a.xml"
    ov.save_model(model, path, compress_to_fp16=False)
    theirs = ov.Core().compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([x])[0]
    (op,) = ir_interp.load(path)
    y = op.run(x)
    assert (int(np.isnan(theirs).sum()), int(np.isnan(y).sum())) == (count, here)
    assert count != here or masks(y) == masks(theirs)


def test_a_cubic_sum_may_overflow_in_the_runtime_alone(tmp_path: Path) -> None:
    """It sums the last axis first, which the executor need not; no input and no sum of its own is infinite."""
    model(tmp_path / "a.onnx", (1, 1, 5, 5), (1, 1, 8, 3), mode="cubic")
    session = onnxruntime.InferenceSession(tmp_path / "a.onnx", providers=["CPUExecutionProvider"])
    (op,) = ir_interp.load(tmp_path / "a.onnx")
    largest, overflows = np.finfo(np.float32).max, 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x = np.where(rng.random((1, 1, 5, 5)) < 0.5, 1, rng.choice([largest, -largest], (1, 1, 5, 5))).astype(
            np.float32
        )
        theirs = session.run(None, {"x": x})[0]
        assert masks(op.run(x)) == masks(theirs)
        overflows += not np.isfinite(theirs).all()
    assert overflows
