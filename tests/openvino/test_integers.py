"""Integers of a converted model are onnxruntime's, bit for bit; where they may not be, the grade says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from ir_interp import Grade
from tests.support.configurations import OnnxCase, model_of
from tests.support.graphs import openvino_outputs
from tests.support.runtimes import Array, onnxruntime_resize
from tests.support.translations import save_onnx

KINDS = [("linear", 0), ("linear", 1), ("cubic", 1)]
"""Mode and antialias: without it there is no cubic Resize of integers."""

PLACES = [(2, (0, 1)), (3, (1, 2)), (4, (2, 3)), (4, (3,)), (4, (1, 2)), (5, (2, 3, 4))]
"""Rank and resized axes."""


def converted(
    case: OnnxCase, x: Array, folder: Path, left_open: str = "nothing", target: str = ""
) -> tuple[Array, Grade]:
    """Return what OpenVINO makes of an IR, or of portable ONNX, that a node became; and its grade."""
    source, made = folder / "x.onnx", folder / ("made.onnx" if target else "made.xml")
    feeds = save_onnx(case, source, left_open)
    report = ir_interp.convert(source, made, verify=False, target=target or None)
    return openvino_outputs(made, {**feeds, "x": x})[0], report.rows[0].grade


def drawn(rank: int, axes: tuple[int, ...], mode: str, antialias: int, dtype: str, seed: int) -> tuple[OnnxCase, Array]:
    """Return a random node of integers, and its input; half of the inputs have many ties."""
    rng = np.random.default_rng([rank, *axes, antialias, len(mode), seed])
    shape = tuple(int(rng.integers(2, 40 if axis in axes else 4)) for axis in range(rank))
    low, high = {"uint8": (0, 255), "int8": (0 if antialias else -128, 127)}.get(dtype, (-30_000, 30_000))
    low, high = (40, 80) if (mode, dtype) == ("cubic", "int8") else (low, high)  # beyond int8 lies a fault
    x = rng.integers(low, high, shape, endpoint=True).astype(dtype)
    attributes: dict[str, Any] = {"mode": mode, "antialias": antialias, "exclude_outside": antialias * (seed % 2)}
    attributes["coordinate_transformation_mode"] = str(rng.choice(["half_pixel", "align_corners", "asymmetric"]))
    given: dict[str, Any] = {"scales": tuple(_scale(rng) if axis in axes else 1.0 for axis in range(rank))}
    if seed % 2:
        lengths = (
            length if length != shape[axis] else length + 1 for axis, length in enumerate(rng.integers(1, 60, rank))
        )
        given = {"sizes": tuple(int(n) if axis in axes else shape[axis] for axis, n in enumerate(lengths))}
    return OnnxCase(op="Resize", opset=19, shape=shape, dtype=dtype, attributes=attributes, **given), x


def _scale(rng: np.random.Generator) -> float:
    return float(np.float32(rng.choice([1 / 6, 0.3, 0.5, 0.6, 2, 2.6])))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
@pytest.mark.parametrize(("rank", "axes"), PLACES)
@pytest.mark.parametrize(("mode", "antialias"), KINDS)
def test_integers_of_an_ir(
    mode: str, antialias: int, rank: int, axes: tuple[int, ...], dtype: str, tmp_path: Path
) -> None:
    if mode == "cubic" and rank in (3, 5):
        return  # refused by onnxruntime
    seed = (rank + len(axes) + len(dtype)) % 2  # scales, or sizes
    case, x = drawn(rank, axes, mode, antialias, dtype, seed)
    wanted = onnxruntime_resize(model_of(case), {"x": x})
    found, grade = converted(case, x, tmp_path)
    if wanted.size:
        assert grade is Grade.EXACT_FOR_SHAPE
    np.testing.assert_array_equal(found, wanted, str(case))


@pytest.mark.long
@pytest.mark.parametrize(("mode", "antialias"), KINDS)
def test_dynamic_dimensions_decide_ties_as_known_ones(mode: str, antialias: int, tmp_path: Path) -> None:
    for dtype in ("uint8", "int8"):
        case, x = drawn(4, (2, 3), mode, antialias, dtype, 3)
        wanted = onnxruntime_resize(model_of(case), {"x": x})
        found, grade = converted(case, x, tmp_path, "shape")
        ambiguous = not antialias  # which axes are an image's is known at run time only
        assert grade is (Grade.INTEGERS_WITHIN_1 if ambiguous else Grade.DECOMPOSED)
        np.testing.assert_allclose(found.astype(int), wanted, rtol=0, atol=int(ambiguous))


@pytest.mark.parametrize("left_open", ["shape", "both"])
def test_dynamic_dimensions_of_listed_axes(left_open: str, tmp_path: Path) -> None:
    case, x = drawn(4, (2, 3), "linear", 0, "uint8", 5)
    assert case.sizes is not None
    listed = OnnxCase(
        op="Resize",
        opset=19,
        shape=case.shape,
        dtype="uint8",
        attributes={**case.attributes, "axes": [2, 3]},
        sizes=case.sizes[2:],
    )
    found, grade = converted(listed, x, tmp_path, left_open)
    assert grade is Grade.DECOMPOSED
    np.testing.assert_array_equal(found, onnxruntime_resize(model_of(case), {"x": x}))


@pytest.mark.parametrize("target", ["", "openvino"])
@pytest.mark.parametrize(("mode", "antialias"), KINDS)
def test_an_image_of_real_size(mode: str, antialias: int, target: str, tmp_path: Path) -> None:
    x = np.random.default_rng(7).integers(0, 256, (1, 3, 480, 640)).astype(np.uint8)
    attributes = {"mode": mode, "antialias": antialias}
    case = OnnxCase(op="Resize", opset=19, shape=x.shape, dtype="uint8", attributes=attributes, sizes=(1, 3, 80, 224))
    wanted = onnxruntime_resize(model_of(case), {"x": x})
    found, grade = converted(case, x, tmp_path, target=target)
    assert grade is Grade.EXACT_FOR_SHAPE
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifted_bits(bits: int, direction: str, tmp_path: Path) -> None:
    """The frontend multiplies and divides, and OpenVINO does so in float32: 42745775 / 8 was 5343222."""
    x, by = [15, 7, 3, 1, 0, 100, 63, 2 ** min(bits, 31) - 1, 42745775 % 2**bits], 3  # the plugin has 31 bits
    ends = [helper.make_tensor_value_info(name, getattr(onnx.TensorProto, f"UINT{bits}"), [9]) for name in ("x", "y")]
    node = helper.make_node("BitShift", ["x", "by"], ["y"], direction=direction)
    constant = numpy_helper.from_array(np.array([by], f"uint{bits}"), "by")
    graph = helper.make_graph([node], "g", ends[:1], ends[1:], [constant])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), tmp_path / "a.onnx")
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "a.xml", verify=False)
    (shifted,) = openvino_outputs(tmp_path / "a.xml", {"x": np.array(x, f"uint{bits}")})
    expected = [n >> by if direction == "RIGHT" else n << by for n in x]
    np.testing.assert_array_equal(shifted, np.array(expected) % 2**bits)
