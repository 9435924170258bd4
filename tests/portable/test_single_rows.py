"""Linear resizes of dynamic heights for OpenCV, which reads beyond images of height 1."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import ir_interp
from tests.support.image_nodes import lay_between_transposes, loosen
from tests.support.runtimes import is_installed, onnx_model, onnxruntime_resize, output_of

pytestmark = pytest.mark.usefixtures("one_worker")

MODE = "coordinate_transformation_mode"
FLOORED = {"mode": "nearest", "nearest_mode": "floor", MODE: "align_corners"}
CORNERS, ASYMMETRIC = {MODE: "align_corners"}, {MODE: "asymmetric"}
TWICE, HALF = {"scales": (1, 1, 2, 2)}, {"scales": (1, 1, 2.5, 0.6)}
SECOND_ROW = ", a second row for images of height 1"
ROWS: tuple[tuple[str, int, dict[str, Any], dict[str, Any], str], ...] = (
    # target, operator set, attributes, size, how its form ends
    ("opencv-dnn", 11, {}, TWICE, SECOND_ROW),
    ("opencv-dnn", 13, ASYMMETRIC, TWICE, SECOND_ROW),
    ("opencv-dnn", 13, {}, {"scales": (1, 1, 1, 3)}, SECOND_ROW),
    ("opencv-dnn", 13, CORNERS, HALF, SECOND_ROW),
    ("opencv-dnn", 13, {}, {"sizes": (1, 3, 6, 7)}, SECOND_ROW),
    ("opencv-dnn", 13, CORNERS, {"sizes": (1, 3, 1, 7)}, SECOND_ROW),
    ("any", 13, {}, TWICE, SECOND_ROW),
    ("any", 11, {}, TWICE, SECOND_ROW),  # in operator set 13, since IREE takes no Slice before
    ("any", 18, ASYMMETRIC, TWICE, SECOND_ROW),
    ("tvm", 13, {}, TWICE, ", kept"),
    ("tvm", 13, CORNERS, TWICE, ", kept"),
)


@pytest.mark.parametrize(
    ("target", "opset", "attributes", "size", "end", "is_between"),
    [*((*row, False) for row in ROWS), *((*row, True) for row in ROWS[::3])],  # each case starts runtimes
    ids=str,
)
def test_images_of_every_height(
    target: str,
    opset: int,
    attributes: dict[str, Any],
    size: dict[str, Any],
    end: str,
    is_between: bool,
    tmp_path: Path,
) -> None:
    """What is written computes images of height 1, and others, as the node does."""
    model = onnx_model("Resize", opset, (1, 3, 4, 5), "float32", {"mode": "linear", **attributes}, **size)
    loosen(model, (2, 3))
    if is_between:
        lay_between_transposes(model, has_relu=False)
    source, made = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    (row,) = ir_interp.convert(source, made, target=target, verify=False).rows
    assert row.form.endswith(end)
    runtimes = {"opencv-dnn", "tvm", "iree"} if target == "any" else {target}
    for height in (1, 5):
        x = np.random.default_rng(height).standard_normal((1, 3, height, 5)).astype(np.float32)
        x = x.transpose(0, 2, 3, 1) if is_between else x
        wanted = onnxruntime_resize(model, {"x": x})
        np.testing.assert_allclose(onnxruntime_resize(onnx.load(made), {"x": x}), wanted, atol=1e-5)
        for name in filter(is_installed, runtimes):
            output = output_of(name, made, x)
            assert output is not None, name
            np.testing.assert_allclose(output, wanted, atol=1e-4)


AS_MEANT = "it is computed as meant except for images of height 1, where its linear reads out of bounds"
REFUSED: tuple[tuple[str, int, dict[str, Any], dict[str, Any], str], ...] = (
    ("any", 13, CORNERS, TWICE, AS_MEANT),
    ("any", 13, {}, {"sizes": (1, 3, 6, 7)}, AS_MEANT),
    ("tvm", 13, CORNERS, {"scales": (1, 1, 1.3, 2)}, "align_corners gives no size of 1, which becomes NaN"),
    ("any", 13, FLOORED, TWICE, "iree: its nearest has half_pixel"),
)


@pytest.mark.parametrize(("target", "opset", "attributes", "size", "reason"), REFUSED, ids=str)
def test_what_has_no_form_for_every_height(
    target: str, opset: int, attributes: dict[str, Any], size: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    source, made = tmp_path / "a.onnx", tmp_path / "b.onnx"
    model = onnx_model("Resize", opset, (1, 3, 4, 5), "float32", {"mode": "linear", **attributes}, **size)
    loosen(model, (2, 3))
    onnx.save(model, source)
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, made, target=target, verify=False)
    assert reason in str(refusals.value.exceptions[0])


def test_no_length_is_measured_where_a_runtime_cannot_slice_by_it(tmp_path: Path) -> None:
    """OpenVINO's large copies need the number of elements, and TVM does not load what measures them."""
    model = onnx_model("Resize", 13, (2, 4, 16, 21), "float32", FLOORED, scales=(1, 1, 2, 3))
    loosen(model, (0,))
    source, made = tmp_path / "a.onnx", tmp_path / "b.onnx"
    onnx.save(model, source)
    for target in ("tvm", "openvino"):
        ir_interp.convert(source, made, target=target)
    with pytest.raises(ExceptionGroup) as refusals:
        ir_interp.convert(source, made, target="any")
    reason = "in primitive operations, TVM would have to slice at sizes of run time"
    assert f"{reason}; use shapes and freeze=True to make the shape static" in str(refusals.value.exceptions[0])
