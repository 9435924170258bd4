"""The frozen graph of a TensorFlow function, whose large variables are inputs: their values stay in files.

TensorFlow's own conversion to constants holds them seven times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from ir_interp.array_types import Array

from .stored_variables import is_stored


def frozen(function: Any) -> tuple[Any, Any, dict[str, Any]]:
    """Return a function with constants in place of variables, its graph, and its stored variables by name.

    A stored variable is an input of this name in the graph, and a constant without its value in the function.
    """
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    handles = {id(variable.handle): variable for variable in function.graph.variables if is_stored(variable)}
    stored = {inner.op.name: handles[id(outer)] for outer, inner in function.graph.captures if id(outer) in handles}
    with _without_values(function, handles):
        result = convert_variables_to_constants_v2(function, lower_control_flow=False)
    definition = result.graph.as_graph_def()
    for node in definition.node:
        if node.name in stored:
            _into_input(node)
    return result, definition, stored


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class _StandIn:
    """Stands for a variable whose value the conversion does not copy."""

    handle: Any
    value: Array

    def numpy(self) -> Array:
        return self.value


@contextmanager
def _without_values(function: Any, stored: Mapping[int, Any]) -> Iterator[None]:
    """Let TensorFlow write a single element in place of the values of stored variables."""
    from tensorflow.python.framework import convert_to_constants, tensor_util

    def constant(values: Any, dtype: Any, shape: Any) -> Any:
        is_single = values.size > 1 and not any(values.strides)
        return tensor_util.make_tensor_proto(values.flat[0] if is_single else values, dtype, shape)

    variables = function.graph.variables
    stand_ins = [
        _StandIn(variable.handle, _unknown(variable)) if id(variable.handle) in stored else variable
        for variable in variables
    ]
    function.graph.variables = stand_ins
    convert_to_constants.tensor_util = SimpleNamespace(**vars(tensor_util) | {"make_tensor_proto": constant})
    try:
        yield
    finally:
        convert_to_constants.tensor_util = tensor_util
        function.graph.variables = variables


def _unknown(variable: Any) -> Array:
    """Return an array of the shape of a variable that holds a single element: NaN, or 0 for integers."""
    dtype = np.dtype(variable.dtype.as_numpy_dtype)
    return np.broadcast_to(np.array(0 if dtype.kind in "biu" else np.nan).astype(dtype), variable.shape.as_list())


def _into_input(node: Any) -> None:
    """Turn a constant into an input of the same type and shape."""
    node.op = "Placeholder"
    node.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
    del node.attr["value"]


def nodes(definition: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, those of functions included."""
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def size(variable: Any) -> int:
    """Return the bytes of a variable."""
    return int(variable.shape.num_elements() * variable.dtype.size)
