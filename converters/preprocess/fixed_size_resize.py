"""The resize of an image library for images of static size: its weights as tables, in float32 nodes.

Every value is an integer below 2**24, or one divided by a power of two: float32 holds it, whatever the order of the
sums. So every runtime that computes in float32 matches the library byte for byte, OpenVINO too. Weights that are too
large for that are split in two: ``high * 2**shift + low``. Sums of floats are written tap by tap (``chains``).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import InexactError
from ir_interp.files.memory import check_bytes
from ir_interp.library_registry import get
from ir_interp.plan.axes.geometry import Plan, plan
from ir_interp.plan.axes.taps import axis_taps
from ir_interp.plan.libraries.passes import Pass, are_named, passes
from ir_interp.plan.libraries.pillow_reduce import reduced
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Alpha, Area, Cubic, IntegerRounding, Integers, Nearest, Sizes
from ir_interp.translation.dialect import Context

from ..onnx.onnx_primitives import NodeTensor
from .averaged_blocks import averaged
from .chains import LARGEST, chained, in_blocks, in_orders
from .windowed_products import products, without_unused

_HELD = {"float32": 2**24, "float64": 2**53}  # a type holds the integers below it
_BRIGHTEST = 255
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
        return _tabled(op, x, lengths, sizes, "float32")
    except InexactError:
        if not wide:
            raise
        del x.ops.graph.nodes[since:]
        return _tabled(op, x, lengths, sizes, "float64")


def _tabled(op: ResizeOp, x: NodeTensor, lengths: tuple[int, int], sizes: tuple[int, int], dtype: str) -> NodeTensor:
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
        return _in_floats(x, bound, dtype)
    if not are_named(bound) or op.spec.alpha is not Alpha.SEPARATE:
        raise InexactError(op.name, _RESULT, reason=f"{op.spec.kernel} with its sums has no form in nodes")
    if found := reduced(bound.spec, lengths):
        y, bound = averaged(op, x.cast(dtype).transposed(2, 0, 1), found, lengths), plan(found.spec, found.shape)
        x, lengths = y.transposed(1, 2, 0), (found.shape[0], found.shape[1])
    x, made, size = without_unused(x, passes(bound, "uint8"), lengths)
    y, largest = x.transposed(2, 0, 1), _BRIGHTEST
    if made and made[0].of_ipp:
        return in_orders(op, y.cast(dtype), made).transposed(1, 2, 0)
    for each in made:
        if each.weights.dtype.kind == "f":
            y = chained(op, y.cast(dtype), each)
            continue
        before = y
        y, largest = _summed(op, y, each, size[each.axis], largest, dtype)
        if each.lanes:
            y = in_blocks(y, each, sizes[1]).where(chained(op, before.cast(dtype), each.vectors()), y)
    return y.transposed(1, 2, 0)


def _in_floats(x: NodeTensor, bound: Plan, dtype: str) -> NodeTensor:
    """Return an image resized by a call that returns floats: sums of float32."""
    y = x.transposed(2, 0, 1)
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        weights = np.zeros((axis.out_size, axis.in_size))
        assert taps.weights is not None
        np.add.at(weights, (np.arange(axis.out_size)[:, None], taps.indices), taps.weights)
        (y,) = products(y, [weights], axis.axis, dtype)
    return y.transposed(1, 2, 0)


def _summed(op: ResizeOp, x: NodeTensor, each: Pass, length: int, largest: int, dtype: str) -> tuple[NodeTensor, int]:
    """Return planes [channels, height, width] after a pass, and the largest of their values."""
    if each.bits_each:
        y, bits = _of_products(x.cast(dtype), each), each.bits_after
    else:
        weights = _matrix(each, length)
        shift = _shift(op, weights, largest, each.bits_after, _HELD[dtype])
        halves = _halves(weights, shift) if shift else (weights,)
        y, *rest = products(x, halves, each.axis, dtype)
        for low in rest:
            y = y + (low.minimum(LARGEST) / 2.0**shift).floor()  # otherwise OpenVINO divides the weights
        bits = each.bits_after - shift
        largest *= _most(weights)
    if bits:
        y = ((y + 2.0 ** (bits - 1)) / 2.0**bits).floor()
    if each.factor != 1.0:
        y = y.cast("float32").minimum(LARGEST) * each.factor  # otherwise OpenVINO multiplies the weights
    if each.rounding is IntegerRounding.HALF_EVEN:
        y = y.round().cast(dtype)
    return (y.maximum(0.0).minimum(float(_BRIGHTEST)), _BRIGHTEST) if each.rounding is not None else (y, largest)


def _matrix(each: Pass, length: int) -> NDArray[np.int64]:
    """Return the weight of every pixel for every output [out, in]."""
    rows = len(each.indices)
    weights = np.zeros((rows, length), np.int64)
    np.add.at(weights, (np.arange(rows)[:, None], each.indices), each.weights)
    return weights


def _halves(weights: NDArray[np.int64], shift: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ``high`` and ``low``, which lies around 0."""
    if not shift:
        return weights, np.zeros_like(weights)
    half = 2 ** (shift - 1)
    low = (weights + half) % 2**shift - half
    return (weights - low) >> shift, low


def _shift(op: ResizeOp, weights: NDArray[np.int64], largest: int, bits: int, held: int) -> int:
    """Return how many bits of the weights to split off, so that every sum fits the type."""
    shifts: Sequence[int] = (0, *range(bits - 1, 0, -1))
    for shift in shifts:
        high, low = (largest * _most(each) for each in _halves(weights, shift))
        if low < held and high + low // 2**shift + 2 + 2**bits // 2 ** (shift + 1) < held:
            return shift
    raise InexactError(op.name, _RESULT, reason=f"float32 cannot hold its sums, which have {bits} fractional bits")


def _most(weights: NDArray[np.int64]) -> int:
    """Return the largest sum of these weights, for values of 1."""
    return int(np.abs(weights).sum(1).max())


def _of_products(x: NodeTensor, each: Pass) -> NodeTensor:
    """Return sums of products that lose bits, each separately: ``value * weight`` in two parts, of 8 bits and above."""
    x = (x / 2.0**each.bits_before).floor()
    upper = (x / 256.0).floor()
    lower = x - upper * 256.0
    terms: list[NodeTensor] = []
    for index, weights in zip(each.indices.T, each.weights.T, strict=True):
        weight = weights.astype(x.dtype)[:, None] if each.axis == 0 else weights.astype(x.dtype)
        parts = [part.take(index, each.axis + 1) * weight for part in (upper, lower)]
        terms.append(((parts[0] + (parts[1] / 256.0).floor()) / 2.0 ** (each.bits_each - 8)).floor())
    return reduce(operator.add, terms)
