"""Infinities and NaNs in the arithmetic of onnxruntime and OpenVINO: both also read inputs whose weight is 0.

A product of 0 and an infinity is NaN, so such an input also reaches outputs in which its weight is 0. This holds for
linear and cubic resizes; all others follow ``definition``, which skips inputs of weight 0. Without antialias, both
runtimes read two or four neighbours along every axis of the image, even one that keeps its size; OpenVINO also if all
axes keep theirs, and its linear skips axes before the first that changes. With antialias they read whole windows, and
copy axes that keep their size. Sums that overflow are infinite in the runtime's order of axes, the last first; a cubic
of volumes in OpenVINO multiplies all weights of an input first (onnxruntime 1.32, OpenVINO 2026.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.definition import distinct
from ir_interp.executor.ordered_sums import sampled
from ir_interp.plan.formulas import keys_far, keys_near
from ir_interp.plan.integer_sums import CHANNELS_LAST_AXES, SPATIAL_AXES, Piece, Range, changing, is_taken_apart
from ir_interp.plan.library_weights import Sampled, filtered, four, is_in_window, pair
from ir_interp.plan.taps import Plan, is_long, window_taps
from ir_interp.shapes import Array, Shape, resolve_axes
from ir_interp.specs import Arithmetic, Cubic, Linear

_ROUNDED = 1e-5  # of sums of float32 weights that are never negative
_IMAGES, _VOLUMES = 4, 5  # ranks of images and volumes with a batch and channels


@dataclass(frozen=True, slots=True, eq=False)
class Reads:
    """The inputs that a runtime reads along an axis, [out, taps], and their weights, which include zeros.

    Windows have different sizes; a tap that no runtime reads repeats an input of its window, and is not in
    ``is_read``.
    """

    indices: NDArray[np.intp]
    weights: NDArray[np.float32]
    is_read: NDArray[np.bool_] | None = None


def reads(bound: Plan, outputs: tuple[Range, ...]) -> Mapping[int, Reads]:
    """Return the inputs that a runtime reads for float outputs, by axis, last axis first; empty for other resizes."""
    return _reads(bound, outputs) if bound.spec.arithmetic.reads_unweighted else {}


@lru_cache(maxsize=64)
def _reads(bound: Plan, outputs: tuple[Range, ...]) -> Mapping[int, Reads]:
    kernel, plans = bound.spec.kernel, changing(bound)
    if not isinstance(kernel, Linear | Cubic) or is_taken_apart(bound.spec) or 0 in bound.out_shape:
        return {}
    is_openvino = bound.spec.arithmetic is Arithmetic.OPENVINO
    axes = _axes_of_openvino(bound, plans.keys()) if is_openvino else _axes_of_onnxruntime(bound, plans.keys())
    if axes is None:
        return {}
    if kernel.is_antialiased or _is_of_antialias(bound, axes):
        plans = {axis: each for axis, each in plans.items() if each.in_size != each.out_size}  # others are copied
        return {axis: _window(kernel, sampled(plans[axis], 0, outputs[axis])) for axis in sorted(plans, reverse=True)}
    along = {}
    for axis in sorted(axes, reverse=True):
        at = sampled(plans.get(axis), bound.out_shape[axis], outputs[axis])
        columns, weights = pair(at) if isinstance(kernel, Linear) else _four(kernel, at, bound.spec.arithmetic)
        indices = np.stack(columns, axis=1).astype(np.intp)
        along[axis] = Reads(indices, np.stack(weights, axis=1).astype(np.float32))
    return along


def _axes_of_onnxruntime(bound: Plan, changing: Set[int]) -> Set[int] | None:
    """Return the axes of the image or volume that onnxruntime resizes; None if it copies, or resizes none."""
    rank = len(bound.in_shape)
    layouts = (SPATIAL_AXES.get(rank, set()), CHANNELS_LAST_AXES if rank == _IMAGES else set())
    return next((axes for axes in layouts if changing and changing <= axes), None)


def _axes_of_openvino(bound: Plan, changing: Set[int]) -> Set[int]:
    """Return the axes along which OpenVINO's CPU plugin reads neighbours, whether or not they change.

    If all axes but at most one are listed, it resizes the image; otherwise only the listed axes.
    """
    rank, kernel = len(bound.in_shape), bound.spec.kernel
    listed = set(resolve_axes(bound.spec.axes, rank))
    spatial = SPATIAL_AXES.get(rank, set(range(rank)))
    is_image = len(listed) > rank - 2 or (rank >= _IMAGES and listed <= spatial)
    if isinstance(kernel, Cubic) and rank >= _IMAGES:
        if rank >= _VOLUMES:
            return listed
        # It sums along two axes; a single one that is not spatial gets the last axis as the second.
        return spatial if is_image else listed | {rank - 1} if len(listed) == 1 else listed
    axes = spatial if is_image else listed
    beside = changing - axes
    # Axes before the first that changes are copied; without any, all but the last.
    first = min(changing & axes, default=rank if beside else max(axes, default=rank))
    return beside | {axis for axis in axes if axis >= first}


def _is_of_antialias(bound: Plan, axes: Set[int]) -> bool:
    """Return whether onnxruntime's cubic of images whose channels come last is that of its antialias."""
    is_cubic = isinstance(bound.spec.kernel, Cubic) and bound.spec.arithmetic is Arithmetic.ONNXRUNTIME
    return is_cubic and axes == CHANNELS_LAST_AXES


def _window(kernel: Linear | Cubic, at: Sampled[Array]) -> Reads:
    indices, weights = filtered(kernel, at)
    is_read = np.asarray(is_in_window(kernel, at))
    first = np.take_along_axis(indices, is_read.argmax(axis=1)[:, None], axis=1)
    return Reads(np.where(is_read, indices, first).astype(np.intp), weights.astype(np.float32), is_read)


def _four(kernel: Cubic, at: Sampled[Array], arithmetic: Arithmetic) -> tuple[Any, Any]:
    columns, weights = four(kernel, at)
    if arithmetic is Arithmetic.ONNXRUNTIME:
        weights = _of_onnxruntime(np.float32(kernel.a), at.at - np.floor(at.at))
    if not kernel.exclude_outside:
        return columns, weights
    lows = [np.floor(at.at) + step for step in (-1, 0, 1, 2)]
    inside = [(low >= 0) & (low < at.length) for low in lows]
    weights = tuple(np.where(within, weight, np.float32(0)) for within, weight in zip(inside, weights, strict=True))
    total = sum(weights)
    with np.errstate(divide="ignore", invalid="ignore"):  # of a crop whose pixels are all outside
        return columns, [weight / total for weight in weights]


def _of_onnxruntime(a: Any, m: NDArray[np.float32]) -> tuple[Any, ...]:
    """Return Keys' weights in onnxruntime's order, whose rounding decides the sign of weights near 0."""
    return keys_far(m + 1, a), keys_near(m, a), keys_near(1 - m, a), keys_far(2 - m, a)


def largest_input(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> float:
    """Return the largest magnitude of inputs up to which the executor's own sums show all infinities of a runtime.

    It is infinite if they always do. A cubic sum of larger numbers may overflow in the runtime alone, which sums the
    last axis first.
    """
    if dtype.kind != "f" or not bound.spec.arithmetic.reads_unweighted:
        return np.inf
    largest = float(np.finfo(np.result_type(dtype, np.float32)).max)
    along = {} if is_long(bound) else reads(bound, piece.outputs)
    # Weights of a crop whose pixels are all outside are NaN.
    sums = [np.nan_to_num(np.abs(read.weights)).sum(axis=1).max(initial=0) for read in along.values()]
    growth = float(np.prod(sums, initial=1.0))
    if growth > 1 + _ROUNDED:  # negative weights, as those of a cubic kernel
        return largest / (2 * growth)
    return largest if _hides_any(bound, piece) else np.inf


def exceeds(x: Array, largest: float) -> bool:
    """Return whether an array contains a NaN, or a number of a larger magnitude."""
    return largest < np.inf and x.size > 0 and not (float(x.max()) <= largest and float(x.min()) >= -largest)


def _hides_any(bound: Plan, piece: Piece) -> bool:
    """Return whether a runtime reads an input with weight 0 only, so that no sum shows whether it is infinite."""
    if is_long(bound):  # all its taps would take too long to compute
        return True
    along, places = reads(bound, piece.outputs), {axis.axis: place for place, axis in enumerate(bound.axes)}
    if not places:  # all outputs are copies
        return bool(along)
    return any(_hides(bound, piece, axis, read, places.get(axis)) for axis, read in along.items())


def _hides(bound: Plan, piece: Piece, axis: int, read: Reads, place: int | None) -> bool:
    if place is None:
        return piece.inputs[axis] != piece.outputs[axis]  # neighbours of outputs that are copies
    taps = distinct(window_taps(bound, place, piece.outputs[axis]))
    weighted = taps.indices if taps.weights is None else taps.indices[taps.weights != 0]
    is_weighted = np.zeros(1 + max(weighted.max(), read.indices.max()), np.bool_)
    is_weighted[weighted] = True
    return not bool(is_weighted[read.indices].all())


def spread(x: Array, y: Array, bound: Plan, piece: Piece) -> None:
    """Write the infinities and NaNs that a runtime computes from ``x``, already padded, into ``y``."""
    along = reads(bound, piece.outputs)
    if not along:
        return
    sums = x.astype(np.result_type(x.dtype, np.float32))
    is_plain_cubic = isinstance(bound.spec.kernel, Cubic) and not bound.spec.kernel.is_antialiased
    is_cubic = is_plain_cubic and bound.spec.arithmetic is Arithmetic.OPENVINO
    with np.errstate(over="ignore", invalid="ignore"):
        if is_cubic and x.ndim >= _VOLUMES:  # its reference multiplies all weights of an input first
            sums = _summed_at_once(sums, along, piece.origin)
        else:
            for axis, read in along.items():
                sums = _summed(sums, read, axis, piece.origin[axis])
        if is_cubic and len(along) == 1 and x.ndim < _IMAGES:  # the second axis of its sum has one pixel, and weights 0
            sums += sums * 0
        np.copyto(y, sums.astype(y.dtype), where=~(np.isfinite(sums) & np.isfinite(y)))


def _summed_at_once(x: Array, along: Mapping[int, Reads], origin: Shape) -> Array:
    total: Array = np.zeros((), x.dtype)
    in_order = sorted(along.items(), key=itemgetter(0))  # the taps of the last axis change first
    for taps in product(*(range(read.weights.shape[1]) for _, read in in_order)):
        weights, values = np.ones((), np.float32), x
        for tap, (axis, read) in zip(taps, in_order, strict=True):
            column = (-1,) + (1,) * (x.ndim - axis - 1)
            places = np.clip(read.indices[:, tap] - origin[axis], 0, x.shape[axis] - 1)
            weights, values = weights * read.weights[:, tap].reshape(column), np.take(values, places, axis=axis)
        total = total + values * weights
    return total


def _summed(x: Array, read: Reads, axis: int, origin: int) -> Array:
    column, last = (-1,) + (1,) * (x.ndim - axis - 1), x.shape[axis] - 1
    total = np.zeros((*x.shape[:axis], len(read.indices), *x.shape[axis + 1 :]), x.dtype)
    for tap, (indices, weights) in enumerate(zip(read.indices.T, read.weights.T, strict=True)):
        places = np.clip(indices - origin, 0, last)
        product = np.take(x, places, axis=axis) * weights.reshape(column)
        if read.is_read is not None:
            product = np.where(read.is_read[:, tap].reshape(column), product, 0)
        total += product
    return total
