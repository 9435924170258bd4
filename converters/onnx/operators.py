"""Operators whose form depends on the operator set, and small combinations shared by several families.

Then the primitive operations of a decomposed resize as ONNX nodes: ``NodeTensor``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from onnx import helper

from ir_interp.errors import ReadError
from ir_interp.shapes import PartialShape

from ..decompose.tensor import Tensor
from ..runtimes.execution import ANY_SIZE, LargestGather
from .onnx_graph import Graph

END = np.iinfo(np.int64).max
"""A slice's end, or start, beyond every axis."""


def cast(graph: Graph, x: str, dtype: str) -> str:
    """Return ``x`` in another type; a constant is cast at once."""
    target = as_dtype(dtype)
    if x in graph.initialisers and graph.initialisers[x].size <= 64:
        return graph.constant(graph.initialisers[x].astype(target))
    return graph.node("Cast", x, to=helper.np_dtype_to_tensor_dtype(target))


def scalar(graph: Graph, value: object, dtype: str) -> str:
    """Return a constant without dimensions."""
    return graph.constant(np.asarray(value).astype(as_dtype(dtype)))


def squeeze(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Remove axes of size 1; before an earlier permutation if there is one, so that less is permuted."""
    if not axes:
        return x
    order = permuted(graph, x)
    if order is None:
        return _with_axes(graph, "Squeeze", x, axes)
    left = [source for axis, source in enumerate(order) if axis not in axes]
    whole = _with_axes(graph, "Squeeze", _before(graph, x), sorted(order[axis] for axis in axes))
    return transposed(graph, whole, [sorted(left).index(source) for source in left])


def unsqueeze(graph: Graph, x: str, axes: Sequence[int]) -> str:
    """Add axes of size 1; they count in the result."""
    return _with_axes(graph, "Unsqueeze", x, axes) if axes else x


def _with_axes(graph: Graph, kind: str, x: str, axes: Sequence[int]) -> str:
    if graph.opset < 13:  # where axes became an input
        return graph.node(kind, x, axes=list(axes))
    return graph.node(kind, x, graph.ints(axes))


def reduction(graph: Graph, kind: str, x: str, axes: Sequence[int], keep: bool = True) -> str:
    """Reduce over some axes, at least one."""
    if graph.opset < (13 if kind == "ReduceSum" else 18):  # where axes became an input
        return graph.node(kind, x, axes=list(axes), keepdims=int(keep))
    return graph.node(kind, x, graph.ints(axes), keepdims=int(keep))


def split(graph: Graph, x: str, sizes: Sequence[int], axis: int) -> tuple[str, ...]:
    """Split into parts of these sizes."""
    if graph.opset < 13:  # where the sizes became an input
        return graph.outputs(len(sizes), "Split", x, axis=axis, split=list(sizes))
    return graph.outputs(len(sizes), "Split", x, graph.ints(sizes), axis=axis)


def clip(graph: Graph, x: str, low: ArrayLike, high: ArrayLike, dtype: str) -> str:
    """Limit to a range."""
    return graph.node("Clip", x, scalar(graph, low, dtype), scalar(graph, high, dtype))


def softened(graph: Graph, x: str, axis: int, rank: int, kind: str = "Softmax") -> str:
    """Apply a softmax; before operator set 13 it spans all axes from the given one on together."""
    if graph.opset >= 13 or axis == rank - 1:
        return graph.node(kind, x, axis=axis)
    order = moved(rank, axis, rank - 1)
    return transposed(graph, graph.node(kind, transposed(graph, x, order), axis=rank - 1), inverse(order))


def transposed(graph: Graph, x: str, order: Sequence[int]) -> str:
    """Permute axes; a constant is permuted at once, and an already permuted tensor from its source."""
    moved = permuted(graph, x)
    if moved is not None:
        x, order = _before(graph, x), [moved[axis] for axis in order]
    if list(order) == list(range(len(order))):
        return x
    if x in graph.initialisers:
        return graph.constant(graph.initialisers[x].transpose(order), name=x)
    return graph.node("Transpose", x, perm=list(order))


def permuted(graph: Graph, x: str) -> Sequence[int] | None:
    """Return the axis order of the Transpose that produces ``x``; None if there is none."""
    node = graph.maker(x)
    return list(node.attribute[0].ints) if node is not None and node.op_type == "Transpose" and node.attribute else None


def unpermuted(graph: Graph, x: str, shape: PartialShape) -> str:
    """Return ``x`` before a Transpose that moves axes of size 1 only, which keeps the order of the elements."""
    order = permuted(graph, x)
    # Axes of size 1 may move anywhere: the elements keep their order if the longer axes keep theirs.
    longer = [source for source, size in zip(order or (), shape, strict=False) if size != 1]
    return _before(graph, x) if order is not None and longer == sorted(longer) else x


def _before(graph: Graph, x: str) -> str:
    node = graph.maker(x)
    return x if node is None else str(node.input[0])


def cut(
    graph: Graph, x: str, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int], steps: Sequence[int] = ()
) -> str:
    """Slice along axes, with steps since operator set 10."""
    if graph.opset < 10 and axes:
        return graph.node("Slice", x, starts=list(starts), ends=list(ends), axes=list(axes))
    stride = graph.ints(steps) if any(step != 1 for step in steps) else ""
    return graph.node("Slice", x, graph.ints(starts), graph.ints(ends), graph.ints(axes), stride) if axes else x


def padded(graph: Graph, x: str, rank: int, axis: int, before: int, after: int) -> str:
    """Pad one axis with zeros."""
    pads = [0] * (2 * rank)
    pads[axis], pads[rank + axis] = before, after
    return graph.node("Pad", x, graph.ints(pads))


def moved(rank: int, source: int, target: int) -> list[int]:
    """Return the axis order in which ``source`` stands at ``target`` and the others keep theirs."""
    order = [axis for axis in range(rank) if axis != source]
    order.insert(target, source)
    return order


def inverse(order: Sequence[int]) -> list[int]:
    """Return the axis order that undoes another."""
    return [int(axis) for axis in np.argsort(order)]


def as_dtype(name: str) -> np.dtype[Any]:
    """Return the NumPy type of a name, those of ml_dtypes included. Raises ReadError for an unknown name."""
    import ml_dtypes

    try:
        dtype: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name, name))
    except TypeError:
        dtype = np.dtype(object)
    if dtype.hasobject:
        raise ReadError(f"unknown element type {name!r}")
    return dtype


_ELEMENTWISE = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "minimum": "Min",
    "maximum": "Max",
    "floor": "Floor",
    "ceil": "Ceil",
    "abs": "Abs",
    "round": "Round",
    "negative": "Neg",
    "less": "Less",
    "equal": "Equal",
    "and": "And",
    "or": "Or",
    "not": "Not",
    "select": "Where",
}
# A Slice clips its ends, so this one is behind the last entry of any axis.
_END = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Primitives:
    """Adds nodes to a graph; the methods are described in ``tensor.Ops``."""

    graph: Graph

    def constant(self, array: Any) -> str:
        """Return a constant tensor."""
        return self.graph.constant(array)

    def elementwise(self, name: str, *values: str) -> str:
        """Return an operation on each element."""
        if name == "less_equal":  # ONNX has it only since operator set 12
            return self.graph.node("Not", self.graph.node("Less", *reversed(values)))
        if name == "greater":
            return self.graph.node("Less", *reversed(values))
        if name == "positive":  # onnxruntime fuses no product into a sum
            return values[0]
        return self.graph.node(_ELEMENTWISE[name], *values)

    def convert(self, x: str, dtype: str) -> str:
        """Return ``x`` in another element type."""
        return cast(self.graph, x, dtype)

    def shifted(self, x: str, bits: int) -> str:
        """Return int32 divided by 2**bits and rounded down: Div truncates, which is the same for positive numbers."""
        raised = self.graph.node("Add", x, self.constant(np.int32(2**30)))
        quotient = self.graph.node("Div", raised, self.constant(np.int32(2**bits)))
        return self.graph.node("Sub", quotient, self.constant(np.int32(2**30 >> bits)))

    def gather(self, x: str, indices: str, axis: int) -> str:
        """Return the entries of an axis at ``indices``."""
        return self.graph.node("Gather", x, indices, axis=axis)

    def matmul(self, left: str, right: str) -> str:
        """Return the matrix product over the last two axes."""
        return self.graph.node("MatMul", left, right)

    def transpose(self, x: str, order: Sequence[int]) -> str:
        """Return ``x`` with its axes in another order."""
        return transposed(self.graph, x, order)

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """Return ``x`` with axes of size 1."""
        return unsqueeze(self.graph, x, axes)

    def total(self, x: str, axis: int, *, keep: bool) -> str:
        """Return the sum along an axis."""
        return reduction(self.graph, "ReduceSum", x, (axis,), keep)

    def running_total(self, x: str) -> str:
        """Return the sum of each row, added from the first to the last, as a column."""
        totals = self.graph.node("CumSum", x, self.graph.constant(np.int64(1)))
        return self.graph.node("Gather", totals, self.graph.ints([-1]), axis=1)

    def range(self, start: str, stop: str) -> str:
        """Return the integers from ``start`` up to, but not including, ``stop``."""
        return self.graph.node("Range", start, stop, self.graph.constant(np.float32(1)))

    def lengths(self, x: str) -> str:
        """Return the shape of ``x``."""
        return self.graph.node("Shape", x)

    def pad(self, x: str, begin: Sequence[int], end: Sequence[int]) -> str:
        """Return ``x`` with zeros around it."""
        return self.graph.node("Pad", x, self.graph.ints([*begin, *end]))

    def precisely(self, vector: str) -> str:
        """Return the same vector: onnxruntime divides as IEEE 754 specifies."""
        return vector

    def cut(self, x: str, at: str) -> tuple[str, str]:
        """Return the entries of the first axis before ``at``, and the others."""
        start, end = (self.graph.ints([number]) for number in (0, _END))
        return self.graph.node("Slice", x, start, at), self.graph.node("Slice", x, at, end)

    def flag(self, condition: str) -> str:
        """Return 1 if a condition holds, else 0."""
        counted = self.graph.node("Shape", self.graph.node("NonZero", self.unsqueeze(condition, (0,))))
        return self.gather(counted, self.graph.ints([1]), 0)

    def concat(self, values: Sequence[str], axis: int) -> str:
        """Return tensors joined along an axis."""
        return self.graph.node("Concat", *values, axis=axis)

    def reshape(self, x: str, lengths: str) -> str:
        """Return ``x`` in another shape."""
        return self.graph.node("Reshape", x, lengths, allowzero=1)  # a 0 would copy that size of x

    def broadcast(self, x: str, lengths: str) -> str:
        """Return ``x`` repeated along axes of size 1."""
        return self.graph.node("Expand", x, lengths)

    def gather_elements(self, x: str, indices: str, axis: int) -> str:
        """Return for each index the entry of ``axis`` at it."""
        return self.graph.node("GatherElements", x, indices, axis=axis)

    @property
    def largest_gather(self) -> LargestGather:
        """Return no limit: onnxruntime gathers correctly at every size."""
        return ANY_SIZE


NodeTensor = Tensor[Primitives]
"""A tensor of an ONNX graph: its ``value`` is its name."""


def tensor(graph: Graph, name: str, dtype: str) -> NodeTensor:
    """Return the handle of a tensor of a graph."""
    return Tensor(Primitives(graph), name, dtype)


def node(kind: str, x: NodeTensor, *others: NodeTensor, dtype: str = "", **attributes: Any) -> NodeTensor:
    """Add a node, and return its output: of the element type of ``x`` unless ``dtype`` names one."""
    names = (other.value for other in others)
    return x.like(x.ops.graph.node(kind, x.value, *names, **attributes), dtype)
