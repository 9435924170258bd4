"""The primitive operations of a decomposed resize as OpenVINO nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.opset15 import bitwise_right_shift

from ..runtimes.openvino_sizes import LARGEST_GATHER

_LARGEST = np.finfo(np.float32).max
_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": ops.add,
    "subtract": ops.subtract,
    "multiply": ops.multiply,
    "divide": lambda left, right: ops.divide(left, _hidden(right, left)),
    "minimum": ops.minimum,
    "maximum": ops.maximum,
    "floor": ops.floor,
    "ceil": ops.ceiling,
    "abs": lambda x: ops.maximum(x, ops.negative(x)),  # an Abs is dropped if it is taken for part of a shape
    "round": lambda x: ops.round(x, "half_to_even"),
    "negative": ops.negative,
    "less": ops.less,
    "less_equal": ops.less_equal,
    "greater": lambda left, right: ops.less(right, left),
    "equal": ops.equal,
    "and": ops.logical_and,
    "or": ops.logical_or,
    "not": ops.logical_not,
    "select": ops.select,
    "positive": lambda x: ops.minimum(x, _LARGEST),  # otherwise a sum is fused with the products that it is made of
}
_TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "boolean", "str": "string"}


def element_name(dtype: str) -> str:
    """Return OpenVINO's name of an element type, from NumPy's."""
    return _TYPES.get(dtype) or dtype.replace("uint", "u").replace("int", "i")


def _hidden(divisor: ov.Output, dividend: ov.Output) -> ov.Output:
    """Return a divisor that is no constant: the CPU plugin always multiplies by the reciprocal of a constant one."""
    if not _is_constant(divisor):
        return divisor
    return ops.add(divisor, ops.convert(_nothing(dividend), "f32")).output(0)


def _is_constant(x: ov.Output) -> bool:
    """Return whether a value depends on constants alone, or on sizes, which are folded if they are static."""
    waiting, seen = [x.get_node()], set()
    while waiting:
        node = waiting.pop()
        if node.get_name() in seen or node.get_type_name() == "ShapeOf":
            continue
        seen.add(node.get_name())  # a formula uses its values many times: the number of paths is in the millions
        sources = [port.get_source_output().get_node() for port in node.inputs()]
        if not sources and node.get_type_name() != "Constant":
            return False
        waiting += sources
    return True


def _nothing(x: ov.Output) -> ov.Output:
    """Return a 0 (int64) that only running the model reveals, computed from a number or a vector."""
    rank = x.get_partial_shape().rank.get_length()
    positive = ops.less(np.float32(0), ops.reduce_max(x, np.arange(rank)) if rank else x)
    return ops.minimum(ops.convert(positive, "i64"), np.int64(0)).output(0)


class _Ops:
    """Builds outputs of OpenVINO nodes; the methods are described in ``tensor.Ops``."""

    largest_gather = LARGEST_GATHER

    def constant(self, array: Any) -> ov.Output:
        array = np.asarray(array)
        if array.dtype.name == "bfloat16":  # which NumPy does not know by itself
            return ops.constant(array.astype(np.float32), ov.Type.bf16).output(0)
        return ops.constant(array).output(0)

    def elementwise(self, name: str, *values: ov.Output) -> ov.Output:
        return _ELEMENTWISE[name](*values).output(0)

    def convert(self, x: ov.Output, dtype: str) -> ov.Output:
        return ops.convert(x, element_name(dtype)).output(0)

    def shifted(self, x: ov.Output, bits: int) -> ov.Output:
        """Return int32 without its last bits: the CPU plugin divides in float32, which cannot hold it."""
        return bitwise_right_shift(x, ops.constant(np.int32(bits))).output(0)

    def gather(self, x: ov.Output, indices: ov.Output, axis: int) -> ov.Output:
        if 0 in indices.get_partial_shape():  # the CPU plugin divides by the number of constant indices
            return ops.slice(x, [0], [0], [1], [axis]).output(0)
        return ops.gather(x, indices, np.int64(axis)).output(0)

    def matmul(self, left: ov.Output, right: ov.Output) -> ov.Output:
        return ops.matmul(left, right, False, False).output(0)

    def transpose(self, x: ov.Output, order: Sequence[int]) -> ov.Output:
        return ops.transpose(x, np.array(order)).output(0)

    def unsqueeze(self, x: ov.Output, axes: Sequence[int]) -> ov.Output:
        return ops.unsqueeze(x, np.array(axes)).output(0)

    def total(self, x: ov.Output, axis: int, *, keep: bool) -> ov.Output:
        return ops.reduce_sum(x, np.array([axis]), keep).output(0)

    def running_total(self, x: ov.Output) -> ov.Output:
        return ops.gather(ops.cum_sum(x, np.int64(1)), np.array([-1]), np.int64(1)).output(0)

    def range(self, start: ov.Output, stop: ov.Output) -> ov.Output:
        return ops.range(start, stop, np.float32(1), "f32").output(0)

    def lengths(self, x: ov.Output) -> ov.Output:
        return ops.shape_of(x).output(0)

    def pad(self, x: ov.Output, begin: Sequence[int], end: Sequence[int]) -> ov.Output:
        return ops.pad(x, np.array(begin), np.array(end), "constant").output(0)

    def precisely(self, vector: ov.Output) -> ov.Output:
        """Return the same vector, each quotient in it rounded as IEEE 754 specifies.

        The CPU plugin multiplies by reciprocals instead of dividing, unless the quotient determines a shape. So it
        is made to: the target of a Broadcast to its own shape is that shape plus a 0 that only running reveals.
        """
        return ops.broadcast(vector, ops.add(ops.shape_of(vector), _nothing(vector))).output(0)

    def cut(self, x: ov.Output, at: ov.Output) -> tuple[ov.Output, ov.Output]:
        parts = ops.variadic_split(x, np.int64(0), ops.concat([at, np.array([-1])], 0))
        return parts.output(0), parts.output(1)

    def flag(self, condition: ov.Output) -> ov.Output:
        counted = ops.shape_of(ops.non_zero(ops.unsqueeze(condition, np.array([0]))))
        return ops.gather(counted, np.array([1]), np.int64(0)).output(0)

    def concat(self, values: Sequence[ov.Output], axis: int) -> ov.Output:
        return ops.concat(list(values), axis).output(0)

    def reshape(self, x: ov.Output, lengths: ov.Output) -> ov.Output:
        return ops.reshape(x, lengths, False).output(0)

    def broadcast(self, x: ov.Output, lengths: ov.Output) -> ov.Output:
        return ops.broadcast(x, lengths).output(0)

    def gather_elements(self, x: ov.Output, indices: ov.Output, axis: int) -> ov.Output:
        return ops.gather_elements(x, indices, axis).output(0)


OPS = _Ops()
"""The primitive operations of a decomposed resize as OpenVINO nodes."""
