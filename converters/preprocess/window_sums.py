"""Products of an image with tables of weights, in windows: outputs of a small image read few pixels of a large one.

Then OpenCV's linear resizes as nodes: two pixels of each axis, and integral weights. The rows are taken first, as
uint8: most images shrink, so few are needed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.library_passes import Pass

from ..onnx.operators import NodeTensor, node

_GROUP = 8
"""Outputs that share a window. 8 and 16 are equally fast for 12 megapixels to 224, but 16 hold 1.8 times the memory."""
_FEW = 2
"""Pixels of an output that are taken one by one: a product with a table would multiply mostly zeros."""
Tables = Sequence[NDArray[Any]]
Bounds: TypeAlias = tuple[NodeTensor, NodeTensor]
Finish: TypeAlias = Callable[[NodeTensor, Sequence[NodeTensor]], NodeTensor]
"""A function of the sums of a window, and of its pixels: in the type of the image and in that of the weights."""


def without_unused(
    x: NodeTensor, stages: Sequence[Pass], lengths: tuple[int, int]
) -> tuple[NodeTensor, list[Pass], list[int]]:
    """Return an image [height, width, channels] without unused rows and columns; its passes; its size.

    Rows and columns stay if most are read: removing them costs more than it saves.
    """
    passes, size = list(stages), list(lengths)
    for place, stage in sorted(enumerate(passes), key=lambda item: item[1].axis):
        used = np.unique(stage.indices)
        is_gathered = stage.axis == 1 and stage.indices.shape[1] <= _FEW  # later, in longer runs
        if 2 * len(used) <= lengths[stage.axis] and not is_gathered:
            x = x.take(used, stage.axis)
            size[stage.axis] = len(used)
            passes[place] = replace(stage, indices=np.searchsorted(used, stage.indices))
    return x, passes, size


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """The weights of outputs, a high part and maybe a low part, for the pixels between ``bounds``.

    Bounds are the first pixel of an axis and the last one, exclusive, int64 of one entry each; None for all pixels.
    Tables are laid out as by ``Picture.laid``.
    """

    tables: Sequence[NodeTensor]
    bounds: Bounds | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Picture:
    """An image during a resize: ``in_rows`` it is [height, width, channels], otherwise [channels, height, width].

    Rows of the other two axes are summed together, which transposes an image for its width: onnxruntime is fast at
    both. OpenVINO transposes slowly, so its planes are multiplied one by one. ``planes`` are the first one and the last
    one, exclusive, that windows take, as bounds are; None for all.
    """

    tensor: NodeTensor
    in_rows: bool
    planes: Bounds | None = None

    @staticmethod
    def of(image: NodeTensor, *, in_rows: bool) -> Picture:
        """Return the picture of an image.

        Planes are made once, in front of all windows: OpenVINO would replace a Transpose in front of a MatMul (see
        ``preprocessed_model``).
        """
        return Picture(tensor=image if in_rows else image.transposed(2, 0, 1), in_rows=in_rows)

    @property
    def image(self) -> NodeTensor:
        """The image, channels last."""
        return self.tensor if self.in_rows else self.tensor.transposed(1, 2, 0)

    def laid(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """Return a table of weights [out, in] as ``summed`` takes it."""
        if self.in_rows:
            return table
        return (table if axis == 0 else table.T)[None]  # of the rank of planes: see ``preprocessed_model``

    def summed(self, windows: Iterable[Window], axis: int, finish: Finish = lambda sums, _: sums) -> Picture:
        """Return the picture times the weights of windows along height (0) or width (1), and after ``finish``.

        All of this is done in each window, so that a large image of uint8 is never converted as a whole. Sums of low
        parts are rounded down.
        """
        results = []
        for window in windows:
            pixels, dtype = self._turned(window.bounds, axis), window.tables[0].dtype
            versions = [pixels] if pixels.dtype == dtype else [pixels, pixels.cast(dtype)]
            x, is_left = versions[-1], self.in_rows or axis == 0
            sums = _joined([table @ x if is_left else x @ table for table in window.tables])
            results.append(finish(sums, versions))
        place = 0 if self.in_rows else axis + 1
        sums = node("Concat", *results, axis=place) if len(results) > 1 else results[0]
        return self._returned(sums, axis) if self.in_rows else replace(self, tensor=sums, planes=None)

    def _turned(self, bounds: Bounds | None, axis: int) -> NodeTensor:
        """Return a window as a matrix of rows, or as planes."""
        x = self.tensor
        cuts = [(0, self.planes), (axis if self.in_rows else axis + 1, bounds)]
        cuts = [(place, ends) for place, ends in cuts if ends is not None]
        if cuts:
            places, every = zip(*cuts, strict=True)
            x = node("Slice", x, *map(_concatenated, zip(*every, strict=True)), x.of(places, "int64"))
        return node("Flatten", x if axis == 0 else x.transposed(1, 2, 0), axis=1) if self.in_rows else x

    def _returned(self, rows: NodeTensor, axis: int) -> Picture:
        """Return the image of rows: [height, width * channels], or [width, channels * height]."""
        others = node("Shape", self.tensor, dtype="int64").take([1, 2] if axis == 0 else [2, 0], 0)
        x = node("Reshape", rows, node("Concat", others.of([-1]), others, axis=0))
        return replace(self, tensor=x if axis == 0 else x.transposed(2, 0, 1))

    def products(self, tables: Tables, axis: int, dtype: str, finish: Finish = lambda sums, _: sums) -> Picture:
        """Return the picture times a table [out, in], and after ``finish``; a second table holds low parts."""
        if all(int(np.count_nonzero(table, axis=1).max()) <= _FEW for table in tables):
            return self._gathered(tables, axis, dtype, finish)
        windows = list(_windows(tables))
        length = tables[0].shape[1]
        if 2 * sum(stop - start for _, start, stop in windows) >= length * len(windows):
            windows = [(slice(None), 0, length)]
        x, pieces = self.tensor, []
        for outputs, start, stop in windows:
            parts = [x.of(self.laid(table[outputs, start:stop], axis), dtype) for table in tables]
            is_whole = stop - start == length
            pieces.append(Window(parts, None if is_whole else (x.of([start], "int64"), x.of([stop], "int64"))))
        return self.summed(pieces, axis, finish)

    def _gathered(self, tables: Tables, axis: int, dtype: str, finish: Finish) -> Picture:
        """Return the same product as a sum of pixels times their weights."""
        turned = self._turned(None, axis)
        place = 0 if self.in_rows else axis + 1

        def sum_of(weights: NDArray[Any]) -> NodeTensor:
            order = np.argsort(weights == 0, axis=1, kind="stable")[:, :_FEW]  # pixels with a weight first
            terms = []
            for index in order.T:
                column = np.take_along_axis(weights, index[:, None], 1).astype(dtype)
                weight = column if place < 2 else column[:, 0]
                terms.append(turned.take(index, place).cast(dtype) * weight)
            return reduce(operator.add, terms)

        sums = finish(_joined([sum_of(table) for table in tables]), (turned,))
        return self._returned(sums, axis) if self.in_rows else replace(self, tensor=sums)


def _concatenated(parts: Sequence[NodeTensor]) -> NodeTensor:
    return parts[0] if len(parts) == 1 else node("Concat", *parts, axis=0)


def clipped(x: NodeTensor) -> NodeTensor:
    """Return sums clipped to the values of uint8."""
    return node("Clip", x, x.of(0.0), x.of(255.0))


def _joined(parts: Sequence[NodeTensor]) -> NodeTensor:
    high, *low = parts
    return reduce(lambda one, other: one + other.floor(), low, high)


def _windows(tables: Tables) -> Iterator[tuple[slice, int, int]]:
    """Yield groups of outputs, and the first and the last pixel, exclusive, that any of them reads."""
    rows = tables[0].shape[0]
    for begin in range(0, rows, _GROUP):
        outputs = slice(begin, begin + _GROUP)
        read = np.flatnonzero(np.any([table[outputs].any(0) for table in tables], axis=0))
        yield outputs, int(read[0]) if read.size else 0, int(read[-1]) + 1 if read.size else 1


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
