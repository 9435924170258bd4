"""Models whose weights lie in another file, in every place where ONNX allows it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

PLACES = ("initialiser", "sparse initialiser", "Constant", "subgraph", "function", "training")
LENGTH = 256
_OPSET = helper.make_opsetid("", 19)


def save_external(path: Path, place: str, location: str) -> Path:
    """Write a model of a resize to twice its size and a sum with weights, which lie in the file ``location``."""
    made = _model(place, _tensor(location, [LENGTH] if place == "sparse initialiser" else [1, 1, 16, 16]))
    path.write_bytes(made.SerializeToString())
    return path


def _tensor(location: str, shape: list[int]) -> onnx.TensorProto:
    tensor = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=shape, data_location=TensorProto.DataLocation.EXTERNAL
    )
    for key, value in (("location", location), ("offset", "0"), ("length", str(4 * LENGTH))):
        tensor.external_data.add(key=key, value=value)
    return tensor


def _model(place: str, w: onnx.TensorProto) -> onnx.ModelProto:
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "s")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in "xy")
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, 8, 8])
    graph = helper.make_graph(
        [helper.make_node("Resize", ["x", "", "s"], ["r"], name="up", mode="nearest")], "g", [x], [y], [scales]
    )
    total, constant = helper.make_node("Add", ["r", "w"], ["y"]), helper.make_node("Constant", [], ["w"], value=w)
    model = helper.make_model(graph, opset_imports=[_OPSET], ir_version=9)
    nodes = model.graph.node
    match place:
        case "initialiser":
            model.graph.initializer.append(w)
            nodes.append(total)
        case "sparse initialiser":
            indices = numpy_helper.from_array(np.arange(LENGTH), "indices")
            sparse = onnx.SparseTensorProto(values=w, indices=indices, dims=[1, 1, 16, 16])
            model.graph.sparse_initializer.append(sparse)
            nodes.append(total)
        case "Constant":
            nodes.extend([constant, total])
        case "subgraph":
            ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("a", "b")]
            body = helper.make_graph([helper.make_node("Add", ["r", "w"], ["a"])], "body", [], ends[:1], [w])
            other = helper.make_graph([helper.make_node("Identity", ["r"], ["b"])], "other", [], ends[1:])
            model.graph.initializer.append(numpy_helper.from_array(np.array(True), "c"))
            nodes.append(helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other))
        case "function":
            model.functions.append(helper.make_function("own", "add", ["r"], ["y"], [constant, total], [_OPSET]))
            model.opset_import.append(helper.make_opsetid("own", 1))
            nodes.append(helper.make_node("add", ["r"], ["y"], domain="own"))
        case "training":
            nodes.append(helper.make_node("Identity", ["r"], ["y"]))
            model.training_info.add().initialization.node.append(constant)
    return model
