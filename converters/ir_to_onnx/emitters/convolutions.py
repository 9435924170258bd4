"""Convolutions, transposed convolutions, and deformable convolutions.

First sliding windows, shared with pooling: strides, dilations, pads. Then zero points of channels before a depthwise
convolution: its padding values, and a bias. Tools that quantise each channel by its own range (nncf's mixed preset)
give it its own zero point, too. onnxruntime multiplies integers of one zero point only. So levels are counted from the
lowest, the bias subtracts what that adds to each sum, and the pads are written explicitly, as levels that are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import ReadError
from ir_interp.shapes import Array

from ...onnx import operators
from ...onnx.onnx_graph import Graph
from .. import integer_layers, layers, small_weights, small_weights as weights
from ..integer_layers import Side
from ..layers import WHOLE, Op

AUTO_PADS = ("explicit", "valid", "same_upper", "same_lower")
"""The modes of padding an input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Windows of one layer along its spatial axes; ``same`` names the automatic padding for sizes not known yet."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]
    same: str | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        """The reach of each window."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.kernel, self.dilations, strict=True))

    @property
    def attributes(self) -> dict[str, Any]:
        """The attributes in which ONNX has them."""
        pads = None if self.same else list(self.begin + self.end)
        steps = list(self.dilations) if any(step != 1 for step in self.dilations) else None
        return {
            "kernel_shape": list(self.kernel),
            "strides": list(self.strides),
            "dilations": steps,
            "pads": pads if pads and any(pads) else None,
            "auto_pad": self.same.upper() if self.same else None,
        }


def read_windows(op: Op, kernel: Sequence[int]) -> Windows:
    """Return the windows of a layer; automatic pads are computed if its input shape is static."""
    count = len(kernel)
    windows = Windows(
        kernel=tuple(kernel),
        strides=per_axis(op, "strides", count),
        dilations=per_axis(op, "dilations", count),
        begin=per_axis(op, "pads_begin", count, 0),
        end=per_axis(op, "pads_end", count, 0),
    )
    automatic = op.word("auto_pad", AUTO_PADS, "explicit")
    if automatic.startswith("same"):
        return _padded_windows(op, windows, automatic)
    return replace(windows, begin=(0,) * count, end=(0,) * count) if automatic == "valid" else windows


def per_axis(op: Op, name: str, count: int, default: int = 1) -> tuple[int, ...]:
    """Return a list of one number for each spatial axis; the default if there is none."""
    values = op.integers(name, ()) or (default,) * count
    if len(values) != count:
        raise ReadError(f"{len(values)} values for {count} spatial axes", f"{op.layer.where}@{name}")
    return values


def _padded_windows(op: Op, windows: Windows, same: str) -> Windows:
    lengths = (op.shape() or ())[2:]
    if None in lengths or not lengths:
        if any(step != 1 for step in windows.dilations):
            raise op.refusal("automatic padding of dilated windows needs static sizes")
        return replace(windows, same=same)
    totals = [
        max(-(-length // stride) * stride - stride + extent - length, 0)
        for length, stride, extent in zip(op.space(), windows.strides, windows.extents, strict=True)
    ]
    begin, end = shared_pads(totals, same)
    return replace(windows, begin=begin, end=end)


def shared_pads(totals: Sequence[int], same: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Divide pads between both ends; the odd one goes to the end, or to the beginning for same_lower."""
    # Both automatic modes pad by the same sum; they differ in the odd pixel only.
    less, more = tuple(total // 2 for total in totals), tuple(total - total // 2 for total in totals)
    return (less, more) if same == "same_upper" else (more, less)


_BYTES = Side(scale=np.ones((), np.float32), zero=np.zeros(()))
"""Levels of 8 bits as numbers."""


def convolved_levels(graph: Graph, op: Op, over: Windows) -> str | None:
    """Return a convolution of bytes, from levels with zero points of channels; None if onnxruntime has none."""
    unscaled = integer_layers.unscaled(graph, op.inputs[0], "Sub")
    stored = small_weights.held(graph, op.inputs[1])
    shape = op.shape()
    if unscaled is None or stored is None or shape is None or None in shape or over.same:
        return None
    if not integer_layers.is_of_single_channels(op) or not integer_layers.makes_levels(op):
        return None
    stored = stored.without_groups()
    rows = op.lengths(1)[1]
    scaled = stored.times(unscaled[1].ravel().repeat(rows))
    shift = graph.maker(unscaled[0])
    zero = None if shift is None else graph.initialisers.get(shift.input[1])
    if scaled is None or scaled.since > graph.opset or shift is None or zero is None:
        return None
    x = _padded(graph, shift.input[0], zero, op.lengths(), over)
    # Counted from the lowest, each level is larger by the zero point, which adds that times the sum of the weights.
    bias = -scaled.sums() * zero.ravel().repeat(rows)
    none = (0,) * len(over.kernel)
    constants = (scaled.written(graph, op.layer.name), graph.constant(bias, np.float32))
    return graph.node("Conv", x, *constants, group=shape[1], **replace(over, begin=none, end=none).attributes)


def _padded(graph: Graph, x: str, zero: NDArray[np.float32], lengths: tuple[int, ...], over: Windows) -> str:
    """Return levels between levels that are zero; onnxruntime joins bytes if the result is rounded to them."""
    shape = list(lengths)
    for axis in reversed(range(2, len(lengths))):
        before, after = over.begin[axis - 2], over.end[axis - 2]
        if before or after:
            sides = [_level(graph, zero, [*shape[:axis], length, *shape[axis + 1 :]]) for length in (before, after)]
            joined = graph.node("Concat", *(piece for piece in (sides[0], x, sides[1]) if piece), axis=axis)
            x = integer_layers.rounded(graph, joined, _BYTES)
            shape[axis] += before + after
    return x


def _level(graph: Graph, zero: NDArray[np.float32], shape: list[int]) -> str:
    if 0 in shape:
        return ""
    level = graph.node("Expand", graph.constant(zero, np.uint8), graph.ints(shape))
    return graph.node("DequantizeLinear", level, *_BYTES.written(graph))


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
        return layers.reshaped(graph, op, op.inputs[1], [groups * rows, *others]), groups
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
        over = read_windows(op, op.lengths(1)[3 if grouped else 2 :])
        _refuse_negative(op, over)
        of_bytes = convolved_levels(graph, op, over) if grouped else None
        if of_bytes is not None:
            return of_bytes
        x, factors = _unscaled(graph, op) if grouped else (op.inputs[0], None)
        weights, groups = _weights(graph, op, grouped, factors)
        return graph.node("Conv", x, weights, group=_if_several(groups), **over.attributes)

    return emit


def _of_bytes(graph: Graph, op: Op, grouped: bool) -> str | None:
    """Return a convolution of bytes less their zero point; None if it is none, or its pads may be negative."""
    over, kernel = read_windows(op, op.lengths(1)[3 if grouped else 2 :]), small_weights.kernel(op)
    if kernel is None or min(over.begin + over.end, default=0) < 0:
        return None
    groups = kernel.shape[0] if grouped else 1
    kernel = kernel.reshape(-1, *kernel.shape[2:]) if grouped else kernel
    return small_weights.convolution_of_bytes(graph, op, kernel, group=_if_several(groups), **over.attributes)


def _unscaled(graph: Graph, op: Op) -> tuple[str, Array | None]:
    """Return the levels that go in, and their scales, if the weights absorb the scales."""
    unscaled = integer_layers.unscaled(
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
        over = read_windows(op, op.lengths(1)[3 if grouped else 2 :])
        none = (0,) * len(over.kernel)
        same = op.word("auto_pad", AUTO_PADS, "explicit").startswith("same")
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
    begin, automatic = over.begin, op.word("auto_pad", AUTO_PADS, "explicit")
    if automatic.startswith("same"):
        totals = [max(full + more - length, 0) for full, more, length in zip(reach, extra, sizes, strict=True)]
        begin = shared_pads(totals, _OPPOSITE[automatic])[0]
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
    over = read_windows(op, op.lengths(2)[2:])
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
    x, over = graph.node("Where", positive, one, less), read_windows(op, weights.shape[2:])
    _refuse_negative(op, over)
    if pad and over.same:
        raise op.refusal("its pads are known only at run time, and are not 0")
    if pad:
        pads = graph.ints((0, 0, *over.begin, 0, 0, *over.end))
        # The pads of Conv are zeros, which stand for neither sign.
        x = graph.node("Pad", x, pads, operators.scalar(graph, pad, "float32"))
        over = replace(over, begin=(0, 0), end=(0, 0))
    return graph.node("Conv", x, graph.constant(np.where(bits, 1, -1), np.float32), **over.attributes)


TABLE = {
    "BinaryConvolution": _binary,
    "Convolution": _convolution(grouped=False),
    "GroupConvolution": _convolution(grouped=True),
    "ConvolutionBackpropData": _transposed(grouped=False),
    "GroupConvolutionBackpropData": _transposed(grouped=True),
    "DeformableConvolution": _deformable,
}
