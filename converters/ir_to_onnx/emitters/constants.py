"""Constants, and the types of elements."""

from __future__ import annotations

from ...onnx import operators
from ...onnx.graph import Graph
from ..op import WHOLE, Op

_SINCE = {"float8_e4m3fn": 19, "float8_e5m2": 19, "int4": 21, "uint4": 21}
_NARROW = ("int16", "int8", "uint16", "uint8")


def _const(graph: Graph, op: Op) -> str:
    """Keep the type of the file, so that half precision is stored and then made single."""
    op.read.update(("element_type", "shape", "offset", "size"))  # by the net
    stored, used = op.layer.outputs[0].dtype or "", op.result_dtype()
    op.needs(_SINCE.get(stored, 0), graph.opset, f"element type {stored}")
    name = graph.constant(op.net.constant(op.layer), name=op.layer.name)
    return name if stored == used else operators.cast(graph, name, used)


def _convert(graph: Graph, op: Op) -> str:
    """Cast; numbers that a narrow integer cannot hold wrap around, as those of 32 bits do."""
    source, target, x = op.dtype(), op.result_dtype(), op.inputs[0]
    if source == target:
        return x
    if target in _NARROW and source not in WHOLE:
        x = operators.cast(graph, x, "int32")
    return operators.cast(graph, x, target)


TABLE = {"Const": _const, "Convert": _convert, "ConvertLike": _convert}
