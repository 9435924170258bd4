"""Rules that express nodes in another operator set: other inputs, other attributes, other operators.

Each rule adds the new form to a graph of that set, whether it is older or newer, and returns its outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from onnx import numpy_helper

from ..onnx import operators
from ..onnx.graph import attributes_of
from ..onnx.origins import entries
from . import operations
from .operator_set_nodes import Old, UnsaidError

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
        return operations.pieces(old, x, axis, count)
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
        limited = operations.extremes(old, "Max", old.input(0), *filter(None, [old.input(1)]))
        return [operations.extremes(old, "Min", limited, *filter(None, [old.input(2)]))]
    low, high = old.array("min", 1), old.array("max", 2)
    if old.graph.opset < 11:
        # Before Clip-11 both are attributes.
        limits = {name: float(limit) for name, limit in (("min", low), ("max", high)) if limit is not None}
        return [old.graph.node("Clip", old.input(0), **limits)]
    operands = ["" if limit is None else operators.scalar(old.graph, limit, old.dtype()) for limit in (low, high)]
    return [old.graph.node("Clip", old.input(0), *operands)]


def _extreme(old: Old) -> Sequence[str]:
    return [operations.extremes(old, old.node.op_type, *old.node.input)]


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
        "DequantizeLinear": operations.quantise,
        "Dropout": _dropout,
        "Gemm": _gemm,
        "Hardmax": operations.soft,
        "LayerNormalization": operations.normalise,
        "LogSoftmax": operations.soft,
        "Max": _extreme,
        "Min": _extreme,
        "Pad": _pad,
        "QuantizeLinear": operations.quantise,
        "Reshape": _reshape,
        "Shape": _shape,
        "Slice": _slice,
        "Softmax": operations.soft,
        "Split": _split,
        "Squeeze": _squeeze,
        "Trilu": operations.triangle,
        "Unsqueeze": _unsqueeze,
        **{f"Reduce{name}": _reduce for name in _REDUCE},
    }
)
"""By operator. Operators without a rule use what ONNX itself provides; see ``other_nodes``."""
