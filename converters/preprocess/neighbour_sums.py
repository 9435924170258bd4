"""OpenCV's linear resizes as nodes: two pixels of each axis, and integral weights.

The rows are taken first, as uint8: most images shrink, so few are needed.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce

from ..onnx.onnx_primitives import NodeTensor, node

_VALUE_BITS, _PRODUCT_BITS, _SUM_BITS = 4, 16, 2  # that OpenCV drops, for multiplications of 16 bits
_LOW_BITS = 9  # of a weight of 11 bits: 255 * 2**(11 - 4), times a low part, is below 2**24


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Two pixels of each output of an axis, int64 [out], and their integral weights, floats [out]."""

    pixels: tuple[NodeTensor, NodeTensor]
    weights: tuple[NodeTensor, NodeTensor]


def shortened(x: NodeTensor, rows: Neighbours, columns: Neighbours, *, columns_first: bool) -> NodeTensor:
    """Return an image, uint8 [height, width, channels], resized as OpenCV's linear does: as float32.

    Values of 19 bits lose 4 before they are multiplied by the weights of rows, and the products 16. ``columns_first``
    transposes the image, so that Gather copies long runs: faster in onnxruntime, slower in OpenVINO. The two rows of an
    output are summed apart: smaller tensors stay in the cache, which takes three quarters of the time of one. Products
    of int32 would take less, but no form of them is the same in both: OpenVINO clips a Cast to uint16.
    """
    along = _along_turned_width if columns_first else _along_width

    def product(pixels: NodeTensor, weights: NodeTensor) -> NodeTensor:
        weights = weights if columns_first else weights.unsqueeze(1, 2)
        high = (weights / 2.0**_LOW_BITS).floor()
        low = (weights - high * 2.0**_LOW_BITS) / 2.0**_LOW_BITS
        sums = along(x.take(pixels, 0), columns, 2.0**-_VALUE_BITS).floor()
        return ((sums * high + (sums * low).floor()) * 2.0 ** (_LOW_BITS - _PRODUCT_BITS)).floor()

    upper, lower = map(product, rows.pixels, rows.weights)
    y = ((upper + lower + 2.0 ** (_SUM_BITS - 1)) * 2.0**-_SUM_BITS).floor()
    return y.transposed(2, 0, 1) if columns_first else y


def kept(x: NodeTensor, rows: Neighbours, columns: Neighbours, bits: int) -> NodeTensor:
    """Return an image resized as OpenCV's exact linear does: sums along the width keep ``bits`` for the height."""
    upper, lower = (
        _along_turned_width(x.take(pixels, 0), columns, 2.0**-bits) * (weights / 2.0**bits)
        for pixels, weights in zip(rows.pixels, rows.weights, strict=True)
    )
    return (upper + lower + 0.5).floor().cast("float32").transposed(2, 0, 1)


def _along_turned_width(x: NodeTensor, columns: Neighbours, unit: float) -> NodeTensor:
    """Return an image summed along its width [width, channels, rows]."""
    turned = x.transposed(1, 2, 0)
    terms = (
        turned.take(pixels, 0).cast(weights.dtype) * (weights * unit).unsqueeze(1, 2)
        for pixels, weights in zip(columns.pixels, columns.weights, strict=True)
    )
    return reduce(operator.add, terms)


def _along_width(x: NodeTensor, columns: Neighbours, unit: float) -> NodeTensor:
    """Return the same as [rows, width, channels]: values are taken from whole rows, which OpenVINO does fastest."""
    channels = node("Shape", x, dtype="int64").take([2], 0)
    flat = node("Flatten", x, axis=1)
    lengths = node("Concat", channels.of([0, -1]), channels, axis=0)
    offsets = node("Range", channels.of(0), node("Squeeze", channels), channels.of(1))
    terms = []
    for pixels, weights in zip(columns.pixels, columns.weights, strict=True):
        values = node("Reshape", (pixels * channels).unsqueeze(1) + offsets, channels.of([-1]))
        pairs = node("Reshape", flat.take(values, 1), lengths)
        terms.append(pairs.cast(weights.dtype) * (weights * unit).unsqueeze(1))
    return terms[0] + terms[1]
