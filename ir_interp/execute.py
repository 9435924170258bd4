"""Run a resize in NumPy."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ir_interp.coordinates import AxisPlan
from ir_interp.errors import ShapeError, SpecError
from ir_interp.geometry import Plan, plan
from ir_interp.spec import Arithmetic, Crop, Nearest, ResizeSpec, Scales, Sizes
from ir_interp.taps import Taps, axis_taps

MAX_BYTES = 8 * 2**30
"""The largest intermediate or output array that ``resize`` will make."""

_DOUBLE = ("float64", "int32", "int64", "uint32", "uint64")
_SINGLE = ("float32", "float16", "bfloat16", "int8", "int16", "uint8", "uint16")


def resize(
    x: ArrayLike,
    spec: ResizeSpec,
    *,
    sizes: tuple[int, ...] | None = None,
    scales: tuple[float, ...] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> NDArray[Any]:
    """Resize ``x`` as ``spec`` says.

    ``x`` has any rank from 1 and any dtype: floats, bfloat16 (``ml_dtypes``) and integers for every kernel, also
    bool and strings for nearest, which copies its values untouched. ``sizes`` (elements) or ``scales`` (output /
    input), in the order of ``spec.axes``, replace the target of the spec; one of them must be given where that is
    None. ``arithmetic`` replaces the spec's. The result has the dtype of ``x``: float16, bfloat16 and small
    integers are computed in float32, 32- and 64-bit integers in float64; integers round half to even and saturate.

    Raises SpecError for a contradictory request, ShapeError where spec and input do not fit or the result would be
    larger than ``MAX_BYTES``.
    """
    x = np.asarray(x)
    bound = plan(bind(spec, sizes=sizes, scales=scales, arithmetic=arithmetic), x.shape)
    if isinstance(spec.kernel, Nearest):
        return _copy(x, bound)
    return _compute(x, bound)


def bind(
    spec: ResizeSpec,
    *,
    sizes: tuple[int, ...] | None = None,
    scales: tuple[float, ...] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> ResizeSpec:
    """Return ``spec`` with its target or its arithmetic replaced."""
    if sizes is not None and scales is not None:
        raise SpecError("sizes and scales are both given; they exclude each other")
    if sizes is not None:
        spec = replace(spec, target=Sizes(tuple(int(size) for size in sizes)))
    if scales is not None:
        spec = replace(spec, target=Scales(tuple(float(scale) for scale in scales)))
    if arithmetic is not None:
        spec = replace(spec, arithmetic=Arithmetic(arithmetic))
    return spec


def _copy(x: NDArray[Any], bound: Plan) -> NDArray[Any]:
    _check_memory(bound, x.dtype.itemsize)
    y = _padded(x, bound)
    for axis, taps in _in_order(bound):
        y = np.take(y, taps.indices[:, 0], axis=axis.axis)
    return _extrapolated(y if y is not x else x.copy(), bound)


def _compute(x: NDArray[Any], bound: Plan) -> NDArray[Any]:
    work = _working_dtype(x.dtype)
    _check_memory(bound, work.itemsize)
    y = _padded(x, bound).astype(work)
    for axis, taps in _in_order(bound):
        y = _weighted_sum(y, taps, axis.axis)
    return _cast(_extrapolated(y, bound), x.dtype)


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.name in _SINGLE:
        return np.dtype(np.float32)
    if dtype.name in _DOUBLE:
        return np.dtype(np.float64)
    raise SpecError(f"{dtype} values can be copied (nearest) but not averaged")


def _in_order(bound: Plan) -> list[tuple[AxisPlan, Taps]]:
    """Return axes and taps with the axis that shrinks most first: the least work for all that follow."""
    pairs = zip(bound.axes, axis_taps(bound), strict=True)
    return sorted(pairs, key=lambda pair: pair[0].out_size / max(pair[0].in_size, 1))


def _weighted_sum(x: NDArray[Any], taps: Taps, axis: int) -> NDArray[Any]:
    assert taps.weights is not None
    column = (-1,) + (1,) * (x.ndim - axis - 1)
    weights = taps.weights.astype(x.dtype)
    total = np.take(x, taps.indices[:, 0], axis=axis) * weights[:, 0].reshape(column)
    for t in range(1, weights.shape[1]):
        total += np.take(x, taps.indices[:, t], axis=axis) * weights[:, t].reshape(column)
    return np.asarray(total)


def _padded(x: NDArray[Any], bound: Plan) -> NDArray[Any]:
    return np.pad(x, bound.padding) if any(map(any, bound.padding)) else x


def _extrapolated(y: NDArray[Any], bound: Plan) -> NDArray[Any]:
    """Fill, in place, what a crop takes from outside the image."""
    if not isinstance(bound.spec.coordinates, Crop):
        return y
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        if taps.outside is not None and taps.outside.any():
            fill = _cast(np.full(1, bound.spec.coordinates.extrapolation), y.dtype)[0]
            y[(slice(None),) * axis.axis + (taps.outside,)] = fill
    return y


def _cast(y: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return ``y`` as ``dtype``; integers round half to even and saturate."""
    if dtype.kind not in "iu":
        with np.errstate(over="ignore"):  # float16: too large is inf, as in every runtime
            return y.astype(dtype)
    bounds = np.iinfo(dtype)
    rounded = np.rint(y)
    with np.errstate(invalid="ignore"):
        cast = rounded.astype(dtype)
    cast[rounded >= float(bounds.max)] = bounds.max  # compared before the cast: 2**63 - 1 is no float64
    cast[rounded <= float(bounds.min)] = bounds.min
    return np.asarray(cast)


def _check_memory(bound: Plan, itemsize: int) -> None:
    """Refuse before anything is allocated. Shrinking axes go first, so no intermediate exceeds input and output."""
    padded = (size + sum(padding) for size, padding in zip(bound.in_shape, bound.padding, strict=True))
    elements = max(math.prod(padded), math.prod(bound.out_shape), *bound.out_shape, 0)
    if itemsize * elements > MAX_BYTES:
        raise ShapeError(
            f"resizing {list(bound.in_shape)} to {list(bound.out_shape)} needs {itemsize * elements / 2**30:.1f} GiB; "
            f"the limit (ir_interp.execute.MAX_BYTES) is {MAX_BYTES / 2**30:g} GiB"
        )
