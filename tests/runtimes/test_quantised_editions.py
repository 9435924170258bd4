"""Resizes between DequantizeLinear and QuantizeLinear in earlier releases of onnxruntime, which run them in levels.

The expected outcomes were seen in onnxruntime 1.16.3, 1.18.1, 1.20.1, 1.22.0, 1.24.4, 1.25.1, 1.26.0, 1.27.0, 1.28.0,
1.29.0, 1.30.0, 1.31.0 and 1.32.0, with levels of int8 and uint8. OpenVINO 2023.3, 2024.6, 2025.4 and 2026.4 compute all
of them as floats; levels at exact halves may round to either side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.support.commands import completed

DROPPING, KEEPING = ("1.16", "1.20", "1.26"), ("1.30", "1.31")
MODES: tuple[tuple[dict[str, Any], str], ...] = (
    ({"mode": "nearest"}, "same"),
    ({"mode": "linear"}, "differs"),
    ({"mode": "linear", "antialias": 1}, "differs"),
    ({"mode": "cubic"}, "refused"),
    ({"mode": "cubic", "antialias": 1}, "differs"),
)


def quantised(
    dtype: str, attributes: dict[str, Any], *, second: float = 0.02, is_output: bool = False
) -> onnx.ModelProto:
    """Return a Resize from levels to levels; those behind it have a scale of ``second``."""
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    constants = [
        numpy_helper.from_array(np.array(0.02, np.float32), "first"),
        numpy_helper.from_array(np.array(second, np.float32), "second"),
        numpy_helper.from_array(np.array(3, dtype), "zero"),
        numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"),
    ]
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "first", "zero"], ["floats"]),
        helper.make_node("Resize", ["floats", "", "scales"], ["resized"], name="up", **attributes),
        helper.make_node("QuantizeLinear", ["resized", "second", "zero"], ["y"]),
    ]
    x = helper.make_tensor_value_info("x", element, [1, 3, 7, 9])
    outputs = [helper.make_tensor_value_info("y", element, [1, 3, 14, 18])]
    if is_output:
        outputs.append(helper.make_tensor_value_info("resized", 1, [1, 3, 14, 18]))
    graph = helper.make_graph(nodes, "g", [x], outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def verdicts(model: onnx.ModelProto, folder: Path) -> dict[str, str]:
    onnx.save(model, folder / "a.onnx")
    names = ["onnxruntime", *completed("audit", "--runtime", "onnxruntime:")]
    (row,) = ir_interp.audit(folder / "a.onnx", runtimes=names).rows
    return {name.removeprefix("onnxruntime:"): verdict.kind.value for name, verdict in row.predictions.items()}


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(("attributes", "kind"), MODES)
def test_in_levels(dtype: str, attributes: dict[str, Any], kind: str, tmp_path: Path) -> None:
    known = verdicts(quantised(dtype, attributes), tmp_path)
    assert {name: known[name] for name in DROPPING} == dict.fromkeys(DROPPING, kind)
    assert {name: known[name] for name in (*KEEPING, "onnxruntime")} == dict.fromkeys((*KEEPING, "onnxruntime"), "same")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("attributes", [attributes for attributes, _ in MODES])
def test_releases_of_openvino_compute_floats(dtype: str, attributes: dict[str, Any], tmp_path: Path) -> None:
    onnx.save(quantised(dtype, attributes), tmp_path / "a.onnx")
    names = ["openvino", "openvino:2024.6", "openvino:2025.4", "openvino:2026.4"]
    (row,) = ir_interp.audit(tmp_path / "a.onnx", runtimes=names).rows
    assert {name: row.predictions[name].kind for name in names} == dict.fromkeys(names, ir_interp.Kind.SAME)


@pytest.mark.parametrize("options", [{"second": 0.03}, {"is_output": True}])
def test_other_levels_and_outputs_stay_floats(options: dict[str, Any], tmp_path: Path) -> None:
    known = verdicts(quantised("uint8", {"mode": "cubic"}, **options), tmp_path)
    assert {name: known[name] for name in DROPPING} == dict.fromkeys(DROPPING, "same")
