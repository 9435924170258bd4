"""What onnxruntime makes of a node by its neighbours, its sizes and its extrapolation value: predicted, and run."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]
import pytest
from onnx import helper

import ir_interp
from ir_interp import Kind
from tests.support.runtimes import Array, onnx_model

CHANNELS_MOVE = ((0, 2, 3, 1), (0, 3, 1, 2))


def ran(model: onnx.ModelProto, x: Array) -> Any:
    """Return onnxruntime's output; None if it refuses the model or the run."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return np.asarray(session.run(None, {"x": x})[0])
    except Exception:  # onnxruntime raises various errors
        return None


def predicted(model: onnx.ModelProto, path: Path, runtime: str = "onnxruntime") -> Any:
    onnx.save(model, path)
    (row,) = ir_interp.audit(path, runtimes=[runtime]).rows
    return row.predictions[runtime]


def lay_between_transposes(model: onnx.ModelProto, order: tuple[int, ...], shape: tuple[int, ...]) -> list[int]:
    """Lay the only node of a model between two Transposes, so that it takes an input of a shape.

    Return the order of axes behind the node.
    """
    behind = [int(axis) for axis in np.argsort(order)]
    (resize,) = model.graph.node
    resize.input[0], resize.output[0] = "inside", "resized"
    model.graph.node.insert(0, helper.make_node("Transpose", ["x"], ["inside"], perm=order))
    model.graph.node.append(helper.make_node("Transpose", ["resized"], ["y"], perm=behind))
    for axis, dim in enumerate(model.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_value = shape[axis]
    return behind


@pytest.mark.parametrize("rank", [3, 4])
def test_only_transposes_that_move_channels_of_images_are_moved(rank: int, tmp_path: Path) -> None:
    rng, moved = np.random.default_rng(0), []
    for order in permutations(range(rank)):
        shape = tuple(int(size) for size in rng.integers(2, 6, rank))
        x = rng.random(shape, np.float32)
        inside = tuple(shape[axis] for axis in order)
        attributes = {"mode": "linear", "axes": [rank - 2, rank - 1]}
        model = onnx_model("Resize", 19, inside, "float32", attributes, scales=(2, 3))
        (op,) = ir_interp.load(model)
        behind = lay_between_transposes(model, order, shape)
        verdict, y = predicted(model, tmp_path / "a.onnx"), ran(model, x)
        assert (verdict.kind is Kind.SAME) is (y is not None), order
        if y is None:
            moved.append(order)
        else:
            np.testing.assert_allclose(y, op.run(x.transpose(order)).transpose(behind), atol=1e-5)
    assert moved == (list(CHANNELS_MOVE) if rank == 4 else [])


@pytest.mark.parametrize("opset", [7, 9])
def test_transposes_stay_around_an_upsample(opset: int, tmp_path: Path) -> None:
    model = onnx_model("Upsample", opset, (1, 3, 6, 5), "float32", {"mode": "linear"}, scales=(1, 1, 1.5, 1.3))
    lay_between_transposes(model, CHANNELS_MOVE[0], (1, 5, 3, 6))
    assert predicted(model, tmp_path / "a.onnx").kind is Kind.SAME
    assert ran(model, np.zeros((1, 5, 3, 6), np.float32)).shape == (1, 6, 3, 9)


@pytest.mark.parametrize(("height", "is_refused"), [(7, False), (20, True)])
def test_a_cubic_of_int8_is_copied_if_it_keeps_its_size(height: int, is_refused: bool, tmp_path: Path) -> None:
    model = onnx_model("Resize", 19, (1, 2, height, 4), "int8", {"mode": "cubic"}, scales=(1, 1, 1.1, 1))
    for axis, dim in enumerate(model.graph.input[0].type.tensor_type.shape.dim):
        dim.dim_param = f"n{axis}"
    verdict = predicted(model, tmp_path / "a.onnx")
    assert (verdict.kind, "provided that a size changes" in verdict.reason) == (Kind.REFUSED, True)
    assert (ran(model, np.zeros((1, 2, height, 4), np.int8)) is None) is is_refused


@pytest.mark.parametrize(("sizes", "kind"), [((1, 1, 4, 11), Kind.SAME), ((1, 1, 8, 11), Kind.DIFFERS)])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_int8_under_antialias_loses_signs_only_if_a_size_changes(
    sizes: tuple[int, ...], kind: Kind, mode: str, tmp_path: Path
) -> None:
    model = onnx_model("Resize", 18, (1, 1, 4, 11), "int8", {"mode": mode, "antialias": 1}, sizes=sizes)
    x = np.random.default_rng(0).integers(-128, 127, (1, 1, 4, 11)).astype(np.int8)
    assert predicted(model, tmp_path / "a.onnx").kind is kind
    (op,) = ir_interp.load(model)
    assert np.array_equal(ran(model, x), op.run(x)) is (kind is Kind.SAME)


WHOLE, BEYOND = (0, 0, 0, 0, 1, 1, 1, 1), (0, 0, -0.3, -0.3, 1, 1, 1.3, 1.3)


@pytest.mark.parametrize("attributes", [{"mode": "linear"}, {"mode": "nearest"}, {"mode": "linear", "antialias": 1}])
@pytest.mark.parametrize(
    ("dtype", "value", "roi", "kind"),
    [
        ("uint8", -2.3, BEYOND, Kind.DIFFERS),
        ("uint8", 300.0, BEYOND, Kind.DIFFERS),
        ("uint8", -0.9, BEYOND, Kind.SAME),
        ("uint8", 255.9, BEYOND, Kind.SAME),
        ("uint8", 300.0, WHOLE, Kind.SAME),
        ("int8", -200.0, BEYOND, Kind.DIFFERS),
        ("int8", -128.9, BEYOND, Kind.SAME),
        ("int32", 1e10, BEYOND, Kind.DIFFERS),
        ("int32", 300.0, BEYOND, Kind.SAME),
        ("float32", -2.3, BEYOND, Kind.SAME),
    ],
)
def test_extrapolation_beyond_the_type(
    dtype: str, value: float, roi: tuple[float, ...], kind: Kind, attributes: dict[str, Any], tmp_path: Path
) -> None:
    """The value is truncated, and saturates; onnxruntime leaves it to the processor."""
    if dtype == "int8" and "antialias" in attributes:
        pytest.skip("it loses its signs")
    words = {**attributes, "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": value}
    model = onnx_model("Resize", 18, (1, 1, 6, 6), dtype, words, sizes=(1, 1, 8, 8), roi=roi)
    verdict = predicted(model, tmp_path / "a.onnx")
    assert verdict.kind is kind
    (op,) = ir_interp.load(model)
    x = np.random.default_rng(0).integers(0, 100, (1, 1, 6, 6)).astype(dtype)
    y = op.run(x)
    if roi is BEYOND and dtype != "float32":
        limits = np.iinfo(dtype)
        assert y[0, 0, 0, 0] == min(max(int(value), limits.min), limits.max)
    if kind is Kind.SAME:
        np.testing.assert_allclose(ran(model, x), y, atol=1e-4)
    else:
        assert "wraps the extrapolation value" in verdict.reason
        with pytest.raises((ExceptionGroup, ir_interp.IrInterpError)):
            ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", target="openvino")
        with pytest.raises((ExceptionGroup, ir_interp.IrInterpError)) as refusal:
            ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.xml")
        assert "wraps the extrapolation value" in str(getattr(refusal.value, "exceptions", refusal.value))


def test_windows_of_run_time_may_reach_beyond_the_image(tmp_path: Path) -> None:
    words = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 300.0}
    model = onnx_model("Resize", 18, (1, 1, 6, 6), "uint8", words, sizes=(1, 1, 8, 8), roi=WHOLE)
    model.graph.input.append(helper.make_tensor_value_info("roi", 1, [8]))
    kept = [tensor for tensor in model.graph.initializer if tensor.name != "roi"]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    verdict = predicted(model, tmp_path / "a.onnx")
    assert (verdict.kind, "provided that an output lies outside" in verdict.reason) == (Kind.DIFFERS, True)
