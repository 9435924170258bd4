"""Where the entries of a tensor of sizes or scales come from: which axes keep their length, whatever that is."""

from __future__ import annotations

import onnx

from ir_interp.spec import AtRunTime

from .resizes import FoundNode
from .values import Values

_SAME_ENTRIES = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze")  # of what has one dimension at most


def open_axes(found: FoundNode) -> set[int]:
    """Return the axes that a target of run time, for every axis, is not known to leave as long as they are."""
    return {axis for axis in range(len(found.op.shape or ())) if not _keeps(found, axis)}


def _keeps(found: FoundNode, axis: int) -> bool:
    target, values = found.op.spec.target, found.values
    ends = [(values.shape(name) or (None,) * (axis + 1))[axis] for name in (found.node.input[0], found.node.output[0])]
    if ends[0] is not None and ends[0] == ends[1]:
        return True
    if not isinstance(target, AtRunTime):
        return False
    name, place = _origin(values, found.tensor(target.value), axis)
    if target is AtRunTime.SCALES:
        scales = values.value(name)
        return scales is not None and bool(scales.ravel()[place] == 1)
    node = values.producer(name)
    if node is None or node.op_type != "Shape" or node.attribute:
        return False
    return (node.input[0], place) == (found.node.input[0], axis)


def _origin(values: Values, name: str, place: int) -> tuple[str, int]:
    """Return the tensor, and the place in it, that an entry of a vector was copied from."""
    node = values.producer(name)
    source = _copied(values, node, place) if node is not None else None
    return _origin(values, *source) if source else (name, place)


def _copied(values: Values, node: onnx.NodeProto, place: int) -> tuple[str, int] | None:
    """Return what a node copies an entry of its output from; None where it does not."""
    given = list(node.input)
    if node.op_type in _SAME_ENTRIES:
        return given[0], place
    if node.op_type == "Concat":
        return _in_piece(values, given, place)
    first = values.value(given[1]) if node.op_type in ("Gather", "Slice") and len(given) > 1 else None
    if first is None:
        return None
    if node.op_type == "Gather":
        return _from_start(values, given[0], int(first.ravel()[place]))
    steps = values.value(given[4]) if len(given) > 4 else None
    even = len(given) < 5 or (steps is not None and steps.ravel()[0] == 1)
    return _from_start(values, given[0], int(first.ravel()[0]) + place) if even else None


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
