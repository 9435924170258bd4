"""The resize of an image library for images of static size: its weights as tables, in float32 nodes.

Every value is an integer below 2**24, or one divided by a power of two: float32 holds it, whatever the order of the
sums. So every runtime that computes in float32 matches the library byte for byte, OpenVINO too. Weights that are too
large for that are split in two: ``high * 2**shift + low``. Sums of floats are written tap by tap, in the order of a
library: a matrix product keeps no order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import InexactError
from ir_interp.executor.library_sums import BITS, inverses
from ir_interp.files.memory import check_bytes
from ir_interp.libraries import get
from ir_interp.plan.formulas import Blocks
from ir_interp.plan.library_passes import Pass, passes
from ir_interp.plan.library_weights import Order, patches
from ir_interp.plan.taps import Plan, Reduced, axis_taps, plan, reduced
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Alpha, Area, Cubic, IntegerRounding, Integers, Nearest, Sizes, Unrounded
from ir_interp.translation.dialect import Context

from ..onnx.operators import NodeTensor, node

Terms = Sequence[tuple[NodeTensor, Array]]
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


_HELD = {"float32": 2**24, "float64": 2**53}  # a type holds the integers below it
_RESULT = "float32 nodes"
_BYTES_A_PIXEL = 3 * 4 * 4  # of an image in memory at run time, and of intermediate results
_BYTES_A_WEIGHT = 8 * 8  # of a table, its halves, and the values that it is computed from


def tabled(
    op: ResizeOp,
    x: NodeTensor,
    lengths: tuple[int, int],
    sizes: tuple[int, int],
    *,
    wide: bool = False,
    is_batch: bool = False,
) -> NodeTensor:
    """Return ``x``, uint8 [height, width, channels] of these sizes, resized as a call does: in float32.

    The channels of a batch are those of all its images. A call that converts integers to floats gives its values except
    for the last bits. With ``wide``, numbers beyond float32 are in float64, which OpenVINO computes in float32. Raises
    InexactError for a call whose sums do not fit.
    """
    if is_batch and op.dialect == "opencv" and isinstance(op.spec.kernel, Cubic | Area):
        # OpenCV's vectors run over the channels of one image, so that a batch would have other vectors.
        raise InexactError(op.name, _RESULT, reason="OpenCV's vectors span one image, so a batch has no form in nodes")
    since = len(x.ops.graph.nodes)
    try:
        return _tabled(op, x, lengths, sizes, "float32", wide=wide)
    except InexactError:
        if not wide:
            raise
        del x.ops.graph.nodes[since:]
        return _tabled(op, x, lengths, sizes, "float64", wide=wide)


def _tabled(
    op: ResizeOp, x: NodeTensor, lengths: tuple[int, int], sizes: tuple[int, int], dtype: str, *, wide: bool
) -> NodeTensor:
    check_bytes(lengths[0] * lengths[1] * _BYTES_A_PIXEL, f"an image of {lengths[0]}x{lengths[1]} in float32")
    for rows, length in zip(sizes, lengths, strict=True):
        check_bytes(rows * length * _BYTES_A_WEIGHT, f"a table of weights of {rows}x{length}")
    library = get(op.dialect)
    attributes = library.dialect.complete(library.checked(op.attributes, op.version), op.version)
    unsure = library.approximate(attributes, Context(version=op.version, dtype=op.dtype))
    if unsure and op.spec.rounds is not Integers.IPP:  # known for one kind of processor only, but exact there
        raise InexactError(op.name, _RESULT, reason=unsure)
    bound = plan(replace(op.spec, target=Sizes(sizes)), lengths)
    if isinstance(op.spec.kernel, Nearest):
        for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
            x = x.take(taps.indices[:, 0], axis.axis)
        return x
    if op.dtype == "float32":
        return _in_floats(x, bound, dtype, wide=wide)
    if not bound.spec.has_passes or op.spec.alpha is not Alpha.SEPARATE:
        raise InexactError(op.name, _RESULT, reason=f"this arithmetic of {op.spec.kernel} has no form in nodes")
    if reduction := reduced(bound.spec, lengths):
        y, bound = (
            averaged(op, x.cast(dtype).transposed(2, 0, 1), reduction, lengths),
            plan(reduction.spec, reduction.shape),
        )
        x, lengths = y.transposed(1, 2, 0), (reduction.shape[0], reduction.shape[1])
    every = passes(bound, "uint8")
    if any(stage.bits_each for stage in every):
        return _of_neighbours(x, every, wide=wide)
    x, stages, size = without_unused(x, every, lengths)
    if stages and stages[0].of_ipp:
        return in_orders(op, x.transposed(2, 0, 1).cast(dtype), stages).transposed(1, 2, 0)
    picture, largest = Picture.of(x, in_rows=wide), _BRIGHTEST
    for stage in stages:
        before = picture
        if stage.weights.dtype.kind == "f":
            picture = _chained(op, picture, stage, dtype)
        else:
            picture, largest = _summed(op, picture, stage, size[stage.axis], largest, dtype)
        if stage.lanes:
            vectors = _chained(op, before, stage.vectors(), dtype).image
            picture = Picture.of(in_blocks(x, stage, sizes[1]).where(vectors, picture.image), in_rows=wide)
    return picture.image


def _chained(op: ResizeOp, x: Picture, stage: Pass, dtype: str) -> Picture:
    planes = x.tensor.transposed(2, 0, 1) if x.in_rows else x.tensor
    sums = chained(op, planes.cast(dtype), stage)
    return replace(x, tensor=sums.transposed(1, 2, 0) if x.in_rows else sums)


def _of_neighbours(x: NodeTensor, stages: Sequence[Pass], *, wide: bool) -> NodeTensor:
    """Return an image resized by OpenCV's linear, along the width and then the height."""
    columns, rows = (_neighbours(x, stage) for stage in stages)
    return shortened(x, rows, columns, columns_first=wide)


def _neighbours(x: NodeTensor, stage: Pass) -> Neighbours:
    """Return the two pixels of each output; an axis that keeps its size has one, with a second of weight 0."""
    indices, weights = (np.pad(those, ((0, 0), (0, 2 - those.shape[1]))) for those in (stage.indices, stage.weights))
    first, second = (x.of(index, "int64") for index in indices.T)
    near, far = (x.of(weight, "float32") for weight in weights.T)
    return Neighbours((first, second), (near, far))


def _in_floats(x: NodeTensor, bound: Plan, dtype: str, *, wide: bool) -> NodeTensor:
    """Return an image resized by a call that returns floats: sums of float32."""
    y = Picture.of(x, in_rows=wide)
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        weights = np.zeros((axis.out_size, axis.in_size))
        assert taps.weights is not None
        np.add.at(weights, (np.arange(axis.out_size)[:, None], taps.indices), taps.weights)
        y = y.products([weights], axis.axis, dtype)
    return y.image


def _summed(op: ResizeOp, x: Picture, stage: Pass, length: int, largest: int, dtype: str) -> tuple[Picture, int]:
    """Return a picture after a pass, and the largest of its values."""
    weights = _matrix(stage, length)
    # Weights are split so that the type holds every sum of either part; then no order of a matrix product changes it.
    shift = _shift(op, weights, largest, stage.bits_after, _HELD[dtype])
    high, low = _halves(weights, shift)
    largest *= _most(weights)
    clips = not _stays_inside(weights, largest, stage)
    y = x.products(
        (high, low * 2.0**-shift) if shift else (weights,),
        stage.axis,
        dtype,
        lambda sums, _: _finished(sums, stage, stage.bits_after - shift, dtype, clips=clips),
    )
    return y, largest if stage.rounding is Unrounded.KEPT else _BRIGHTEST


def _finished(y: NodeTensor, stage: Pass, bits: int, dtype: str, *, clips: bool) -> NodeTensor:
    """Return sums without their fractional bits, rounded and clipped."""
    if bits:
        # Half up: sums are integers, so the half, the quotient by a power of 2 and the floor are exact.
        y = ((y + 2.0 ** (bits - 1)) / 2.0**bits).floor()
    if stage.factor != 1.0:
        y = y.cast("float32").minimum(LARGEST) * stage.factor  # otherwise OpenVINO multiplies the weights
    if stage.rounding is IntegerRounding.HALF_EVEN:
        y = y.round().cast(dtype)
    return clipped(y) if clips and stage.rounding is not Unrounded.KEPT else y


def _stays_inside(weights: NDArray[np.int64], largest: int, stage: Pass) -> bool:
    """Return whether rounded sums with these weights are those of uint8, so that clipping them changes nothing."""
    most = largest + 2**stage.bits_after / 2
    return stage.factor == 1.0 and bool((weights >= 0).all()) and most < (_BRIGHTEST + 1) * 2.0**stage.bits_after


def _matrix(stage: Pass, length: int) -> NDArray[np.int64]:
    """Return the weight of every pixel for every output [out, in]."""
    rows = len(stage.indices)
    weights = np.zeros((rows, length), np.int64)
    np.add.at(weights, (np.arange(rows)[:, None], stage.indices), stage.weights)
    return weights


def _halves(weights: NDArray[np.int64], shift: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``high`` and ``low``, which lies around 0."""
    if not shift:
        return weights, np.zeros_like(weights)
    half = 2 ** (shift - 1)
    low = (weights + half) % 2**shift - half
    return (weights - low) >> shift, low


def _shift(op: ResizeOp, weights: NDArray[np.int64], largest: int, bits: int, precision: int) -> int:
    """Return how many bits of the weights to split off, so that every sum fits the type."""
    shifts: Sequence[int] = (0, *range(bits - 1, 0, -1))
    for shift in shifts:
        high, low = (largest * _most(half) for half in _halves(weights, shift))
        if low < precision and high + low // 2**shift + 2 + 2**bits // 2 ** (shift + 1) < precision:
            return shift
    raise InexactError(op.name, _RESULT, reason=f"float32 cannot hold its sums, which have {bits} fractional bits")


def _most(weights: NDArray[np.int64]) -> int:
    """Return the largest sum of these weights, for values of 1."""
    return int(np.abs(weights).sum(1).max())


_SHIFT = 9  # bits of a reciprocal that are split off: the rest holds a sum of 2**32 in 24 bits
_MOST_IN_SINGLE = 2**24  # float32 holds every integer up to it


def averaged(op: ResizeOp, x: NodeTensor, reduction: Reduced, lengths: tuple[int, int]) -> NodeTensor:
    """Return ``x``, integers [channels, height, width], averaged: (sum + n / 2) * int(2**24 / n) / 2**24, truncated.

    Raises InexactError for blocks whose sums float32 cannot hold, if ``x`` is float32.
    """
    height, width = (np.diff(block.edges) for block in reduction.blocks)
    counts = height[:, None] * width
    most = (_BRIGHTEST + 1) * int(counts.max())
    if x.dtype == "float32" and most * 2**_SHIFT > _MOST_IN_SINGLE:
        raise InexactError(op.name, "float32 nodes", reason=f"they cannot hold sums of {counts.max()} pixels")
    tables = [_table(blocks, length).astype(x.dtype) for blocks, length in zip(reduction.blocks, lengths, strict=True)]
    down, across = (x.of(table) for table in (tables[0], tables[1].T))
    sums = down @ (x @ across) + (counts // 2).astype(x.dtype)
    low = inverses(counts) % 2**_SHIFT
    high = (inverses(counts) - low) // 2**_SHIFT
    above = sums * high.astype(x.dtype) + ((sums * low.astype(x.dtype)) / 2.0**_SHIFT).floor()
    means: NodeTensor = (above / 2.0 ** (BITS - _SHIFT)).floor()
    return means


def _table(blocks: Blocks, length: int) -> Array:
    """Return which pixels a block holds [blocks, pixels]."""
    places, edges = np.arange(length), blocks.edges
    return (places >= edges[:-1, None]) & (places < edges[1:, None])


_GROUP = 8
"""Outputs that share a window. 8 and 16 are equally fast for 12 megapixels to 224, but 16 hold 1.8 times the memory."""
_FEW = 2
"""Pixels of an output that are taken one by one: a product with a table would multiply mostly zeros."""
Tables = Sequence[Array]
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

    def laid(self, table: Array, axis: int) -> Array:
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

        def sum_of(weights: Array) -> NodeTensor:
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
