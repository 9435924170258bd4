"""Sums of floats as nodes, tap by tap, in the order of a library: a matrix product keeps no order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import InexactError
from ir_interp.plan.libraries.opencv_ipp_order import Order, patches
from ir_interp.plan.libraries.passes import Pass
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import IntegerRounding, Unrounded

from ..onnx.onnx_primitives import NodeTensor

Terms = Sequence[tuple[NodeTensor, NDArray[Any]]]
"""The factors."""

_BRIGHTEST = 255
_CHANNELS = 3
LARGEST = float(np.finfo(np.float32).max)
"""In float32: clipping a number at it changes nothing, but keeps OpenVINO from fusing it with the next operation."""
_MOST_TAPS = 256  # each is four nodes


def chained(op: ResizeOp, x: NodeTensor, stage: Pass) -> NodeTensor:
    """Return planes [channels, height, width] after a pass of floats from the first tap to the last.

    Raises InexactError for float64 if ``x`` is float32, for sums that are not rounded half to even, and for more
    taps than a model should have nodes.
    """
    dtype, taps = stage.weights.dtype.name, stage.indices.shape[1]
    if dtype == "float64" and x.dtype != dtype:
        raise InexactError(op.name, "float32 nodes", reason="it sums float64")
    if stage.rounding not in (Unrounded.KEPT, IntegerRounding.HALF_EVEN):
        raise InexactError(op.name, "nodes", reason=f"no node rounds {stage.rounding}")
    if taps > _MOST_TAPS:
        raise InexactError(
            op.name, "nodes", reason=f"{taps} taps would be added one by one; expected at most {_MOST_TAPS}"
        )
    # One node for each product and sum, since no reduction of ONNX defines the order in which it adds.
    y = _added(Order((tuple(range(taps)),), fused=False), _terms(x.cast(dtype), stage))
    return y.cast(x.dtype) if stage.rounding is Unrounded.KEPT else _whole(y).cast(x.dtype)


def in_orders(op: ResizeOp, x: NodeTensor, stages: Sequence[Pass]) -> NodeTensor:
    """Return planes after the passes of Intel's library, whose products keep all their bits in a sum: in float64.

    Raises InexactError if ``x`` is float32.
    """
    if x.dtype != "float64":
        reason = "it rounds a product and its sum once, as a fused operation, which float32 nodes cannot"
        raise InexactError(op.name, "float32 nodes", reason=reason)
    across, down = stages
    (orders,) = {patch.orders for patch in patches(down.indices, across.indices, _CHANNELS, "uint8")}
    assert orders is not None
    assert len(set(orders.across)) == 1
    y = _added(orders.across[0], _terms(x, across))
    return _whole(_added(orders.down, _terms(y, down)))


def in_blocks(x: NodeTensor, stage: Pass, width: int) -> NodeTensor:
    """Return which values [width, channels] of rows lie in complete vectors."""
    places = np.arange(width)[:, None] * _CHANNELS + np.arange(_CHANNELS)
    inside = places < width * _CHANNELS // stage.lanes * stage.lanes
    return x.of(inside, "bool")


def _terms(x: NodeTensor, stage: Pass) -> Terms:
    columns = stage.weights.astype(x.dtype).T
    laid = [column[:, None] if stage.axis == 0 else column for column in columns]
    return [(x.take(index, stage.axis + 1), weights) for index, weights in zip(stage.indices.T, laid, strict=True)]


def _added(order: Order, terms: Terms) -> NodeTensor:
    totals = []
    for start, *others in order.chains:
        value, weight = terms[start]
        total = _single(value * weight)
        for tap in others:
            value, weight = terms[tap]
            total = _single(value * weight + total) if order.fused else total + (value * weight).minimum(LARGEST)
        totals.append(total)
    return reduce(lambda one, other: _single(one + other), totals)


def _single(x: NodeTensor) -> NodeTensor:
    """Return numbers rounded to float32, from float64 with more bits; OpenVINO fuses no product that is clipped."""
    return x.minimum(LARGEST) if x.dtype == "float32" else x.cast("float32").cast(x.dtype)


def _whole(x: NodeTensor) -> NodeTensor:
    return x.round().maximum(0.0).minimum(float(_BRIGHTEST))
