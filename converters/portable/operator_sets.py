"""Nodes of ONNX in another operator set: whether one means the same unchanged, and rules that express it otherwise.

Operators that a set lacks, or defines otherwise, become other operations of it. A rule changes inputs, attributes or
operators: it adds the new form to a graph of that set, whether it is older or newer, and returns its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from ..onnx import operators
from ..onnx.neighbours import entries
from ..onnx.onnx_graph import Graph, attributes_of
from ..onnx.static_values import Values

_Schema = defs.OpSchema

_OTHER_MEANING = {
    "Attention": 24,  # which keys a causal mask leaves
    "DequantizeLinear": 13,  # scales for each entry of an axis
    "GridSample": 20,  # the names of its modes
    "GroupNormalization": 21,  # a scale for each channel, not for each group
    "Hardmax": 13,  # along one axis, not along all from it on
    "LogSoftmax": 13,
    "QuantizeLinear": 13,
    "RoiAlign": 16,  # shifted by half a pixel unless specified otherwise
    "Softmax": 13,
}
"""Operators whose attributes changed their meaning in a version (operator sets 7 to 24)."""
_LATER_VALUES = {
    ("Pad", "mode", "wrap"): 19,
    ("ScatterElements", "reduction", "max"): 18,
    ("ScatterElements", "reduction", "min"): 18,
    ("ScatterND", "reduction", "max"): 18,
    ("ScatterND", "reduction", "min"): 18,
}
"""Values that an attribute has only since a version."""


def problem(node: onnx.NodeProto, old: int, new: int) -> str:
    """Return why a node of operator set ``old`` does not mean the same in ``new``; empty if it does.

    It does if its operator takes, in both, the node's inputs and attributes, and every absent attribute has the same
    default in both, or was added with one, which stands for the earlier behaviour.
    Element types are not part of this: they are checked where types are inferred.
    """
    mine, other = (_schema(node.op_type, version) for version in (old, new))
    if other is None:
        return f"operator set {new} has no {node.op_type}"
    if later := _later_value(node, other.since_version):
        return later
    if mine is None or mine.since_version == other.since_version:
        return ""
    name = f"{node.op_type}-{other.since_version}"
    oldest, newest = sorted((mine, other), key=lambda schema: schema.since_version)
    if oldest.since_version < _OTHER_MEANING.get(node.op_type, 0) <= newest.since_version and not _is_of_last(
        node, old, new
    ):
        return f"{name} interprets the same attributes differently"
    return _of_attributes(node, name, oldest, newest, other) or _of_inputs(node, name, mine, other)


def lacks_type(node: onnx.NodeProto, dtype: str | None, new: int) -> bool:
    """Return whether the operator of a node does not take its first input's element type in operator set ``new``."""
    schema = _schema(node.op_type, new)
    if schema is None or dtype is None or not schema.inputs:
        return False
    element = onnx.TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(np.dtype(dtype))).lower()
    return f"tensor({element})" not in schema.inputs[0].types


def without_defaults(node: onnx.NodeProto, old: int, new: int) -> onnx.NodeProto:
    """Return a node of operator set ``old`` without the attributes that ``new`` lacks and that equal their default."""
    mine, other = (_schema(node.op_type, version) for version in (old, new))
    shortened = onnx.NodeProto()
    shortened.CopyFrom(node)
    if mine is not None and other is not None:
        lacking = [attribute for attribute in node.attribute if attribute.name not in other.attributes]
        for default in [attribute for attribute in lacking if _is_default(attribute, mine)]:
            shortened.attribute.remove(default)
    return shortened


def _schema(op: str, version: int) -> _Schema | None:
    try:
        schema = defs.get_schema(op, version, "")
    except defs.SchemaError:
        return None
    return None if schema.deprecated else schema


def _is_of_last(node: onnx.NodeProto, old: int, new: int) -> bool:
    """Return whether a softmax is taken along the last axis, which "along all axes from it on" equals."""
    axes = [attribute.i for attribute in node.attribute if attribute.name == "axis"]
    # Negative axes are part of the operator since set 11.
    return node.op_type.endswith("max") and axes == [-1] and min(old, new) >= 11


def _is_default(attribute: onnx.AttributeProto, schema: _Schema) -> bool:
    if attribute.name == "dilations":  # its schema states the default in words
        return set(attribute.ints) <= {1}
    return bool(helper.get_attribute_value(attribute) == _default(schema, attribute.name))


def _later_value(node: onnx.NodeProto, version: int) -> str:
    for attribute in node.attribute:
        since = _LATER_VALUES.get((node.op_type, attribute.name, attribute.s.decode(errors="replace")), 0)
        if since > version:
            return f"{node.op_type}-{version} has no {attribute.name} {attribute.s.decode()}"
    return ""


def _of_inputs(node: onnx.NodeProto, name: str, current: _Schema, schema: _Schema) -> str:
    pairs = [(mine.name, other.name) for mine, other in zip(current.inputs, schema.inputs, strict=False)]
    renamed = any(not mine.endswith(other) and not other.endswith(mine) for mine, other in pairs[: len(node.input)])
    if renamed or not schema.min_input <= len(node.input) <= schema.max_input:  # a mean became an input_mean
        return f"{name} takes other inputs"
    if len(node.output) > schema.max_output:
        return f"{name} has fewer outputs"
    named = zip(schema.inputs, node.input, strict=False)
    missing = [
        parameter.name
        for parameter, name in named
        if parameter.option is _Schema.FormalParameterOption.Single and not name
    ]
    return f"{name} needs the input {missing[0]}" if missing else ""


def _of_attributes(node: onnx.NodeProto, name: str, oldest: _Schema, newest: _Schema, schema: _Schema) -> str:
    stated = {attribute.name for attribute in node.attribute}
    for attribute_name in sorted(stated - schema.attributes.keys()):
        return f"{name} has no {attribute_name}"
    for attribute_name, attribute in schema.attributes.items():
        if attribute.required and attribute_name not in stated:
            return f"{name} needs the attribute {attribute_name}"
    for attribute_name in oldest.attributes.keys() - stated:
        before, after = (_default(version, attribute_name) for version in (oldest, newest))
        if before is not None and before != after:
            return f"{name} has another default for {attribute_name}"
    return ""


def _default(schema: _Schema, attribute_name: str) -> object:
    attribute = schema.attributes.get(attribute_name)
    if attribute is None or not attribute.default_value.name:
        return None
    return helper.get_attribute_value(attribute.default_value)


class UnsaidError(Exception):
    """The reason why a node has no form in a set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Old:
    """A node of operator set ``opset``, the known values of its inputs, and the graph for its new form."""

    node: onnx.NodeProto
    values: Values
    opset: int
    graph: Graph

    def input(self, place: int) -> str:
        """Return the name of an input; empty if it is left out."""
        return str(self.node.input[place]) if place < len(self.node.input) else ""

    def attribute(self, name: str, default: Any) -> Any:
        """Return an attribute's value, text as such."""
        value = next(
            (helper.get_attribute_value(attribute) for attribute in self.node.attribute if attribute.name == name),
            default,
        )
        return value.decode() if isinstance(value, bytes) else value

    def array(self, name: str, place: int) -> np.ndarray[Any, Any] | None:
        """Return the value of an attribute, or of an input; None if neither is present."""
        stated = self.attribute(name, None)
        if stated is not None:
            return np.asarray(stated)
        tensor = self.input(place)
        value = self.values.value(tensor) if tensor else None
        if tensor and value is None:
            raise UnsaidError(f"its {name} are known only at run time")
        return value

    def ints(self, name: str, place: int) -> list[int] | None:
        """Return the integers of an attribute, or of an input; None if neither is present."""
        values = self.array(name, place)
        return None if values is None else [int(number) for number in values.ravel()]

    def rank(self, place: int = 0) -> int:
        """Return the rank of an input."""
        shape = self.values.shape(self.input(place))
        if shape is None:
            raise UnsaidError("the rank of its input is unknown")
        return len(shape)

    def dtype(self) -> str:
        """Return the element type of the first input."""
        dtype = self.values.dtype(self.input(0))
        if dtype is None:
            raise UnsaidError("the element type of its input is unknown")
        return dtype

    def axes(self, name: str, place: int, more: int = 0) -> list[int] | None:
        """Return axes, counted from the first if the set requires it; ``more`` axes are added to the input's."""
        axes = self.ints(name, place)
        if self.graph.opset >= 11 or axes is None or min(axes, default=0) >= 0:  # negative ones came with set 11
            return axes
        return [axis % (self.rank() + more) for axis in axes]


_INTEGER_EXTREMES = 12  # the operator set since which Max and Min take integers
_COMPARED_INTEGERS = 9  # the operator set since which Less takes them, and Where exists
_HALF_TYPES = ("float16", "bfloat16")


def pieces(old: Old, x: str, axis: int, count: int) -> Sequence[str]:
    """Split an axis of unknown size into parts of one size, the last of which may be smaller."""
    graph = old.graph
    # Slice-1 takes its bounds as attributes, so none of run time.
    if graph.opset < 10:
        raise UnsaidError("the size of the axis that it splits is known only at run time")
    at = graph.ints([axis % old.rank()])
    size = graph.node("Gather", graph.node("Shape", x), at)
    # The ceiling of the quotient: only the last part may be smaller.
    piece = graph.node("Div", graph.node("Add", size, graph.ints([count - 1])), graph.ints([count]))
    ends = [graph.node("Mul", piece, graph.ints([number])) for number in range(count + 1)]
    return [graph.node("Slice", x, ends[n], ends[n + 1], at) for n in range(count)]


def soft(old: Old) -> Sequence[str]:
    """Before operator set 13 these span all axes from the given one on together."""
    graph, kind, x = old.graph, old.node.op_type, old.input(0)
    axis = old.attribute("axis", 1 if old.opset < 13 else -1)
    if graph.opset < 13:
        return [operators.softened(graph, x, axis % old.rank(), old.rank(), kind)]
    if axis == -1:  # both definitions sum over the last axis alone
        return [graph.node(kind, x, axis=axis)]
    axis = axis if axis >= 0 else axis % old.rank()
    # Flattened, the axes from this one on are one axis, over which the newer operator sums as the older does.
    flat = graph.node(kind, graph.node("Flatten", x, axis=axis), axis=-1)
    return [graph.node("Reshape", flat, graph.node("Shape", x))]


def quantise(old: Old) -> Sequence[str]:
    """Return a node without its axis, which makes no difference for a single scale."""
    scale = old.values.shape(old.input(1))
    beyond = {attribute.name for attribute in old.node.attribute} - {"axis", "saturate", "block_size"}
    if scale is None or len(scale) > 0 or beyond:
        return _dequantise(old)
    return [old.graph.node(old.node.op_type, *old.node.input)]


def _dequantise(old: Old) -> Sequence[str]:
    """Return (x - zero) * scale, both broadcast along the axis."""
    scale, rank, graph = old.values.shape(old.input(1)), old.rank(), old.graph
    if old.node.op_type != "DequantizeLinear" or old.attribute("block_size", 0) or scale is None or len(scale) != 1:
        raise UnsaidError("it has several scales")
    if old.values.dtype(old.input(1)) != "float32":
        raise UnsaidError("its scales are not float32")
    axis = old.attribute("axis", 1) % rank
    beside = list(range(1, rank - axis))  # axes of size 1 behind that of the scales, so that they broadcast along it
    x = operators.cast(graph, old.input(0), "float32")
    if old.input(2):
        zero = operators.unsqueeze(graph, operators.cast(graph, old.input(2), "float32"), beside)
        x = graph.node("Sub", x, zero)
    return [graph.node("Mul", x, operators.unsqueeze(graph, old.input(1), beside))]


def normalise(old: Old) -> Sequence[str]:
    """Return a LayerNormalization: onnx's own body of it squares means before it subtracts them, and loses digits."""
    graph, dtype, x, rank = old.graph, old.dtype(), old.input(0), old.rank()
    if dtype not in (*_HALF_TYPES, "float32"):
        raise UnsaidError(f"the rules do not cover its computation in {dtype}")
    axes = list(range(old.attribute("axis", -1) % rank, rank))
    whole = operators.cast(graph, x, "float32") if dtype in _HALF_TYPES else x
    mean = operators.reduction(graph, "ReduceMean", whole, axes)
    apart = graph.node("Sub", whole, mean)
    variance = operators.reduction(graph, "ReduceMean", graph.node("Mul", apart, apart), axes)
    epsilon = graph.constant(np.float32(old.attribute("epsilon", 1e-5)))
    deviation = graph.node("Sqrt", graph.node("Add", variance, epsilon))
    output = graph.node("Div", apart, deviation)
    output = graph.node("Mul", operators.cast(graph, output, dtype) if dtype in _HALF_TYPES else output, old.input(1))
    output = graph.node("Add", output, old.input(2)) if old.input(2) else output
    return [output, mean, graph.node("Reciprocal", deviation)][: len(old.node.output)]


def extremes(old: Old, kind: str, result: str, *values: str) -> str:
    """Return the maximum (``kind`` Max) or the minimum (Min) of integers, which these take since operator set 12."""
    if values and old.graph.opset >= _INTEGER_EXTREMES:
        return old.graph.node(kind, result, *values)
    if old.graph.opset < _COMPARED_INTEGERS:
        raise UnsaidError(f"its elements are {old.dtype()}")
    for value in values:
        is_less = old.graph.node("Less", result, value)
        result = old.graph.node("Where", is_less, *((value, result) if kind == "Max" else (result, value)))
    return result


def triangle(old: Old) -> Sequence[str]:
    """Keep the entries on and above a diagonal, or below it, by columns less rows."""
    graph, x, upper = old.graph, old.input(0), old.attribute("upper", 1)
    if graph.opset < 11:
        raise UnsaidError("there is no Range")
    shape, zero, one = graph.node("Shape", x), operators.scalar(graph, 0, "int64"), operators.scalar(graph, 1, "int64")
    rows, columns = (
        graph.node("Range", zero, graph.node("Gather", shape, graph.constant(np.int64(axis))), one) for axis in (-2, -1)
    )
    apart = graph.node("Sub", columns, operators.unsqueeze(graph, rows, [1]))
    beyond = graph.node("Less" if upper else "Greater", apart, old.input(1) or zero)
    if old.dtype() == "bool":
        return [graph.node("And", x, graph.node("Not", beyond))]
    return [graph.node("Where", beyond, operators.scalar(graph, 0, old.dtype()), x)]


_REDUCE = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare")


Rule = Callable[[Old], Sequence[str]]


def _unsqueeze(old: Old) -> Sequence[str]:
    # The axes count in the result, whose rank is larger by their number.
    axes = old.axes("axes", 1, more=len(old.ints("axes", 1) or ())) or []
    return [operators.unsqueeze(old.graph, old.input(0), axes)]


def _squeeze(old: Old) -> Sequence[str]:
    axes = old.axes("axes", 1)
    if axes is None:
        return [old.graph.node("Squeeze", old.input(0))]
    return [operators.squeeze(old.graph, old.input(0), axes)]


def _reduce(old: Old) -> Sequence[str]:
    axes, keep, x = old.axes("axes", 1), old.attribute("keepdims", 1), old.input(0)
    if axes:
        return [operators.reduction(old.graph, old.node.op_type, x, axes, bool(keep))]
    # Without axes an older Reduce reduces all of them, the newer none under this attribute.
    if old.attribute("noop_with_empty_axes", 0):
        raise UnsaidError("it reduces no axes")
    return [old.graph.node(old.node.op_type, x, keepdims=keep)]


def _split(old: Old) -> Sequence[str]:
    axis, x, count = old.attribute("axis", 0), old.input(0), len(old.node.output)
    sizes, shape = old.ints("split", 1), old.values.shape(old.input(0))
    if sizes is None and shape is not None and shape[axis] is not None:
        piece = -(-shape[axis] // count)  # rounded up: by Split-18's num_outputs, the last piece is the smaller one
        sizes = [*[piece] * (count - 1), shape[axis] - piece * (count - 1)]
    if sizes is not None:
        if min(sizes) < 0:
            raise UnsaidError("its last pieces are empty")
        return operators.split(old.graph, x, sizes, axis)
    if old.opset >= 18:
        return pieces(old, x, axis, count)
    return old.graph.outputs(count, "Split", x, axis=axis, num_outputs=count if old.graph.opset >= 18 else None)


def _shape(old: Old) -> Sequence[str]:
    start, end = old.attribute("start", 0), old.attribute("end", operators.END)  # of Shape-15
    return [operators.cut(old.graph, old.graph.node("Shape", old.input(0)), [start], [end], [0])]


def _reshape(old: Old) -> Sequence[str]:
    """Drop allowzero, by which 0 is a size instead of a copy: older sets cannot express a size of 0 at run time."""
    shape = entries(old.values, old.input(1)) or [None, None]
    if 0 in shape:
        raise UnsaidError("it creates sizes of 0")
    if shape.count(None) == 1 and -1 not in shape:
        return [old.graph.node("Reshape", old.input(0), old.graph.ints(size or -1 for size in shape))]
    return [old.graph.node("Reshape", old.input(0), old.input(1))]


def _pad(old: Old) -> Sequence[str]:
    graph, mode = old.graph, old.attribute("mode", "constant")
    pads, axes = old.ints("pads", 1), old.ints("axes", 3)
    if axes is not None and pads is not None:  # the input `axes` came with Pad-18; before, pads are of every axis
        rank, listed, pads = old.rank(), pads, [0] * (2 * old.rank())
        for number, axis in enumerate(axes):
            pads[axis % rank], pads[axis % rank + rank] = listed[number], listed[number + len(axes)]
    value = old.array("value", 2)
    if graph.opset < 11:
        # Before Pad-11 pads and value are attributes, and the value a float.
        return [graph.node("Pad", old.input(0), mode=mode, pads=pads, value=float(0 if value is None else value))]
    filling = operators.scalar(graph, 0 if value is None else value, old.dtype())
    return [graph.node("Pad", old.input(0), graph.ints(pads or ()), filling, mode=mode)]


def _clip(old: Old) -> Sequence[str]:
    if "int" in (old.dtype() or ""):
        # Clip takes integers since 12; where min exceeds max, the result is max, so the minimum comes last.
        limited = extremes(old, "Max", old.input(0), *filter(None, [old.input(1)]))
        return [extremes(old, "Min", limited, *filter(None, [old.input(2)]))]
    low, high = old.array("min", 1), old.array("max", 2)
    if old.graph.opset < 11:
        # Before Clip-11 both are attributes.
        limits = {name: float(limit) for name, limit in (("min", low), ("max", high)) if limit is not None}
        return [old.graph.node("Clip", old.input(0), **limits)]
    operands = ["" if limit is None else operators.scalar(old.graph, limit, old.dtype()) for limit in (low, high)]
    return [old.graph.node("Clip", old.input(0), *operands)]


def _extreme(old: Old) -> Sequence[str]:
    return [extremes(old, old.node.op_type, *old.node.input)]


def _slice(old: Old) -> Sequence[str]:
    starts, ends = old.ints("starts", 1) or [], old.ints("ends", 2) or []
    axes, steps = old.axes("axes", 3), old.ints("steps", 4) or []
    # Slice-1 has no steps.
    if old.graph.opset < 10 and any(step != 1 for step in steps):
        raise UnsaidError("its steps are not 1")
    return [operators.cut(old.graph, old.input(0), starts, ends, axes or list(range(len(starts))), steps)]


def _dropout(old: Old) -> Sequence[str]:
    training = old.array("training_mode", 2)
    # Training drops values at random, and the mask is an output that older sets define otherwise.
    if any(old.node.output[1:]) or (training is not None and training.any()):
        raise UnsaidError("it is in training mode")
    return [old.input(0)]


def _constant(old: Old) -> Sequence[str]:
    value = old.values.value(str(old.node.output[0]))
    if value is None:
        raise UnsaidError("its value is unknown")
    return [old.graph.node("Constant", value=numpy_helper.from_array(value))]


def _gemm(old: Old) -> Sequence[str]:
    attributes = attributes_of(old.node)
    # C may be omitted since Gemm-11.
    nothing = operators.scalar(old.graph, 0, old.dtype())
    return [old.graph.node("Gemm", old.input(0), old.input(1), old.input(2) or nothing, **attributes)]


def _cast_like(old: Old) -> Sequence[str]:
    dtype = old.values.dtype(old.input(1))
    if dtype is None:
        raise UnsaidError("the element type that it casts to is unknown")
    return [operators.cast(old.graph, old.input(0), dtype)]


BY_TYPE = frozenset({"Clip", "Max", "Min"})
"""Operators whose rule also serves element types that an older set lacks."""

RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "CastLike": _cast_like,
        "Clip": _clip,
        "Constant": _constant,
        "DequantizeLinear": quantise,
        "Dropout": _dropout,
        "Gemm": _gemm,
        "Hardmax": soft,
        "LayerNormalization": normalise,
        "LogSoftmax": soft,
        "Max": _extreme,
        "Min": _extreme,
        "Pad": _pad,
        "QuantizeLinear": quantise,
        "Reshape": _reshape,
        "Shape": _shape,
        "Slice": _slice,
        "Softmax": soft,
        "Split": _split,
        "Squeeze": _squeeze,
        "Trilu": triangle,
        "Unsqueeze": _unsqueeze,
        **{f"Reduce{name}": _reduce for name in _REDUCE},
    }
)
"""By operator. Operators without a rule use what ONNX itself provides; see ``portable_model``."""
