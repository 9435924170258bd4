"""A portable model of n resizes takes n times as long as one: a file of 100,000 is no way to keep a machine busy."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import ir_interp
from tests.support.graphs import assert_equal, onnxruntime_outputs, values

WISH: dict[str, Any] = {"target": "openvino", "only": "decomposed", "verify": False}


def resizes(count: int, name: str = "up{}", opset: int = 13, *, inner: bool = False) -> onnx.ModelProto:
    """Return a chain that doubles and halves, all of it, or all but the first, in a branch if ``inner``."""
    constants = [numpy_helper.from_array(np.array([1, 1, each, each], np.float32), f"by {each}") for each in (2.0, 0.5)]
    nodes = [
        helper.make_node(
            "Resize",
            [f"t{index}", "", f"by {(2.0, 0.5)[index % 2]}"],
            [f"t{index + 1}"],
            name=name.format(index),
            mode="linear",
        )
        for index in range(count)
    ]
    x, y = (helper.make_tensor_value_info(f"t{each}", 1, [None] * 4 if each else [1, 1, 4, 5]) for each in (0, count))
    if inner:
        branches = [helper.make_graph(nodes[1:], each, [], [y]) for each in ("a", "b")]
        for index, branch in enumerate(branches):
            for node in branch.node:
                node.name += f" in {index}"
        constants.append(numpy_helper.from_array(np.array(True), "c"))
        nodes = [nodes[0], helper.make_node("If", ["c"], ["y"], then_branch=branches[0], else_branch=branches[1])]
        y = helper.make_tensor_value_info("y", 1, [None] * 4)
    graph = helper.make_graph(nodes, "g", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def seconds(count: int, name: str, folder: Path) -> float:
    source = folder / "a.onnx"
    source.write_bytes(resizes(count, name).SerializeToString())
    start = time.process_time()
    assert len(ir_interp.convert(source, folder / "b.onnx", **WISH).rows) == count
    return time.process_time() - start


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", ["up{}", "up"], ids=["names of their own", "one name"])
def test_time_grows_with_their_number(name: str, tmp_path: Path) -> None:
    """Of 8 times as many in 8 times the time; in the square of it, these would take 30 times."""
    seconds(20, name, tmp_path)  # what is imported late
    few, many = (min(seconds(count, name, tmp_path) for _ in range(2)) for count in (60, 480))
    assert many < 14 * few


@pytest.mark.parametrize("inner", [False, True], ids=["in a row", "in branches"])
def test_each_takes_the_place_of_its_own(inner: bool, tmp_path: Path) -> None:
    (tmp_path / "a.onnx").write_bytes(resizes(5, inner=inner).SerializeToString())
    ir_interp.convert(tmp_path / "a.onnx", tmp_path / "b.onnx", **WISH)
    made = onnx.load(tmp_path / "b.onnx")
    onnx.checker.check_model(made)
    assert "Resize" not in str(made)
    x = values(1, 1, 4, 5)
    (wanted,), (found,) = (onnxruntime_outputs(tmp_path / name, {"t0": x}) for name in ("a.onnx", "b.onnx"))
    assert_equal(found, wanted)
