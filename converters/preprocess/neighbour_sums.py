"""OpenCV's linear resizes as nodes: two pixels of each axis, and integral weights.

The rows are taken first, as uint8: most images shrink, so few are needed.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import reduce

from ..onnx.onnx_primitives import NodeTensor, node

_VALUE_BITS, _PRODUCT_BITS, _SUM_BITS = 4, 16, 2  # that OpenCV drops, for multiplications of 16 bits
_BITWISE = 18  # the operator set that has BitwiseAnd
_LOW_BITS = 9  # of a weight of 11 bits: 255 * 2**(11 - 4), times a low part, is below 2**24


@dataclass(frozen=True, slots=True, eq=False)
class Neighbours:
    """Two pixels of each output of an axis, int64 [out], and their integral weights, floats [out]."""

    pixels: tuple[NodeTensor, NodeTensor]
    weights: tuple[NodeTensor, NodeTensor]


def shortened(x: NodeTensor, rows: Neighbours, columns: Neighbours, *, columns_first: bool) -> NodeTensor:
    """Return an image, uint8 [height, width, channels], resized as OpenCV's linear does: as float32.

    Values of 19 bits lose 4 before they are multiplied by the weights of rows, and the products 16. ``columns_first``
    transposes the image, so that Gather copies long runs, and multiplies integers: faster in onnxruntime, slower in
    OpenVINO. The two rows of an output are summed apart: smaller tensors stay in the cache.
    """
    along = _along_turned_width if columns_first else _along_width
    row_weights = rows.weights if columns_first else [weights.unsqueeze(1, 2) for weights in rows.weights]
    product = _product_of_integers if columns_first and x.ops.graph.opset >= _BITWISE else _product_of_floats
    upper, lower = (
        product(along(x.take(pixels, 0), columns, 2.0**-_VALUE_BITS), weights)
        for pixels, weights in zip(rows.pixels, row_weights, strict=True)
    )
    y = ((upper + lower + 2.0 ** (_SUM_BITS - 1)) * 2.0**-_SUM_BITS).floor()
    return y.transposed(2, 0, 1) if columns_first else y


def _product_of_integers(sums: NodeTensor, weights: NodeTensor) -> NodeTensor:
    """Return floor(floor(sums) * weights / 2**16): a product of int32, without its lower 16 bits.

    They are masked, since OpenVINO shifts and divides int32 as float32, and clips a Cast to uint16.
    """
    product = sums.cast("int32") * weights.cast("int32")
    return node("BitwiseAnd", product, sums.of(-(2**_PRODUCT_BITS), "int32")).cast("float32") * 2.0**-_PRODUCT_BITS


def _product_of_floats(sums: NodeTensor, weights: NodeTensor) -> NodeTensor:
    """Return the same in float32, which holds the products of 26 bits in two parts."""
    sums = sums.floor()
    high = (weights / 2.0**_LOW_BITS).floor()
    low = (weights - high * 2.0**_LOW_BITS) / 2.0**_LOW_BITS
    return ((sums * high + (sums * low).floor()) * 2.0 ** (_LOW_BITS - _PRODUCT_BITS)).floor()


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
