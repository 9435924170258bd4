"""The effect of the surrounding nodes on a node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import onnx

from ir_interp.errors import UnsupportedLayerError

from ..runtimes.onnxruntime_transposes import TRANSPOSES_PASS, between_transposes
from ..runtimes.outcome import Outcome, unknown
from .origins import may_change
from .resize_nodes import ResizeNode, given_names
from .values import Values

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
