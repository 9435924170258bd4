"""The primitive operations of a decomposed resize as OpenVINO nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops

from ..decompose.symbols import Symbol
from ..runtimes.openvino_sizes import LARGEST_GATHER, LARGEST_STATIC_GATHER

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": ops.add,
    "subtract": ops.subtract,
    "multiply": ops.multiply,
    "divide": lambda left, right: ops.divide(left, _hidden(right, left)),
    "minimum": ops.minimum,
    "maximum": ops.maximum,
    "floor": ops.floor,
    "ceil": ops.ceiling,
    "abs": lambda x: ops.maximum(x, ops.negative(x)),  # an Abs is dropped where it is taken for part of a shape
    "round": lambda x: ops.round(x, "half_to_even"),
    "less": ops.less,
    "less_equal": ops.less_equal,
    "equal": ops.equal,
    "and": ops.logical_and,
    "or": ops.logical_or,
    "select": ops.select,
}
_TYPES = {"float16": "f16", "float32": "f32", "float64": "f64", "bfloat16": "bf16", "bool": "boolean", "str": "string"}


def element_name(dtype: str) -> str:
    """Return OpenVINO's name of an element type, from NumPy's."""
    return _TYPES.get(dtype) or dtype.replace("uint", "u").replace("int", "i")


def _hidden(divisor: ov.Output, dividend: ov.Output) -> ov.Output:
    """Return a divisor that is no constant: by one of these the CPU plugin multiplies in every case."""
    if not _is_constant(divisor):
        return divisor
    return ops.add(divisor, ops.convert(_nothing(dividend), "f32")).output(0)


def _is_constant(x: ov.Output) -> bool:
    """Say whether a value depends on constants alone, or on lengths, which are folded where they are known."""
    waiting, seen = [x.get_node()], set()
    while waiting:
        node = waiting.pop()
        if node.get_name() in seen or node.get_type_name() == "ShapeOf":
            continue
        seen.add(node.get_name())  # a formula uses its values many times over: their paths are millions
        sources = [each.get_source_output().get_node() for each in node.inputs()]
        if not sources and node.get_type_name() != "Constant":
            return False
        waiting += sources
    return True


def _nothing(x: ov.Output) -> ov.Output:
    """Return a 0 (int64) that only running the model shows, made of a number or a vector."""
    rank = x.get_partial_shape().rank.get_length()
    positive = ops.less(np.float32(0), ops.reduce_max(x, np.arange(rank)) if rank else x)
    return ops.minimum(ops.convert(positive, "i64"), np.int64(0)).output(0)


class _Ops:
    """Builds outputs of nodes; the methods are described in ``symbols.Ops``."""

    def constant(self, array: Any) -> ov.Output:
        array = np.asarray(array)
        if array.dtype.name == "bfloat16":  # which NumPy does not know by itself
            return ops.constant(array.astype(np.float32), ov.Type.bf16).output(0)
        return ops.constant(array).output(0)

    def elementwise(self, name: str, *values: ov.Output) -> ov.Output:
        return _ELEMENTWISE[name](*values).output(0)

    def convert(self, x: ov.Output, dtype: str) -> ov.Output:
        return ops.convert(x, element_name(dtype)).output(0)

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

    def range(self, start: ov.Output, stop: ov.Output) -> ov.Output:
        return ops.range(start, stop, np.float32(1), "f32").output(0)

    def lengths(self, x: ov.Output) -> ov.Output:
        return ops.shape_of(x).output(0)

    def pad(self, x: ov.Output, begin: Sequence[int], end: Sequence[int]) -> ov.Output:
        return ops.pad(x, np.array(begin), np.array(end), "constant").output(0)

    def precisely(self, vector: ov.Output) -> ov.Output:
        """Return the same vector, each quotient that it was made of rounded as IEEE 754 says.

        The CPU plugin multiplies by reciprocals instead of dividing, but where the quotient decides a shape. So it
        is made to: the target of a Broadcast to its own shape is that shape plus a 0 that only running it shows.
        """
        return ops.broadcast(vector, ops.add(ops.shape_of(vector), _nothing(vector))).output(0)

    def at_any_size(
        self,
        given: Sequence[ov.Output],
        elements: float | Symbol,
        build: Callable[[_Ops], ov.Output],
        rank: int,
    ) -> ov.Output:
        """Return what ``build`` makes of ``given``: beyond the size of a Gather that is right, without one."""
        if not isinstance(elements, Symbol):
            return build(self if elements <= LARGEST_STATIC_GATHER else _OpsOfAnySize())
        few = ops.less_equal(elements.value, np.float32(LARGEST_GATHER))
        bodies = [_body(build(each), given) for each in (self, _OpsOfAnySize())]
        (small, _), (large, _) = bodies
        node = ops.if_op(few.output(0))
        node.set_then_body(small)
        node.set_else_body(large)
        for value, *parameters in zip(given, *(parameters for _, parameters in bodies), strict=True):
            node.set_input(value, *parameters)
        return node.set_output(small.results[0], large.results[0])


class _OpsOfAnySize(_Ops):
    """Gathers by GatherElements: half as fast as a Gather, and wrong at no size."""

    def gather(self, x: ov.Output, indices: ov.Output, axis: int) -> ov.Output:
        rank = indices.get_partial_shape().rank.get_length()
        if not rank:
            return _Ops.gather(self, x, indices, axis)
        behind = x.get_partial_shape().rank.get_length() - axis - 1
        lengths = ops.shape_of(x)
        before, after = ops.slice(lengths, [0], [axis], [1]), ops.slice(lengths, [axis + 1], [axis + 1 + behind], [1])
        flat = ops.reshape(indices, np.array([-1] + [1] * behind), False)
        places = ops.broadcast(flat, ops.concat([before, ops.slice(ops.shape_of(flat), [0], [1], [1]), after], 0))
        taken = ops.gather_elements(x, places, axis)
        return ops.reshape(taken, ops.concat([before, ops.shape_of(indices), after], 0), False).output(0)


def _body(output: ov.Output, given: Sequence[ov.Output]) -> tuple[ov.Model, list[ov.Node]]:
    """Return a model that ends in ``output``, cut off the values ``given``, and its parameters in their place.

    Their lengths are dynamic: a body that is not taken keeps what it is told here when the model is reshaped.
    """
    parameters = [
        ops.parameter(ov.PartialShape.dynamic(each.get_partial_shape().rank), each.get_element_type()) for each in given
    ]
    replaced = {_key(value): parameter for value, parameter in zip(given, parameters, strict=True)}
    seen, open_ends = set(), [output.get_node()]
    while open_ends:
        node = open_ends.pop()
        seen.add(node.get_name())
        for place in node.inputs():
            source = place.get_source_output()
            if _key(source) in replaced:
                place.replace_source_output(replaced[_key(source)].output(0))
            elif source.get_node().get_name() not in seen:
                open_ends.append(source.get_node())
    return ov.Model([ops.result(output)], parameters), parameters


def _key(value: ov.Output) -> tuple[str, int]:
    return value.get_node().get_name(), value.get_index()


OPS = _Ops()
