"""Extreme inputs of quantised models: sums of 8-bit products are largest, and saturate first, where inputs are."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

import numpy as np

from ir_interp.array_types import Array
from ir_interp.options.image_options import IMAGE_RANK

from ...onnx import qoperator
from ..graphs import Graph, ModelInput, Step

LOWEST, HIGHEST, ALTERNATING, RANGE = "lowest", "highest", "alternating", "range"
PATTERNS = (LOWEST, HIGHEST, ALTERNATING, RANGE)
"""All elements at the lower end of their range, at the upper one, at both in turn, and at random between them."""

Limits = Mapping[str, tuple[float, float]]
"""The range of inputs, by name."""

_ROUNDING = frozenset(("fakequantize", "quantizelinear", *(name.lower() for name in qoperator.OPERATORS)))
_MOVES = frozenset(("cast", "convert", "identity", "reshape", "squeeze", "transpose", "unsqueeze"))


def is_quantised(graph: Graph) -> bool:
    """Return whether a model rounds to levels whose scales are in its file."""
    return any(step.type in _ROUNDING for step in graph.steps)


def limits(graph: Graph) -> Limits:
    """Return the range of each input of a quantised model: of its type, or of the levels to which it is rounded.

    A float that is rounded elsewhere is as usual, from 0 to 1. Empty if the model is not quantised.
    """
    if not is_quantised(graph):
        return {}
    known = ((tensor.name, _limits(graph, tensor)) for tensor in graph.inputs)
    return {name: ends for name, ends in known if ends is not None}


def values(pattern: str, shape: tuple[int, ...], dtype: np.dtype[np.generic], ends: tuple[float, float]) -> Array:
    """Return an array of a pattern between the ``ends`` of a range."""
    low, high = np.array(ends).astype(dtype)
    if pattern == LOWEST:
        return np.full(shape, low)
    if pattern == HIGHEST:
        return np.full(shape, high)
    parity = reduce(np.bitwise_xor, np.ogrid[tuple(slice(size) for size in shape)], np.zeros((), int)) & 1
    alternating: Array = np.where(np.broadcast_to(parity, shape) == 0, low, high)
    return alternating


def _limits(graph: Graph, tensor: ModelInput) -> tuple[float, float] | None:
    """Return the range of an input; None for one that is no image or signal of levels or floats."""
    try:
        dtype = np.dtype(tensor.dtype)
    except TypeError:
        return None
    if dtype.kind in "iu":
        is_levels = dtype.itemsize == 1 or (dtype.itemsize == 2 and len(tensor.lengths) >= IMAGE_RANK)
        return (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max)) if is_levels else None
    return _rounded(graph, tensor.name) or (0.0, 1.0) if dtype.kind == "f" else None


def _rounded(graph: Graph, name: str) -> tuple[float, float] | None:
    """Return the range of the levels to which an input is rounded; None if its first consumers do not round it."""
    readers, waiting = graph.readers(), [name]
    while waiting:
        for step, place in readers.get(waiting.pop(), ()):
            ends = _levels(graph, step) if place == 0 else None
            if ends is not None:
                return ends
            waiting += step.outputs if step.type in _MOVES and place == 0 else ()
    return None


def _levels(graph: Graph, step: Step) -> tuple[float, float] | None:
    """Return the range of the levels of a FakeQuantize or QuantizeLinear, the widest of its channels."""
    if step.type == "fakequantize":
        low, high = graph.value(step.inputs[1]), graph.value(step.inputs[2])
        return None if low is None or high is None else (float(low.min()), float(high.max()))
    if step.type != "quantizelinear":
        return None
    scale = graph.value(step.inputs[1])
    zero = graph.value(step.inputs[2]) if len(step.inputs) > 2 and step.inputs[2] else np.zeros((), np.uint8)
    if scale is None or zero is None or zero.dtype.kind not in "iu":
        return None
    ends = np.iinfo(zero.dtype)
    places = zero.astype(np.float64)
    return float(((ends.min - places) * scale).min()), float(((ends.max - places) * scale).max())
