"""Frozen graphs, read node by node: parsing takes twice the bytes of a file, and TensorFlow copies them as often."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ir_interp.files import stored_arrays
from ir_interp.files.memory import mapped
from ir_interp.files.wire_format import Data, fields, number_of

from .stored_variables import creating_stored


def read(path: Path, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return the graph of a file, and variables in place of its large constants, by their names.

    The values are in files of a folder. In the graph, the constants are operations without outputs.
    """
    from tensorflow.core.framework import graph_pb2

    with path.open("rb") as file, creating_stored(folder):
        data = mapped(file)
        try:
            return _read(data)
        except (IndexError, ValueError):  # of a broken message, whose error the parser names
            return graph_pb2.GraphDef.FromString(data[:]), {}


def _read(data: Data) -> tuple[Any, dict[str, Any]]:
    from tensorflow.core.framework import graph_pb2, node_def_pb2

    definition, variables = graph_pb2.GraphDef(), {}
    for number, start, value, end in fields(data, 0, len(data)):
        if number == number_of(definition, "node") and end - value >= stored_arrays.LARGE:
            node = node_def_pb2.NodeDef.FromString(data[value:end])
            variable = _variable(node)
            if variable is not None:
                variables[node.name] = variable
                node = node_def_pb2.NodeDef(name=node.name, op="NoOp", input=node.input)
            definition.node.append(node)
        else:
            definition.MergeFromString(data[start:end])
    return definition, variables


def _variable(node: Any) -> Any:
    """Return a large constant as a variable; None for other nodes, and for text."""
    import tensorflow

    if node.op != "Const" or tensorflow.as_dtype(node.attr["dtype"].type) == tensorflow.string:
        return None
    value = tensorflow.make_ndarray(node.attr["value"].tensor)
    return tensorflow.Variable(value) if value.nbytes >= stored_arrays.LARGE else None
