"""Comparison of two specs: for every shape, each in its own arithmetic; or for one shape, tap by tap."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import SpecError
from ir_interp.plan.axes.geometry import Plan, plan
from ir_interp.plan.axes.taps import Taps, axis_taps
from ir_interp.plan.libraries.library_weights import is_own
from ir_interp.spec import Arithmetic, Aspect, Coordinates, Crop, Nearest, ResizeSpec, Rounding, Scales
from ir_interp.translation.meaning import are_whole

_BY_RATIO = (
    Coordinates.HALF_PIXEL,
    Coordinates.PYTORCH_HALF_PIXEL,
    Coordinates.ASYMMETRIC,
    Coordinates.TF_HALF_PIXEL_FOR_NN,
)


def arithmetics_agree(spec: ResizeSpec, offered: ResizeSpec) -> bool:
    """Return whether two specs of one meaning compute the same for every shape, each in its own arithmetic.

    Weights of a continuous kernel move by a rounding error only. float32 can decide a nearest pixel, the edge of a
    crop, and the size under fractional scales; integer scales have neither (axes below a million). With sizes,
    onnxruntime and OpenVINO have the same float32 order for floor and ceil, but not where 1/2 is a tie.
    """
    same = spec.coordinates == offered.coordinates and spec.kernel == offered.kernel
    if same and spec.arithmetic is offered.arithmetic:
        return True
    if isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH:
        return False
    whole = isinstance(spec.target, Scales) and are_whole(spec.target)
    if not isinstance(spec.kernel, Nearest):
        return whole or spec.gives_sizes
    if spec.coordinates not in _BY_RATIO or not isinstance(offered.kernel, Nearest):
        return False
    directed = spec.kernel.rounding in (Rounding.FLOOR, Rounding.CEIL, Rounding.SIMPLE)
    float32 = {spec.arithmetic, offered.arithmetic} <= {Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO}
    return whole or (spec.gives_sizes and directed and float32 and same)


def first_difference(needed: ResizeSpec, offered: ResizeSpec, shape: tuple[int, ...]) -> str | None:
    """Return the first point in which two specs compute different things for ``shape``; None if they agree.

    Nearest pixels and sizes are compared in each spec's own arithmetic, weights as rationals, within 1e-6.
    """
    sums = [spec.sums_of_integers for spec in (needed, offered)]
    if sums[0] != sums[1]:
        return f"integers: {' become '.join(text or 'rounded once' for text in sums)}"
    return difference_of_floats(needed, offered, shape)


def difference_of_floats(needed: ResizeSpec, offered: ResizeSpec, shape: tuple[int, ...]) -> str | None:
    """Return the first difference for floats, ignoring how integers are summed."""
    try:
        mine, theirs = plan(needed, shape), plan(offered, shape)
    except SpecError as error:
        return str(error)
    if mine.out_shape != theirs.out_shape:
        return f"output shape {list(mine.out_shape)} becomes {list(theirs.out_shape)}"
    if mine.padding != theirs.padding:
        return f"padding {mine.padding} becomes {theirs.padding}"
    left, right = _remembered_taps(needed, shape), _remembered_taps(offered, shape)
    for axis in sorted(left.keys() | right.keys()):
        size, out = shape[axis] + sum(mine.padding[axis]), mine.out_shape[axis]
        identity = Taps(np.arange(out)[:, None], None)
        row = _first_row(left.get(axis, identity), right.get(axis, identity), size)
        if row is not None:
            return f"output {row} of axis {axis} ({size} -> {out}) takes other source pixels"
    return None


@lru_cache(maxsize=16)  # a spec is compared with hundreds of offers
def _remembered_taps(spec: ResizeSpec, shape: tuple[int, ...]) -> dict[int, Taps]:
    return taps_by_axis(plan(spec, shape))


def taps_by_axis(bound: Plan) -> dict[int, Taps]:
    """Return taps by axis: copied pixels in the spec's arithmetic, weights from exact coordinates."""
    kernel, arithmetic = bound.spec.kernel, bound.spec.arithmetic
    is_crop = isinstance(bound.spec.coordinates, Crop)
    if not (isinstance(kernel, Nearest) or is_crop or is_own(kernel, arithmetic)):
        bound = replace(bound, axes=tuple(replace(axis, arithmetic=Arithmetic.EXACT) for axis in bound.axes))
    return {axis.axis: taps for axis, taps in zip(bound.axes, axis_taps(bound), strict=True)}


def _first_row(left: Taps, right: Taps, size: int) -> int | None:
    """Return the first output whose taps differ, compared as sparse matrices."""
    entries = [entries_of(left, size), entries_of(right, size)]
    keys, places = np.unique(np.concatenate([key for key, _ in entries]), return_inverse=True)
    signed = np.concatenate([entries[0][1], -entries[1][1]])
    residue = np.abs(np.bincount(places, signed, len(keys)))
    # The rounding of float64 stays below; a pixel more or less weighs more.
    rows = keys[residue > 1e-6] // (size + 1)
    return int(rows[0]) if len(rows) else None


def entries_of(taps: Taps, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return taps as keys row * (size + 1) + column, and weights; the last column is for extrapolated values."""
    rows = np.arange(len(taps.indices))[:, None]
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    columns = taps.indices
    if taps.outside is not None:
        columns = np.where(taps.outside[:, None], size, columns)
        weights = np.where(taps.outside[:, None], 1.0 / weights.shape[1], weights)
    return (rows * (size + 1) + columns).ravel().astype(np.int64), weights.ravel()
