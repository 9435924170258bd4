"""Constants, and conversions of element types."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from ir_interp.ir.constants import read_constant
from ir_interp.ir.elements import NF4

from ...onnx import operators
from ...onnx.graph import Graph
from ..layer import WHOLE, Op

_SINCE = {"float8_e4m3fn": 19, "float8_e5m2": 19, "int4": 21, "uint4": 21, "nf4": 21}  # operator sets with the type
_HALVES = ("float16", "bfloat16")
_FEW = 2**10  # elements, for which a Cast to float32 would take more bytes than half precision saves
_NARROW = ("int16", "int8", "uint16", "uint8")


def _const(graph: Graph, op: Op) -> str:
    """Keep the type of the file, so that half precision is stored and converted to float32; a few numbers at once."""
    op.read.update(("element_type", "shape", "offset", "size"))  # by the net
    stored, used = op.layer.outputs[0].dtype or "", op.result_dtype()
    op.needs(_SINCE.get(stored, 0), graph.opset, f"element type {stored}")
    value = read_constant(op.layer, op.net.binary)
    if stored == "nf4":
        codes = graph.constant(np.searchsorted(NF4, value).astype(ml_dtypes.uint4), name=op.layer.name)
        return graph.node("Gather", graph.constant(NF4), operators.cast(graph, codes, "int32"))
    if stored in _HALVES and value.size <= _FEW:
        return graph.constant(value.astype(used), name=op.layer.name)
    name = graph.constant(value, name=op.layer.name)
    return name if stored == used else operators.cast(graph, name, used)


def _convert(graph: Graph, op: Op) -> str:
    """Cast; numbers beyond a narrow integer wrap around, as those of 32 bits do."""
    source, target, x = op.dtype(), op.result_dtype(), op.inputs[0]
    if source == target:
        return x
    # ONNX leaves a cast of floats beyond the range of an integer open; of integers it keeps the lowest bits.
    if target in _NARROW and source not in WHOLE:
        x = operators.cast(graph, x, "int32")
    return operators.cast(graph, x, target)


def _promoted(graph: Graph, op: Op) -> tuple[str, ...]:
    """Cast both inputs to the type of their outputs."""
    op.read.update(("promote_unsafe", "pytorch_scalar_promotion", "u64_integer_promotion_target"))  # by OpenVINO
    target = op.result_dtype()
    return tuple(
        source if op.dtype(index) == target else operators.cast(graph, source, target)
        for index, source in enumerate(op.inputs)
    )


def _fake_convert(graph: Graph, op: Op) -> str:
    """Round to 8-bit floating-point numbers; scaled and shifted before, and back after."""
    op.needs(19, graph.opset, "8-bit floating point numbers")  # Cast has them since then
    kind = op.word("destination_type", tuple(_EIGHT_BITS), "f8e4m3")
    x = graph.node("Mul", op.inputs[0], op.inputs[1])
    x = graph.node("Sub", x, op.inputs[2]) if op.has(2) else x
    limit = _LARGEST[kind]
    # A cast to 8 bits may turn larger numbers into infinity or NaN, depending on its saturation.
    x = operators.clip(graph, x, -limit, limit, "float32")
    half = operators.cast(graph, x, "float16")  # OpenVINO rounds twice
    x = operators.cast(graph, operators.cast(graph, half, _EIGHT_BITS[kind]), "float32")
    x = graph.node("Add", x, op.inputs[2]) if op.has(2) else x
    return graph.node("Div", x, op.inputs[1])


_EIGHT_BITS = {"f8e4m3": "float8_e4m3fn", "f8e5m2": "float8_e5m2"}
_LARGEST = {"f8e4m3": 448.0, "f8e5m2": 57344.0}  # the largest finite values of both formats


TABLE = {
    "Const": _const,
    "Convert": _convert,
    "ConvertLike": _convert,
    "ConvertPromoteTypes": _promoted,
    "FakeConvert": _fake_convert,
}
