"""The effect of the surrounding nodes on a resize.

First the origin of the entries of a tensor of sizes or scales: which axes keep their size, whatever it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import onnx

from ir_interp.errors import UnsupportedLayerError
from ir_interp.shapes import static_shape
from ir_interp.specs import AtRunTime

from ..runtimes.onnxruntime_optimiser import TRANSPOSES_PASS, between_transposes
from ..runtimes.outcome import Body, Levels, Outcome, Surroundings, resized, unknown
from .onnx_files import graphs, subgraphs
from .resize_nodes import ResizeNode, given_names
from .static_values import Values

_SAME_ENTRIES = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")  # of tensors with at most one dimension

_MOST_COPIES = 1000  # in sequence; nodes may form a cycle


def may_change(resize: ResizeNode) -> set[int]:
    """Return the axes that a node may change; none if its input's rank is unknown."""
    waits = isinstance(resize.op.spec.target, AtRunTime) and resize.op.spec.axes is None
    return open_axes(resize) if waits else set(resized(resize.op))


def open_axes(resize: ResizeNode) -> set[int]:
    """Return the axes whose size a target of run time, for every axis, may change."""
    rank = len(resize.op.shape or ())
    return {axis for axis in range(rank) if not _has_one_length(resize, axis) and not _is_told_to_stay(resize, axis)}


def _has_one_length(resize: ResizeNode, axis: int) -> bool:
    """Return whether an axis is known to have the same size behind the node as before it."""
    shapes = (resize.values.shape(name) for name in (resize.node.input[0], resize.node.output[0]))
    before, after = (shape[axis] if shape and axis < len(shape) else None for shape in shapes)  # a file may contradict
    return before is not None and before == after


def _is_told_to_stay(resize: ResizeNode, axis: int) -> bool:
    """Return whether the target's entry for an axis is a scale of 1, or the axis' own size."""
    target, values = resize.op.spec.target, resize.values
    if not isinstance(target, AtRunTime):
        return False
    name, place = _origin(values, resize.tensor(target.value), axis)
    is_measured = place == axis and _measured(values, name) == resize.node.input[0]
    if target is AtRunTime.SIZES and is_measured:
        return True
    constant, staying = values.value(name), 1 if target is AtRunTime.SCALES else (resize.op.shape or ())[axis]
    return constant is not None and place < constant.size and bool(constant.ravel()[place] == staying)


def _measured(values: Values, name: str) -> str | None:
    """Return the tensor whose shape, in full, a tensor holds."""
    node = values.producer(name)
    return node.input[0] if node is not None and node.op_type == "Shape" and not node.attribute else None


def entries(values: Values, name: str) -> list[int | None] | None:
    """Return the entries of a vector of integers, None for those of run time; None if its length is unknown."""
    whole, shape = values.value(name), values.shape(name)
    if whole is not None:
        return [int(number) for number in whole.ravel()]
    if not shape or shape[0] is None:
        return None
    origins = [_origin(values, name, place) for place in range(shape[0])]
    known = [(values.value(tensor), place) for tensor, place in origins]
    return [int(array.ravel()[place]) if array is not None and place < array.size else None for array, place in known]


def _origin(values: Values, name: str, place: int) -> tuple[str, int]:
    """Return the tensor, and the place in it, that an entry of a vector was copied from."""
    for _ in range(_MOST_COPIES):
        node = values.producer(name)
        source = _copied(values, node, place) if node is not None and node.input else None
        if source is None:
            break
        name, place = source
    return name, place


def _copied(values: Values, node: onnx.NodeProto, place: int) -> tuple[str, int] | None:
    """Return the tensor and place from which a node copies an entry of its output; None if it does not copy."""
    inputs = list(node.input)
    if node.op_type in _SAME_ENTRIES:
        return inputs[0], place
    if node.op_type == "Concat":
        return _in_piece(values, inputs, place)
    index = values.value(inputs[1]) if node.op_type in ("Gather", "Slice") and len(inputs) > 1 else None
    if index is None or index.size <= (place if node.op_type == "Gather" else 0):
        return None
    if node.op_type == "Gather":
        return _from_start(values, inputs[0], int(index.ravel()[place]))
    steps = values.value(inputs[4]) if len(inputs) > 4 else None
    even = len(inputs) < 5 or (steps is not None and steps.size and steps.ravel()[0] == 1)
    return _from_start(values, inputs[0], int(index.ravel()[0]) + place) if even else None


def _from_start(values: Values, vector: str, place: int) -> tuple[str, int] | None:
    shape = values.shape(vector)
    if place >= 0:
        return vector, place
    return (vector, place + shape[0]) if shape and shape[0] is not None else None


def _in_piece(values: Values, pieces: list[str], place: int) -> tuple[str, int] | None:
    """Return the piece that an entry of joined vectors lies in, and where."""
    for piece in pieces:
        shape = values.shape(piece)
        if not shape or shape[0] is None:
            return None
        if place < shape[0]:
            return piece, place
        place -= shape[0]
    return None


_MOST = 1000  # nodes in one search


def in_onnxruntime(resize: ResizeNode) -> Outcome | None:
    """Return how onnxruntime computes a node among others; None if it is the same as for the node alone."""
    transpose = _transpose_before(resize)
    if transpose is None or not are_transposes_around(resize):
        return None
    orders = [tuple(attribute.ints) for attribute in transpose.attribute if attribute.name == "perm"]
    return between_transposes(resize.op, orders[0] if orders else None, may_change(resize))


def check_observed(nodes: Iterable[ResizeNode]) -> None:
    """Raise UnsupportedLayerError for a node that onnxruntime computes otherwise because of its neighbours."""
    for resize in nodes:
        other = in_onnxruntime(resize)
        if other is not None:
            reason = other.reason or f"onnxruntime computes it only {other.condition}"
            raise UnsupportedLayerError(f"semantics observed: {reason}", resize.op.where)


def in_providers(resize: ResizeNode) -> Outcome | None:
    """Return the outcome of a node among others in onnxruntime's other providers: its optimiser runs first."""
    producer = resize.values.producer(resize.node.input[0])
    if producer is not None and producer.op_type == "DequantizeLinear":
        return unknown("a Resize between quantisations")
    return None if in_onnxruntime(resize) is None else unknown("a Resize that the optimiser moves a Transpose over")


def quantised_type(resize: ResizeNode) -> str | None:
    """Return the type of the levels around a node: it reads one DequantizeLinear and is read by one QuantizeLinear.

    Both have the same constant scale and zero point; None for other nodes.
    """
    values = resize.values
    before, behind = values.producer(resize.node.input[0]), values.readers(resize.node.output[0])
    is_output = any(output.name == resize.node.output[0] for output in values.graph.output)
    if before is None or before.op_type != "DequantizeLinear" or is_output or len(behind) != 1:
        return None
    if behind[0].op_type != "QuantizeLinear" or not all(map(_are_equal(values), before.input[1:], behind[0].input[1:])):
        return None
    return values.dtype(before.input[0]) if len(before.input) == len(behind[0].input) else None


def levels_before(resize: ResizeNode) -> Levels | None:
    """Return the levels that a DequantizeLinear in front of a node reads; None if there is none."""
    values, output = resize.values, resize.node.output[0]
    before = values.producer(resize.node.input[0])
    if before is None or before.op_type != "DequantizeLinear" or not before.input:
        return None
    source = values.producer(before.input[0])
    is_output = any(end.name == output for end in values.graph.output)
    return Levels(
        dtype=values.dtype(before.input[0]),
        are_inputs=source is None,
        are_stored=values.is_stored(before.input[0]) or (source is not None and source.op_type == "Constant"),
        follow=not is_output and all(reader.op_type == "QuantizeLinear" for reader in values.readers(output)),
        are_symmetric=_are_symmetric(before, values),
    )


def _are_symmetric(quantised: onnx.NodeProto, values: Values) -> bool | None:
    """Return whether the zero points of a DequantizeLinear are 0; None if they are computed."""
    if len(quantised.input) <= _ZERO_POINT or not quantised.input[_ZERO_POINT]:
        return True
    zero = values.value(quantised.input[_ZERO_POINT])
    return None if zero is None else not np.any(zero)


_ZERO_POINT = 2  # its place among the inputs


def surroundings(resize: ResizeNode) -> Surroundings:
    """Return the graph around a node."""
    bodies, values = [], resize.values
    while values.outer is not None and values.holder is not None:
        bodies.append(_body(values.holder, values.outer))
        values = values.outer
    return Surroundings(functions=resize.functions, bodies=tuple(bodies), levels=levels_before(resize))


def _body(holder: onnx.NodeProto, around: Values) -> Body:
    """Return what a node of a graph is that holds bodies."""
    is_if, is_loop = holder.op_type == "If", holder.op_type == "Loop"
    carried = len(holder.input) - _BEFORE_CARRIED if is_loop else 0
    return Body(
        operator=holder.op_type,
        is_decided=is_if and around.value(holder.input[0]) is not None,
        is_even=_is_even(holder, around) if is_if else True,
        reads_stored=_reads_stored(holder, around),
        stacks=not is_if and len(holder.output) > carried,
    )


_BEFORE_CARRIED = 2  # inputs of a Loop: the number of iterations and the condition


def _is_even(holder: onnx.NodeProto, around: Values) -> bool | None:
    """Return whether the branches of an If have outputs of the same shapes; None if some dimension is dynamic."""
    inferred = next((node for node in around.inferred.node if node.output == holder.output), holder)
    branches = [body for attribute in inferred.attribute for body in subgraphs(attribute)]
    shapes = [
        [static_shape(around.inside(body, body, holder).shape(end.name)) for end in body.output] for body in branches
    ]
    pairs = list(zip(*shapes, strict=False))
    if any(None not in pair and len({*pair}) > 1 for pair in pairs):
        return False
    return None if any(None in pair for pair in pairs) else True


def _reads_stored(holder: onnx.NodeProto, around: Values) -> bool:
    """Return whether bodies hold initialisers, or read some that no node of the main graph reads."""
    main = around
    while main.outer is not None:
        main = main.outer
    inner = [graph for attribute in holder.attribute for body in subgraphs(attribute) for graph in graphs(body)]
    if any(graph.initializer for graph in inner):
        return True
    read = {name for graph in inner for node in graph.node for name in node.input}
    return any(around.is_stored(name) and not main.readers(name) for name in read)


def _are_equal(values: Values) -> Callable[[str, str], bool]:
    """Return a function that returns whether two tensors are the same, or constants of the same value."""

    def equal(first: str, second: str) -> bool:
        one, other = (values.value(name) if name else None for name in (first, second))
        return first == second or (one is not None and other is not None and bool(np.array_equal(one, other)))

    return equal


def computes_scales_of_constants(resize: ResizeNode) -> bool:
    """Return whether nodes compute the scales of a node from constants alone, without a shape or an input."""
    left, seen, has_nodes = [resize.tensor("scales") if _has_scales(resize) else ""], set[str](), False
    while left and len(seen) < _MOST:
        name = left.pop()
        node = resize.values.producer(name)
        if node is None:
            if name and resize.values.value(name) is None:
                return False
        elif node.op_type in ("Shape", "Size"):
            return False
        elif node.op_type != "Constant":
            has_nodes = True
            left += [each for each in node.input if each and each not in seen]
            seen.update(node.input)
    return has_nodes


def computes_sizes_of_dynamic(resize: ResizeNode) -> bool:
    """Return whether nodes compute the sizes of a node from the shape of a tensor with dynamic dimensions."""
    left, seen = [resize.tensor("sizes") if "sizes" in given_names(resize.op.version) else ""], set[str]()
    while left and len(seen) < _MOST:
        node = resize.values.producer(left.pop())
        if node is not None and node.op_type in ("Shape", "Size"):
            if static_shape(resize.values.shape(node.input[0])) is None:
                return True
        elif node is not None:
            left += [each for each in node.input if each and each not in seen]
            seen.update(node.input)
    return False


def _has_scales(resize: ResizeNode) -> bool:
    return "scales" in given_names(resize.op.version)


def are_transposes_around(resize: ResizeNode) -> bool:
    """Return whether a Transpose in front of a node may meet one behind it."""

    def behind(node: onnx.NodeProto) -> Iterable[onnx.NodeProto | None]:
        return (reader for name in node.output for reader in resize.values.readers(name))

    return _transpose_before(resize) is not None and _met(resize.node, behind) is not None


def _transpose_before(resize: ResizeNode) -> onnx.NodeProto | None:
    def before(node: onnx.NodeProto) -> Iterable[onnx.NodeProto | None]:
        return map(resize.values.producer, node.input[:1] if node is resize.node else node.input)

    return _met(resize.node, before)


def is_transpose_before(nodes: Sequence[onnx.NodeProto], tensor: str) -> bool:
    """Return whether a Transpose may be moved to a tensor, to which a sequence of nodes leads."""
    producers = {name: node for node in nodes for name in node.output}

    def before(node: onnx.NodeProto) -> Iterable[onnx.NodeProto | None]:
        return map(producers.get, node.input)

    return _met(onnx.NodeProto(input=[tensor]), before) is not None


def _met(
    start: onnx.NodeProto, around: Callable[[onnx.NodeProto], Iterable[onnx.NodeProto | None]]
) -> onnx.NodeProto | None:
    """Return a Transpose that can be reached from a node across nodes over which Transposes are moved."""
    left, seen = [start], {id(start)}
    while left and len(seen) < _MOST:
        for node in around(left.pop()):
            if node is None or id(node) in seen:
                continue
            if node.op_type == "Transpose":
                return node
            seen.add(id(node))
            if node.op_type in TRANSPOSES_PASS:
                left.append(node)
    return None
