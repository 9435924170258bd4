"""FakeQuantize, in the arithmetic of OpenVINO's CPU plugin."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...onnx.graph import Graph
from ..merged import BROADCASTS
from ..op import Op

_Numbers = NDArray[np.float32]


def _fake_quantize(graph: Graph, op: Op) -> str:
    levels = op.integer("levels")
    if op.word("auto_broadcast", BROADCASTS, "numpy") == "pdpd":
        raise op.refusal("it aligns axes as pdpd does")
    limits = [op.value(index) for index in range(1, 5)]
    known = [np.asarray(each, np.float32) for each in limits if each is not None]
    if len(known) < 4:
        raise op.refusal("its ranges are known only at run time")
    return _in_integers(graph, op, levels, *known) or _quantised(graph, op, levels, *known)


def _in_integers(
    graph: Graph, op: Op, levels: int, low: _Numbers, high: _Numbers, out_low: _Numbers, out_high: _Numbers
) -> str | None:
    """Return QuantizeLinear and DequantizeLinear where they compute the same bit by bit; None where not.

    They do where the step is a power of two, zero is a level, and what comes out is what went in.
    """
    step = (high - low) / np.float32(levels - 1)
    same = np.array_equal(low, out_low) and np.array_equal(high, out_high)
    if levels != 256 or low.size != 1 or not same or high <= low or np.frexp(step)[0] != 0.5:
        return None
    zero = -low / step
    kind = _INTEGERS.get(float(zero.ravel()[0]))
    if kind is None:
        return None
    scale, offset = graph.constant(step.reshape(())), graph.constant(0, kind)
    return graph.node("DequantizeLinear", graph.node("QuantizeLinear", op.inputs[0], scale, offset), scale, offset)


def _quantised(
    graph: Graph, op: Op, levels: int, low: _Numbers, high: _Numbers, out_low: _Numbers, out_high: _Numbers
) -> str:
    """Limit, scale and shift, round half to even, scale and shift back."""
    steps = np.float32(levels - 1)
    scale = steps / (high - low)
    x = graph.node("Max", op.inputs[0], graph.constant(np.minimum(low, high)))
    x = graph.node("Min", x, graph.constant(np.maximum(low, high)))
    x = _line(graph, x, scale, -low * scale)
    return _line(graph, graph.node("Round", x), (out_high - out_low) / steps, out_low)


def _line(graph: Graph, x: str, scale: _Numbers, shift: _Numbers) -> str:
    """Return x * scale + shift, without what changes nothing."""
    if np.any(scale != 1):
        x = graph.node("Mul", x, graph.constant(scale))
    return graph.node("Add", x, graph.constant(shift)) if np.any(shift != 0) else x


_INTEGERS = {0.0: "uint8", 128.0: "int8"}  # by the level that is zero


TABLE = {"FakeQuantize": _fake_quantize}
