"""The origin of the entries of a tensor of sizes or scales: which axes keep their size, whatever it is."""

from __future__ import annotations

import onnx

from ir_interp.spec import AtRunTime

from ..runtimes.node_geometry import resized
from .resize_nodes import ResizeNode
from .values import Values

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
