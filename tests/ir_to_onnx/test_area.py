"""Interpolate-1 with mode area, which no runtime executes: operations, whatever lengths are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import openvino as ov
import pytest
from openvino import opset13 as ops

import ir_interp
from tests.support.layers import Draw, in_onnxruntime, layer


@pytest.mark.parametrize("seed", range(20))
def test_open_lengths(seed: int, tmp_path: Path) -> None:
    draw = Draw(seed)
    sizes = draw.integers(2, 1, 12)
    is_open = [draw.chance(0.8) for _ in range(2)]
    shape = draw.integers(2, 1, 14)
    declared = [1, 2, *(-1 if open_ else length for length, open_ in zip(shape, is_open, strict=True))]
    x = ops.parameter(ov.PartialShape(declared), np.float32, name="x")
    target = ops.constant(np.array(sizes, np.int64))
    settings = {"align_corners": draw.chance(), "antialias": False, "pads_begin": [0], "pads_end": [0]}
    y = layer("Interpolate", 1, x, target, axes=[2, 3], mode="area", **settings)
    ov.save_model(ov.Model(y.outputs(), [x], "net"), tmp_path / "a.xml", compress_to_fp16=False)
    ir_interp.convert(tmp_path / "a.xml", tmp_path / "a.onnx", verify=False)
    (op,) = ir_interp.load(tmp_path / "a.xml")
    for times in (1, 2):
        given = [1, 2, *(times * length if open_ else length for length, open_ in zip(shape, is_open, strict=True))]
        values = draw.values(given)
        (made,) = in_onnxruntime(tmp_path / "a.onnx", {"x": values})
        np.testing.assert_allclose(made, op.run(values), rtol=0, atol=2e-5)


def test_sizes_of_run_time_are_verified(tmp_path: Path) -> None:
    """OpenVINO does not run it; this program does, on the sizes that reach it in the result."""
    x = ops.parameter([1, 2, -1, -1], np.float32, name="x")
    lengths = ops.gather(ops.shape_of(x, output_type="i64"), ops.constant([2, 3]), ops.constant(0))
    target = ops.convert(ops.divide(lengths, ops.constant(np.array([3, 2]))), "i64")
    settings = {"align_corners": False, "antialias": False, "pads_begin": [0], "pads_end": [0]}
    y = layer("Interpolate", 1, x, target, axes=[2, 3], mode="area", **settings)
    ov.save_model(ov.Model(y.outputs(), [x], "net"), tmp_path / "a.xml", compress_to_fp16=False)
    verification = ir_interp.convert(tmp_path / "a.xml", tmp_path / "a.onnx", shapes={"x": (1, 2, 10, 7)}).verification
    assert verification is not None
    assert verification.note.endswith("1 of 1 resizes compared with ir_interp's own executor")
    assert [(each.kind, each.passes) for each in verification.outputs] == [("resize", True)]
