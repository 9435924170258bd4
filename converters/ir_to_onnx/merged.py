"""Arithmetic with constants that the preceding node absorbs: one node instead of two.

The preceding node is written anew, with the constant; the first one, without readers now, is left out at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import onnx

from ir_interp.array_types import Array

from ..onnx.graph import Graph, attributes_of
from .layer import Op
from .quantised import small_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class _Before:
    """The node that produced the other operand and has no other reader; and the layer that it came from."""

    node: onnx.NodeProto
    op: Op

    @property
    def inputs(self) -> list[str]:
        return list(self.node.input)


_Merge = Callable[[Graph, _Before, Array], tuple[str, list[str]] | None]


def added(graph: Graph, op: Op) -> str | None:
    """Return the sum of a product, or of a normalisation, and a constant as one node; None if there is none."""
    return _merged(graph, op, {"Conv": _convolution, "MatMul": _matmul, "LayerNormalization": _shifted})


def multiplied(graph: Graph, op: Op) -> str | None:
    """Return the product of a normalisation and a constant as one node; None if there is none."""
    return _merged(graph, op, {"LayerNormalization": _scaled})


def limited_above(graph: Graph, op: Op) -> str | None:
    """Return the minimum of a number and a value with a lower limit as one Clip; None if there is no such node.

    Limits in the wrong order stay separate: of them the outer one holds, in a Clip the upper one.
    """
    return _merged(graph, op, {"Max": _clipped})


def limited_below(graph: Graph, op: Op) -> str | None:
    """Return the maximum of a number and a value with an upper limit as one Clip, as in ``limited_above``."""
    return _merged(graph, op, {"Min": _clipped})


def known_extreme(graph: Graph, kind: str, x: str, y: str) -> str | None:
    """Return the maximum (or minimum) of two if one is the other, or was computed from the other in the same way."""
    if x == y:
        return x
    for one, other in ((x, y), (y, x)):
        before = graph.maker(one)
        if before is not None and before.op_type == kind and other in before.input:
            return one
    return None


def _merged(graph: Graph, op: Op, merges: dict[str, _Merge]) -> str | None:
    for index in (0, 1):
        constant = op.value(1 - index)
        before = _before(graph, op, index) if constant is not None else None
        if constant is not None and before is not None and before.node.op_type in merges:
            merged = merges[before.node.op_type](graph, before, constant)
            if merged is not None:
                return graph.node(merged[0], *merged[1], **attributes_of(before.node))
    return None


def _before(graph: Graph, op: Op, index: int) -> _Before | None:
    """Return the producer of an operand; None if that is no node of this graph, or has other readers."""
    source = op.net.source(op.layer, index)
    if source is None or op.is_read_elsewhere(index) or op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd":
        return None
    node = graph.maker(op.inputs[index])
    return None if node is None else _Before(node=node, op=replace(op, layer=source[0], inputs=()))


BROADCASTS = ("none", "numpy", "pdpd")
PDPD_AXIS = "auto_broadcast.auto_broadcast_axis"
"""The attribute for the first axis that pdpd aligns."""


def _convolution(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb values that vary along the channels only into the bias."""
    bias = _along(graph, before, constant, [1])
    x, kernel, *biases = before.inputs
    old = graph.initialisers.get(biases[0]) if biases else None
    if bias is None or (biases and old is None):
        return None
    both = bias if old is None else graph.constant(old + graph.initialisers[bias])
    return "Conv", [x, kernel, both]


def _matmul(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb values that vary along the columns only into the bias of a product of two matrices.

    A product of integers is left alone: onnxruntime would convert them to floats in a Gemm, in each inference.
    """
    if small_weights.held(graph, before.inputs[1]) is not None:
        return None
    ranks = [len(before.op.shape(index) or ()) for index in (0, 1)]
    bias = _along(graph, before, constant, [1]) if ranks == [2, 2] else None
    return ("Gemm", [*before.inputs, bias]) if bias else None


def _clipped(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb a second limit if both are numbers, and of no more axes than the limited tensor."""
    for index, other in ((0, 1), (1, 0)):
        known = graph.initialisers.get(before.inputs[other])
        rank = len(before.op.shape(index) or ())
        if known is not None and all(_is_number(number, rank) for number in (known, constant)):
            low, high = (known, constant) if before.node.op_type == "Max" else (constant, known)
            limits = (graph.constant(limit.item(), np.float32) for limit in (low, high))
            # Limits in the wrong order mean different things in a Clip and in two nodes.
            return ("Clip", [before.inputs[index], *limits]) if low.item() <= high.item() else None
    return None


def _is_number(constant: Array, rank: int) -> bool:
    return constant.size == 1 and constant.ndim <= rank and constant.dtype == np.float32


def _scaled(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    """Absorb the factors into the scale, which is 1 if nothing was merged yet."""
    x, ones = before.inputs if len(before.inputs) == 2 else ("", "")
    scale = _along(graph, before, constant, _normalised(graph, before))
    return ("LayerNormalization", [x, scale]) if scale and ones and (graph.initialisers[ones] == 1).all() else None


def _shifted(graph: Graph, before: _Before, constant: Array) -> tuple[str, list[str]] | None:
    shift = _along(graph, before, constant, _normalised(graph, before))
    return ("LayerNormalization", [*before.inputs, shift]) if shift and len(before.inputs) == 2 else None


def _normalised(graph: Graph, before: _Before) -> Sequence[int]:
    rank, count = len(before.op.result_shape() or ()), graph.initialisers[before.inputs[1]].ndim
    return range(rank - count, rank)


def _along(graph: Graph, before: _Before, constant: Array, axes: Sequence[int]) -> str | None:
    """Return a constant broadcast along some axes of its partner; None if it varies along others."""
    shape = before.op.result_shape() or ()
    if constant.dtype.kind != "f" or constant.ndim > len(shape) or any(axis >= len(shape) for axis in axes):
        return None
    lengths = (1,) * (len(shape) - constant.ndim) + constant.shape
    sizes, target = [lengths[axis] for axis in axes], [shape[axis] for axis in axes]
    known = [length for length in target if length is not None]
    if len(known) < len(target) or constant.size != math.prod(sizes) or not _spreads(sizes, known):
        return None
    return graph.constant(np.broadcast_to(constant.reshape(sizes), known), np.float32)


def _spreads(lengths: Sequence[int], target: Sequence[int]) -> bool:
    return all(mine in (1, other) for mine, other in zip(lengths, target, strict=True))
