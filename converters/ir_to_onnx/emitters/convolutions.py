"""Convolutions, transposed convolutions, and deformable convolutions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ir_interp.array_types import Array

from ...onnx import operators
from ...onnx.graph import Graph
from .. import layer_inputs, sliding_windows
from ..layer import WHOLE, Op
from ..quantised import byte_products, channel_scales, channel_zeros, integer_layers
from ..quantised import small_weights as weights
from ..sliding_windows import Windows

_Emitter = Callable[[Graph, Op], str]


def _weights(graph: Graph, op: Op, grouped: bool, factors: Array | None = None) -> tuple[str, int]:
    """Return the weights without a separate group axis, times factors of channels, and the number of groups.

    Weights of few bits get a DequantizeLinear where onnxruntime then multiplies integers. Elsewhere it would not fold
    that node, and know of no weights; it folds arithmetic with constants when it loads the model.
    """
    stored, in_integers = weights.held(graph, op.inputs[1]), integer_layers.are_multiplied(op)
    if not grouped:
        return op.inputs[1] if stored is None or in_integers else stored.unpacked(graph), 1
    groups, rows, *others = op.lengths(1)
    if stored is None:
        return layer_inputs.reshaped(graph, op, op.inputs[1], [groups * rows, *others]), groups
    stored = stored.without_groups()
    stored = stored if factors is None else stored.times(factors.ravel().repeat(rows)) or stored
    return stored.written(graph, op.layer.name) if in_integers else stored.unpacked(graph), groups


def _convolution(grouped: bool) -> _Emitter:
    def emit(graph: Graph, op: Op) -> str:
        of_bytes = _of_bytes(graph, op, grouped) if op.dtype() == "int32" else None
        if of_bytes is not None:
            return of_bytes
        if op.dtype() in WHOLE:  # OpenVINO multiplies them in float32
            inputs = tuple(operators.cast(graph, tensor, "float32") for tensor in op.inputs[:2])
            return operators.cast(graph, written(graph, replace(op, inputs=inputs)), op.result_dtype())
        return written(graph, op)

    def written(graph: Graph, op: Op) -> str:
        over = sliding_windows.read(op, op.lengths(1)[3 if grouped else 2 :])
        _refuse_negative(op, over)
        of_bytes = channel_zeros.convolved(graph, op, over) if grouped else None
        if of_bytes is not None:
            return of_bytes
        x, factors = _unscaled(graph, op) if grouped else (op.inputs[0], None)
        weights, groups = _weights(graph, op, grouped, factors)
        return graph.node("Conv", x, weights, group=_if_several(groups), **over.attributes)

    return emit


def _of_bytes(graph: Graph, op: Op, grouped: bool) -> str | None:
    """Return a convolution of bytes less their zero point; None if it is none, or its pads may be negative."""
    over, kernel = sliding_windows.read(op, op.lengths(1)[3 if grouped else 2 :]), byte_products.kernel(op)
    if kernel is None or min(over.begin + over.end, default=0) < 0:
        return None
    groups = kernel.shape[0] if grouped else 1
    kernel = kernel.reshape(-1, *kernel.shape[2:]) if grouped else kernel
    return byte_products.convolved(graph, op, kernel, group=_if_several(groups), **over.attributes)


def _unscaled(graph: Graph, op: Op) -> tuple[str, Array | None]:
    """Return the levels that go in, and their scales, if the weights absorb the scales."""
    unscaled = channel_scales.unscaled(
        graph, op.inputs[0], "DequantizeLinear" if integer_layers.are_multiplied(op) else "Sub"
    )
    stored = weights.held(graph, op.inputs[1])
    if unscaled is None or stored is None:
        return op.inputs[0], None
    fits = stored.without_groups().times(unscaled[1].ravel().repeat(op.lengths(1)[1]))
    return unscaled if fits is not None and fits.since <= graph.opset else (op.inputs[0], None)


def _transposed(grouped: bool) -> _Emitter:
    def emit(graph: Graph, op: Op) -> str:
        weights, groups = _weights(graph, op, grouped)
        over = sliding_windows.read(op, op.lengths(1)[3 if grouped else 2 :])
        none = (0,) * len(over.kernel)
        same = op.word("auto_pad", sliding_windows.AUTO_PADS, "explicit").startswith("same")
        if same:  # without a shape to pad to, it has no effect
            over = replace(over, begin=none, end=none, same=None)
        extra, beyond = op.integers("output_padding", ()) or none, none
        if op.has(2):
            over, extra, beyond = _to_shape(op, over, extra)
        _refuse_negative(op, over)
        output = graph.node(
            "ConvTranspose",
            op.inputs[0],
            weights,
            group=_if_several(groups),
            output_padding=list(extra) if any(extra) else None,
            **over.attributes,
        )
        return graph.node("Pad", output, graph.ints([0] * (len(beyond) + 4) + [*beyond])) if any(beyond) else output

    return emit


_Lengths = tuple[int, ...]


def _to_shape(op: Op, over: Windows, extra: _Lengths) -> tuple[Windows, _Lengths, _Lengths]:
    """Return pads, output paddings and sizes to add that give the output the shape of input 2.

    Added entries lie beyond the reach of every window, and of ONNX's output_padding too.
    """
    sizes = op.known_integers(2, "the output's shape is")
    reach = [
        (length - 1) * stride + extent
        for length, stride, extent in zip(op.space(), over.strides, over.extents, strict=True)
    ]
    begin, automatic = over.begin, op.word("auto_pad", sliding_windows.AUTO_PADS, "explicit")
    if automatic.startswith("same"):
        totals = [max(full + more - length, 0) for full, more, length in zip(reach, extra, sizes, strict=True)]
        begin = sliding_windows.shared(totals, _OPPOSITE[automatic])[0]
    end = [full - before - length for full, before, length in zip(reach, begin, sizes, strict=True)]
    limits = [max(pair) - 1 for pair in zip(over.strides, over.dilations, strict=True)]
    cropped = tuple(min(max(-pad, 0), limit) for pad, limit in zip(end, limits, strict=True))
    beyond = tuple(max(-pad, 0) - more for pad, more in zip(end, cropped, strict=True))
    return replace(over, begin=begin, end=tuple(max(pad, 0) for pad in end)), cropped, beyond


_OPPOSITE = {"same_upper": "same_lower", "same_lower": "same_upper"}  # a transposed convolution is the reverse


def _refuse_negative(op: Op, over: Windows) -> None:
    if min(over.begin + over.end, default=0) < 0:
        raise op.refusal("its pads are negative")


def _if_several(groups: int) -> int | None:
    return groups if groups > 1 else None


def _deformable(graph: Graph, op: Op) -> str:
    op.needs(19, graph.opset)  # which brought DeformConv
    over = sliding_windows.read(op, op.lengths(2)[2:])
    if not op.flag("bilinear_interpolation_pad"):
        raise op.refusal("out-of-bounds samples count as 0, but DeformConv interpolates them with 0")
    return graph.node(
        "DeformConv",
        op.inputs[0],
        op.inputs[2],
        op.inputs[1],
        "",
        op.inputs[3] if op.has(3) else "",
        group=_if_several(op.integer("group", 1)),
        offset_group=_if_several(op.integer("deformable_group", 1)),
        **over.attributes,
    )


def _binary(graph: Graph, op: Op) -> str:
    """Multiply signs: 1 for positive values, else -1. OpenVINO takes the bits of each byte from the lowest on here."""
    op.word("mode", ("xnor-popcount",), "xnor-popcount")
    pad, weights = op.real("pad_value"), op.known(1, "its weights are")
    if pad not in (-1, 0, 1):
        raise op.refusal(f"its pad_value {pad:g} is none of -1, 0, 1")
    if weights.shape[1] % 8:
        raise op.refusal("its channels do not fill whole bytes, and OpenVINO reads neighbouring ones too")
    # The constant is unpacked from the highest bit of a byte on.
    bits = weights.reshape(-1, 8)[:, ::-1].reshape(weights.shape)
    one, less = (operators.scalar(graph, number, "float32") for number in (1, -1))
    positive = graph.node("Greater", op.inputs[0], operators.scalar(graph, 0, "float32"))
    x, over = graph.node("Where", positive, one, less), sliding_windows.read(op, weights.shape[2:])
    _refuse_negative(op, over)
    if pad and over.same:
        raise op.refusal("its pads are known only at run time, and are not 0")
    if pad:
        pads = graph.ints((0, 0, *over.begin, 0, 0, *over.end))
        # The pads of Conv are zeros, which stand for neither sign.
        x = graph.node("Pad", x, pads, operators.scalar(graph, pad, "float32"))
        over = replace(over, begin=(0, 0), end=(0, 0))
    return graph.node("Conv", x, graph.constant(np.where(bits, 1, -1), np.float32), **over.attributes)


TABLE: dict[str, _Emitter] = {
    "BinaryConvolution": _binary,
    "Convolution": _convolution(grouped=False),
    "GroupConvolution": _convolution(grouped=True),
    "ConvolutionBackpropData": _transposed(grouped=False),
    "GroupConvolutionBackpropData": _transposed(grouped=True),
    "DeformableConvolution": _deformable,
}
