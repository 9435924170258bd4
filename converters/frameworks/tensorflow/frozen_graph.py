"""The frozen graph of a TensorFlow function: its large variables are written one by one, and never copied together.

TensorFlow's own conversion to constants holds them seven times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ir_interp.errors import ReadError
from ir_interp.files.memory import blocks
from ir_interp.files.wire_format import field_start

_LARGE = 2**20
"""Bytes of the smallest variable that is written apart. The values of smaller ones may be sizes."""
_LARGEST = 2**31 - 2**24
"""Bytes of the variables of a graph: protobuf is limited to 2 GiB, and the operations need room as well."""


def frozen(function: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return a function with constants in place of variables, its graph, and its large variables by their constants.

    The constants of these hold a single 0 in the graph; ``write`` writes their values.
    """
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    with _without_values():
        result = convert_variables_to_constants_v2(function, lower_control_flow=False)
    definition, variables = result.graph.as_graph_def(), _variables(function)
    stand_ins = {node.name for node in nodes(definition) if _is_stand_in(node)}
    if stand_ins <= variables.keys():
        return result, definition, {name: variables[name] for name in stand_ins}
    # Something else is large, or in a branch, or looks like a stand-in: TensorFlow writes all values itself.
    result = convert_variables_to_constants_v2(function, lower_control_flow=False)
    return result, result.graph.as_graph_def(), {}


@contextmanager
def _without_values() -> Iterator[None]:
    """Let TensorFlow write a single 0 in place of the elements of a large variable."""
    from tensorflow.python.framework import convert_to_constants, tensor_util

    def constant(values: Any, dtype: Any, shape: Any) -> Any:
        is_large = values.nbytes >= _LARGE and not values.dtype.hasobject
        return tensor_util.make_tensor_proto(np.zeros((), values.dtype) if is_large else values, dtype, shape)

    convert_to_constants.tensor_util = SimpleNamespace(**vars(tensor_util) | {"make_tensor_proto": constant})
    try:
        yield
    finally:
        convert_to_constants.tensor_util = tensor_util


def _variables(function: Any) -> dict[str, Any]:
    """Return the variables that the main graph of a function reads, by the names of their constants."""
    handles = {id(variable.handle): variable for variable in function.graph.variables}
    return {inner.op.name: handles[id(outer)] for outer, inner in function.graph.captures if id(outer) in handles}


def _is_stand_in(node: Any) -> bool:
    """Return whether a node is a large constant that does not write all its elements."""
    from tensorflow.dtypes import as_dtype

    tensor = node.attr["value"].tensor
    if node.op != "Const" or tensor.tensor_content:
        return False
    count = prod(dimension.size for dimension in tensor.tensor_shape.dim)
    return bool(count * as_dtype(tensor.dtype).size >= _LARGE)


def nodes(definition: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, those of functions included."""
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def size(variable: Any) -> int:
    """Return the bytes of a variable."""
    return int(variable.shape.num_elements() * variable.dtype.size)


def write(definition: Any, variables: dict[str, Any], path: Path, name: str) -> None:
    """Write a graph with the values of its large ``variables``.

    Raises ReadError, under ``name``, if a graph cannot hold them.
    """
    total = sum(map(size, variables.values()))
    if total > _LARGEST:
        problem = f"its variables take {total / 2**30:.3g} GiB, and a frozen graph, which OpenVINO reads, holds 2 GiB"
        raise ReadError(f"{problem}; export a smaller model", name)
    rest = type(definition)()
    rest.CopyFrom(definition)
    rest.ClearField("node")
    with path.open("wb") as file:
        file.write(rest.SerializeToString(deterministic=True))
        for node in definition.node:
            if node.op == "Const" and node.name in variables:
                file.writelines(_constant(node, variables[node.name]))
            else:
                content = node.SerializeToString(deterministic=True)
                file.write(field_start(rest, "node", len(content)) + content)


def _constant(node: Any, variable: Any) -> Iterator[bytes | memoryview]:
    """Yield a node with the value of a variable as its last field, inside four messages."""
    described, others = node.attr["value"].tensor, type(node)()
    tensor = type(described)(dtype=described.dtype, tensor_shape=described.tensor_shape).SerializeToString()
    others.CopyFrom(node)
    del others.attr["value"]
    entry = SimpleNamespace(DESCRIPTOR=node.DESCRIPTOR.fields_by_name["attr"].message_type)
    count = size(variable)
    content = tensor + field_start(described, "tensor_content", count)
    for message, field, before in (
        (node.attr["value"], "tensor", b""),
        (entry, "value", field_start(entry, "key", len(b"value")) + b"value"),
        (node, "attr", others.SerializeToString(deterministic=True)),
    ):
        content = before + field_start(message, field, len(content) + count) + content
    yield field_start(_graph(), "node", len(content) + count) + content
    yield from blocks(variable.numpy())


def _graph() -> Any:
    from tensorflow.core.framework import graph_pb2

    return graph_pb2.GraphDef
