"""Sizes and scales of run time that are no list, of another type, or of another length than the axes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

import ir_interp
from ir_interp import ReadError
from tests.support.ir_text import Net

WRONG = [  # kind, element type and shape of the input, and what is said of it
    ("sizes", "int64", (1, 2), "sizes have shape [1, 2]; expected a list"),
    ("sizes", "int64", (), "sizes have shape []; expected a list"),
    ("sizes", "int64", (3,), "sizes are a list of 3; expected 2, one for each axis"),
    ("sizes", "float32", (2,), "sizes are float32; expected integers"),
    ("scales", "float32", (1, 2), "scales have shape [1, 2]; expected a list"),
    ("scales", "float32", (), "scales have shape []; expected a list"),
    ("scales", "float32", (3,), "scales are a list of 3; expected 2, one for each axis"),
    ("scales", "int64", (2,), "scales are int64; expected floats"),
]


@pytest.mark.parametrize(("kind", "dtype", "shape", "said"), WRONG)
def test_of_a_node(kind: str, dtype: str, shape: tuple[int, ...], said: str, tmp_path: Path) -> None:
    inputs = ["x", "", "", "t"] if kind == "sizes" else ["x", "", "t"]
    node = helper.make_node("Resize", inputs, ["y"], name="up")
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [3, 4])
    target = helper.make_tensor_value_info("t", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    graph = helper.make_graph([node], "g", [x, target], [y])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)]), tmp_path / "a.onnx")
    with pytest.raises(ReadError) as found:
        ir_interp.load(tmp_path / "a.onnx")
    assert str(found.value) == f'a.onnx:node[0 "up"]: {said}'


@pytest.mark.parametrize(("kind", "dtype", "shape", "said"), WRONG)
def test_of_a_layer(kind: str, dtype: str, shape: tuple[int, ...], said: str, tmp_path: Path) -> None:
    net = Net()
    x, target = net.parameter([3, 4], names="x"), net.parameter(shape, dtype=dtype, names="t")
    axes = net.const(np.array([0, 1]), "int64")
    text = f'mode="nearest" shape_calculation_mode="{kind}" nearest_mode="floor"'
    net.add("Result", "", net.add("Interpolate", text, x, target, axes, version="opset11", name="up"))
    (tmp_path / "a.xml").write_text(net.text(), encoding="utf-8")
    (tmp_path / "a.bin").write_bytes(np.array([0, 1]).tobytes())
    with pytest.raises(ReadError) as found:
        ir_interp.load(tmp_path / "a.xml")
    assert str(found.value) == f'a.xml:layer[3 "up"]: {said}'


def test_an_element_type_that_a_file_makes_up(tmp_path: Path) -> None:
    net = Net()
    x, target = net.parameter([3, 4], names="x"), net.parameter((2,), dtype="int64", names="t")
    axes = net.const(np.array([0, 1]), "int64")
    text = 'mode="nearest" shape_calculation_mode="sizes" nearest_mode="floor"'
    net.add("Result", "", net.add("Interpolate", text, x, target, axes, version="opset11", name="up"))
    for wrong in ("1e+38", "i4,f8", "(2,x)i4", "O"):
        (tmp_path / "a.xml").write_text(net.text().replace('precision="I64"', f'precision="{wrong}"'), encoding="utf-8")
        (tmp_path / "a.bin").write_bytes(np.array([0, 1]).tobytes())
        with pytest.raises(ReadError, match="expected integers"):
            ir_interp.load(tmp_path / "a.xml")
