"""Nodes of OpenVINO graphs: their names, primitive operations of a decomposed resize, and exact integers.

Names are the same in every process. Integers that a model computes are made exact where OpenVINO's CPU plugin rounds
otherwise than ONNX: it computes float64 in float32, and a quotient of floats as a product with the reciprocal. Either
may be off by the last bit, and an integer that is made of it by 1: another output size, or another row of the image.
It divides integers in float32 as well, which does not hold those beyond 2**24: sums of an integer resize, before
rounding.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from itertools import count, product
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
from openvino.opset15 import bitwise_right_shift
from openvino.passes import ConstantFolding, Manager

from ir_interp.errors import SpecError, UnsupportedLayerError
from ir_interp.plan.float_arithmetic import Factor, Rounding, SizeScale, computed, first_wrong_size, formula_steps
from ir_interp.shapes import Array

from ..decompose.tensor import Functions, Tensor
from ..runtimes.execution import LARGEST_GATHER

_NUMBERED = re.compile(r"[A-Z][A-Za-z0-9]*_\d+")  # as in Transpose_1693, of a node that was folded to a constant


def node_names(model: ov.Model) -> frozenset[str]:
    """Return the names of all nodes of a model."""
    return frozenset(node.get_friendly_name() for node in nodes_of(model))


def number_anew(model: ov.Model, kept_names: AbstractSet[str] | None = None) -> None:
    """Name unnamed nodes by their place in the model.

    OpenVINO numbers them over the whole process, so the same model would give other bytes beside other models.
    ``kept_names`` are the names that a model had before it was transformed; they are kept.
    """
    if model.get_friendly_name() == model.get_name():
        model.set_friendly_name("Model0")
    nodes = list(nodes_of(model))
    unnamed = [node for node in nodes if _is_numbered(node, kept_names)]
    names, number = node_names(model) - {node.get_friendly_name() for node in unnamed}, count()
    for node in unnamed:
        kind = node.get_type_name()
        node.set_friendly_name(next(name for name in (f"{kind}_{n}" for n in number) if name not in names))


def _is_numbered(node: ov.Node, names: AbstractSet[str] | None) -> bool:
    name = node.get_friendly_name()
    return name == node.get_name() or (names is not None and name not in names and bool(_NUMBERED.fullmatch(name)))


def nodes_of(model: ov.Model) -> Iterator[ov.Node]:
    """Yield the nodes of a model, and those of all bodies."""
    for node in model.get_ops():
        yield node
        kind = node.get_type_name()
        bodies = [node.get_function(place) for place in (0, 1)] if kind == "If" else []
        for body in [node.get_function()] if kind in ("Loop", "TensorIterator") else bodies:
            yield from nodes_of(body)


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


_OF_SIZES = ("Constant", "ShapeOf")
_ROUNDED = ("Ceiling", "Equal", "Floor", "FloorMod", "Greater", "GreaterEqual", "Less", "LessEqual", "Mod", "Round")
_BETWEEN = (
    *("Abs", "Add", "Clamp", "Divide", "Maximum", "Minimum", "Multiply", "Negative", "Sign", "Subtract"),
    *("Broadcast", "Concat", "Convert", "Gather", "Identity", "Reshape", "Select", "Slice", "Split", "Squeeze"),
    *("StridedSlice", "Unsqueeze", "VariadicSplit"),
)
_FLOATS = ("f32", "f64")
_MOVES = ("Broadcast", "Concat", "Gather", "Reshape", "Squeeze", "StridedSlice", "Unsqueeze")
_FORMULAS = ("Add", "Divide", "Multiply", "Subtract")
_STEPS = (*_FORMULAS, "Maximum", "Minimum")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The new nodes of a model, whose constants must stay exact, and the scales whose products they compute."""

    nodes: list[ov.Node]
    scales: tuple[SizeScale, ...]


def settle_integers(model: ov.Model, exact: frozenset[str]) -> Settled:
    """Change a model in place; return what changed.

    Those named in ``exact`` are left alone: resizes, which are built of operations that the plugin computes correctly.
    """
    before, scales = {node.get_name() for node in nodes_of(model)}, list[SizeScale]()
    for node in list(nodes_of(model)):
        if node.get_friendly_name() in exact:
            continue
        if node.get_type_name() in _FORMULAS and _element(node) == "f64":
            scales += _compute_exactly(node)
        elif node.get_type_name() == "Divide" and _element(node) in _FLOATS and _decides(node):
            _divide_precisely(node)
        elif node.get_type_name() == "Divide" and _element(node) == "i32":
            _shift(node)
        elif node.get_type_name() in _FORMULAS and _element(node) == "f32" and _decides(node):
            _keep_apart(node)
    nodes = [node for node in nodes_of(model) if node.get_name() not in before]
    return Settled(nodes=nodes, scales=tuple(dict.fromkeys(scales)))


def _keep_apart(node: ov.Node) -> None:
    """Keep an operation on a size from being fused with the one before it, which rounds once instead of twice.

    OpenVINO multiplies two factors in advance, and computes a product and a sum in one step; but for no maximum.
    """
    for port in node.inputs():
        before = port.get_source_output()
        made = _behind_copies(before.get_node())
        if made.get_type_name() in _FORMULAS and _follows_from_sizes(made):
            port.replace_source_output(ops.maximum(before, ops.constant(-_LARGEST)).output(0))


def _behind_copies(node: ov.Node) -> ov.Node:
    while node.get_type_name() == "Identity":
        node = node.input_value(0).get_node()
    return node


def _shift(node: ov.Node) -> None:
    """Replace the quotient of integers by a power of 2, which the CPU plugin truncates, by a shift."""
    dividend, divisor = node.input_value(0), node.input_value(1).get_node()
    if divisor.get_type_name() != "Constant" or divisor.data.size != 1:
        return
    power = int(divisor.data.item())
    if power < 2 or power & (power - 1):
        return
    readers = list(node.output(0).get_target_inputs())
    is_negative = ops.less(dividend, ops.constant(np.int32(0)))
    raised = ops.add(dividend, ops.select(is_negative, ops.constant(np.int32(power - 1)), ops.constant(np.int32(0))))
    quotient = OPS.shifted(raised.output(0), power.bit_length() - 1)
    for reader in readers:
        reader.replace_source_output(quotient)


def _element(node: ov.Node) -> str:
    return str(node.get_output_element_type(0).get_type_name())


def _compute_exactly(node: ov.Node) -> Iterator[SizeScale]:
    """Replace integers that are made of a size by a formula of float64 by the same in float32 steps; yield its scale.

    Raises UnsupportedLayerError for a formula without such steps that float32 computes otherwise.
    """
    ends = [port.get_node() for port in node.output(0).get_target_inputs()]
    roundings = {end.get_name(): rounding for end in ends if (rounding := _rounding(end))}
    formula = _formula(node) if roundings else None
    if formula is None:
        return
    size, factors = formula
    for rounding in dict.fromkeys(roundings.values()):
        yield SizeScale(scale=float(computed(factors, np.ones(1))[0]), rounding=rounding)
        length = _length(node, size, factors, rounding)
        for end in ends if length is not None else ():
            if roundings.get(end.get_name()) is rounding:
                end.output(0).replace(ops.convert(length, _element(end)).output(0))


def _length(node: ov.Node, size: ov.Output, factors: tuple[Factor, ...], rounding: Rounding) -> ov.Output | None:
    """Return the size that a formula makes of a size, in steps; None if float32 computes it as it stands."""
    try:
        steps = formula_steps(factors, rounding)
    except SpecError:
        wrong = first_wrong_size(factors, rounding)
        if wrong is None:
            return None
        problem = f"a size that is computed in float64, which OpenVINO computes in float32: of {wrong} it makes another"
        raise UnsupportedLayerError(f"{problem} integer; compute it from integers", node.get_friendly_name()) from None
    rank = size.get_partial_shape().rank.get_length()
    column = OPS.unsqueeze(OPS.convert(size, "float32"), [rank])
    length: ov.Output = steps.of(Tensor(OPS, column), Functions(OPS)).take(0, rank).value
    return length


def _formula(node: ov.Node) -> tuple[ov.Output, tuple[Factor, ...]] | None:
    """Return the size, and the steps that a number is made of it by; None if it is made otherwise."""
    factors: list[Factor] = []
    while node.get_type_name() in _FORMULAS:
        values = [_behind_copies(node.input_value(place).get_node()) for place in (0, 1)]
        places = [place for place in (0, 1) if _is_number(values[place])]
        is_ordered = places == [1] or (places == [0] and node.get_type_name() in ("Multiply", "Add"))
        if not is_ordered:
            return None
        number = float(values[places[0]].data.item())
        factors.insert(0, (node.get_type_name().lower(), number))
        node = values[1 - places[0]]
    if node.get_type_name() != "Convert" or not node.input_value(0).get_element_type().is_integral_number():
        return None
    size = node.input_value(0)
    return (size, tuple(factors)) if size.get_partial_shape().rank.is_static else None


def _is_number(node: ov.Node) -> bool:
    """Return whether a node is a constant number; a vector of one would raise the rank of what it is added to."""
    return node.get_type_name() == "Constant" and bool(node.data.size == 1 and node.data.ndim <= 1)


def _rounding(node: ov.Node) -> Rounding | None:
    """Return how a node rounds numbers of 0 or more; None if it does not."""
    kind = node.get_type_name()
    if kind == "Round":
        return Rounding.EVEN if node.get_attributes()["mode"] == "half_to_even" else Rounding.AWAY
    if kind == "Ceiling":
        return Rounding.UP
    return Rounding.DOWN if kind == "Floor" or _converts_to_integers(node) else None


def _converts_to_integers(node: ov.Node) -> bool:
    return node.get_type_name() == "Convert" and bool(node.get_output_element_type(0).is_integral_number())


def _decides(node: ov.Node) -> bool:
    """Return whether a quotient is computed from sizes alone, and an integer is made of it."""
    return _follows_from_sizes(node) and any(map(_rounds, _readers(node)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFormula:
    """A formula by which a model computes and rounds a size: its last node, the steps by dimension, the rounding."""

    node: ov.Node
    every: tuple[tuple[Factor, ...], ...]
    rounding: Rounding


def size_formulas(model: ov.Model) -> Iterator[SizeFormula]:
    """Yield the formulas that compute and round a size in floats, by steps whose other operand is constant."""
    for node in nodes_of(model):
        rounding = _rounding(node)
        last = _source(node) if rounding else node
        if rounding is None or _element(last) not in _FLOATS or not _follows_from_sizes(last):
            continue
        steps = list[tuple[str, Array]]()
        while last.get_type_name() in _STEPS and (step := _with_constant(last)):
            place, numbers = step
            steps.insert(0, (last.get_type_name().lower(), numbers.ravel()))
            last = _source(last, 1 - place)
        if steps and (_converts_integers(last) or _rounding(last)):
            names, constants = zip(*steps, strict=True)
            counts = {each.size for each in constants} - {1}
            # Where elements were left out between two steps, nothing tells which of their numbers meet.
            columns = zip(*np.broadcast_arrays(*constants), strict=True) if len(counts) < 2 else product(*constants)
            every = (tuple(zip(names, map(float, column), strict=True)) for column in columns)
            yield SizeFormula(node=_source(node), every=tuple(dict.fromkeys(every)), rounding=rounding)


def _with_constant(node: ov.Node) -> tuple[int, Array] | None:
    """Return the place and the value of the constant operand of a step; None if it has none in such a place."""
    places = (1,) if node.get_type_name() in ("Divide", "Subtract") else (1, 0)
    constants = ((place, constant_of(node.input_value(place))) for place in places)
    return next(((place, numbers) for place, numbers in constants if numbers is not None), None)


def constant_of(value: ov.Output) -> Array | None:
    """Return the value of an expression of constants; None if it depends on an input."""
    node = value.get_node()
    if node.get_type_name() == "Constant":
        return np.array(node.data)
    try:
        model = ov.Model([ops.result(value)], [], "constant")
    except RuntimeError:  # a Parameter is reachable
        return None
    return folded(model)


def folded(model: ov.Model) -> Array | None:
    """Return the value of a model's only result, folding its nodes; None if it depends on an input."""
    manager = Manager()
    manager.register_pass(ConstantFolding())
    manager.run_passes(model)
    node = model.get_results()[0].input_value(0).get_node()
    return np.array(node.data) if node.get_type_name() == "Constant" else None


def _source(node: ov.Node, place: int = 0) -> ov.Node:
    """Return the node that computes an input of another, behind those that move elements."""
    node = node.input_value(place).get_node()
    while node.get_type_name() in _MOVES and node.get_input_size():
        node = node.input_value(0).get_node()
    return node


def _converts_integers(node: ov.Node) -> bool:
    return node.get_type_name() == "Convert" and bool(node.get_input_element_type(0).is_integral_number())


def _readers(node: ov.Node) -> Iterator[ov.Node]:
    """Yield the nodes that read a number, unchanged or after additions and products."""
    waiting, seen = [node], set()
    while waiting:
        for reader in [port.get_node() for end in waiting.pop().outputs() for port in end.get_target_inputs()]:
            if reader.get_name() not in seen:
                seen.add(reader.get_name())
                yield reader
                waiting += [reader] if reader.get_type_name() in _BETWEEN and _element(reader) in _FLOATS else []


def _rounds(node: ov.Node) -> bool:
    return node.get_type_name() in _ROUNDED or _converts_to_integers(node)


def _follows_from_sizes(node: ov.Node) -> bool:
    """Return whether sizes and constants, but no data, determine a value that is not constant."""
    sources = list(_sources(node))
    ends = {part.get_type_name() for part in sources if part.get_type_name() in _OF_SIZES or not part.get_input_size()}
    return "ShapeOf" in ends and ends <= set(_OF_SIZES)  # others are inputs and states


def _has_range(node: ov.Node) -> bool:
    """Return whether the number of elements of a value follows from a size."""
    return any(part.get_type_name() == "Range" for part in _sources(node))


def _sources(node: ov.Node) -> Iterator[ov.Node]:
    """Yield the nodes that a value is computed from, up to those of sizes."""
    waiting, seen = [node], set()
    while waiting:
        part = waiting.pop()
        if part.get_name() not in seen:
            seen.add(part.get_name())
            yield part
            if part.get_type_name() not in _OF_SIZES:
                waiting += [part.input_value(place).get_node() for place in range(part.get_input_size())]


def _divide_precisely(node: ov.Node) -> None:
    """Let a quotient be rounded as IEEE 754 specifies; its shape stays as it is known."""
    dividend, divisor = node.input_value(0), node.input_value(1)
    shape = node.get_output_partial_shape(0)
    if shape.rank.is_dynamic:
        return
    readers = list(node.output(0).get_target_inputs())
    if _element(node) == "f64":
        dividend, divisor = (OPS.convert(x, "float32") for x in (dividend, divisor))
    is_scalar = shape.rank.get_length() == 0
    vector = OPS.elementwise("divide", OPS.unsqueeze(dividend, [0]) if is_scalar else dividend, divisor)
    result = OPS.precisely(vector)
    if is_scalar or (shape == ov.PartialShape([1]) and not _has_range(node)):
        # Only these keep their shape when an IR is reshaped.
        result = OPS.reshape(result, OPS.constant(np.array(list(shape.to_shape()), np.int64)))
    result = OPS.convert(result, "float64") if _element(node) == "f64" else result
    for reader in readers:
        reader.replace_source_output(result)
