"""The primitive operations of a decomposed resize as ONNX nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..decompose.tensor import Tensor
from ..runtimes.openvino_sizes import ANY_SIZE, LargestGather
from . import operators
from .graph import Graph

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
        return operators.cast(self.graph, x, dtype)

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
        return operators.transposed(self.graph, x, order)

    def unsqueeze(self, x: str, axes: Sequence[int]) -> str:
        """Return ``x`` with axes of size 1."""
        return operators.unsqueeze(self.graph, x, axes)

    def total(self, x: str, axis: int, *, keep: bool) -> str:
        """Return the sum along an axis."""
        return operators.reduction(self.graph, "ReduceSum", x, (axis,), keep)

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
