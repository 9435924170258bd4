"""Run a resize in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ir_interp.arguments import checked, shown
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor import alpha, half, integers, plain, tiles
from ir_interp.executor import passes as passes_of
from ir_interp.memory import unchecked
from ir_interp.plan import passes
from ir_interp.plan.geometry import Plan, check_rank, plan
from ir_interp.plan.integers import rounding_at_once
from ir_interp.plan.taps import axis_taps
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Alpha, Arithmetic, Crop, Integers, Nearest, ResizeSpec, Scales, Sizes
from ir_interp.translation.meaning import listed

MAX_BYTES = 8 * 2**30
"""The largest intermediate or output array that ``resize`` will make."""

_DOUBLE = ("float64", "int32", "int64", "uint32", "uint64")
_SINGLE = ("float32", "float16", "bfloat16", "int8", "int16", "uint8", "uint16")


@checked
def resize(
    x: ArrayLike,
    spec: ResizeSpec,
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
    out: NDArray[Any] | None = None,
) -> NDArray[Any]:
    """Resize ``x`` as ``spec`` says.

    ``x`` has any rank from 1 and any dtype: floats, bfloat16 (``ml_dtypes``) and integers for every kernel, also
    bool and strings for nearest, which copies its values untouched. ``sizes`` (elements) or ``scales`` (output /
    input), in the order of ``spec.axes``, replace the target of the spec; one of them must be given where that is
    None. Where the spec lists all axes, those that it resizes will do, and the other way round. ``arithmetic``
    replaces the spec's. ``out``, a C-ordered array of the right shape and dtype, takes the result. It has the dtype
    of ``x``: float16, bfloat16 and small integers are computed in float32, 32- and 64-bit integers in float64;
    integers saturate, and are rounded as ``spec.rounds`` says. Large resizes run on several threads, at most
    IR_INTERP_THREADS of the environment; the result does not depend on their number.

    Raises SpecError for a contradictory request, ShapeError where spec and input do not fit or the result would be
    larger than ``MAX_BYTES``.
    """
    x = as_array(x)
    if not isinstance(spec, ResizeSpec):
        raise SpecError(f"spec is {shown(spec)}; expected a ResizeSpec")
    with unchecked():
        return _resized(x, spec, sizes, scales, arithmetic, out)


def _resized(
    x: NDArray[Any],
    spec: ResizeSpec,
    sizes: Sequence[int] | None,
    scales: Sequence[float] | None,
    arithmetic: Arithmetic | str | None,
    out: NDArray[Any] | None,
) -> NDArray[Any]:
    bound = plan(bind(spec, x.shape, sizes=sizes, scales=scales, arithmetic=arithmetic), x.shape)
    work = x.dtype if isinstance(spec.kernel, Nearest) else _working_dtype(x.dtype)
    _check_memory(bound, max(work.itemsize, x.dtype.itemsize))
    y = _output(x, bound, out)
    source = np.pad(x, bound.padding) if any(map(any, bound.padding)) else x
    if not bound.axes:
        y[...] = source
    elif y.size:
        found = _integers(source, bound)
        if found is None:
            _fill(source, y, bound, work)
        else:
            y[...] = found
    _extrapolate(y, bound)
    return y


def _integers(x: NDArray[Any], bound: Plan) -> NDArray[Any] | None:
    """Return integers resized in the sums that the spec names; None where they are summed as floats are."""
    if x.dtype.kind not in "iu" or isinstance(bound.spec.kernel, Nearest):
        return None
    if not passes.are_named(bound):
        return integers.run(x, bound)
    run = passes_of.run
    if bound.spec.alpha is Alpha.PREMULTIPLIED:
        return alpha.divided(run(alpha.multiplied(x), bound))
    return run(x, bound)


def as_array(x: ArrayLike) -> NDArray[Any]:
    """Return anything like an array as one. Raises SpecError for nested lists of different lengths."""
    try:
        return np.asarray(x)
    except ValueError as error:
        raise SpecError(f"x is no array: {error}") from None


def bind(
    spec: ResizeSpec,
    shape: PartialShape,
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> ResizeSpec:
    """Return ``spec`` with its target, for inputs of ``shape``, or its arithmetic replaced.

    The target may be that of the axes that are resized, or of all. Raises SpecError for wrong values.
    """
    if sizes is not None and scales is not None:
        raise SpecError("sizes and scales are both given; they exclude each other")
    changes: dict[str, Any] = {}
    given: Any = scales if sizes is None else sizes  # of any type: the target checks it
    if given is not None:
        spec, target = _fitting(spec, Sizes(given) if sizes is not None else Scales(given), shape)
        changes["target"] = target
    if arithmetic is not None:
        changes["arithmetic"] = arithmetic
    return replace(spec, **changes) if changes else spec


def _fitting(spec: ResizeSpec, target: Sizes | Scales, shape: PartialShape) -> tuple[ResizeSpec, Sizes | Scales]:
    """Return a spec and a target for the same axes: either those that are resized, or all."""
    axes, count = resolve_axes(spec.axes, len(shape)), len(target)
    if count == len(axes) or not count:
        return spec, target
    if count == len(shape):  # one for every axis, of a spec that resizes some
        own = (1,) * count if isinstance(target, Scales) else shape
        if all(value == own[axis] or axis in axes for axis, value in enumerate(target.values)):
            return spec, _of_axes(target, axes)
    if count < len(shape) == len(axes):  # one for every axis that changes, of a spec that lists all
        check_rank(spec, len(shape))
        changing = listed(spec, shape).axes or ()
        chosen = changing if len(changing) == count else axes[-count:]
        return replace(spec, axes=axes, target=None).only([axes.index(axis) for axis in chosen]), target
    return spec, target


def _of_axes(target: Sizes | Scales, axes: Sequence[int]) -> Sizes | Scales:
    if isinstance(target, Sizes):
        return Sizes(tuple(target.values[axis] for axis in axes))
    return Scales(tuple(target.values[axis] for axis in axes))


def _fill(x: NDArray[Any], y: NDArray[Any], bound: Plan, work: np.dtype[Any]) -> None:
    """Fill ``y``; where there are infinities or NaN, by plain sums.

    A product spreads them over all outputs of its block, for 0 * inf is NaN. Then the output shows them as well as
    the input, and the smaller of the two is looked at; but of float16 always the input, whose conversion drops them.
    """
    store = partial(_store, rounding=rounding_at_once(bound.spec, y.dtype.name))
    tiles.run(x, y, bound, work, half.store if y.dtype == np.float16 else store)
    shown = x if x.dtype == np.float16 else min(x, y, key=np.size)
    if not isinstance(bound.spec.kernel, Nearest) and not _is_finite(shown):
        _store(plain.run(x.astype(work), bound), y)


def _output(x: NDArray[Any], bound: Plan, out: NDArray[Any] | None) -> NDArray[Any]:
    if out is None:
        return np.empty(bound.out_shape, x.dtype)
    if not isinstance(out, np.ndarray):
        raise SpecError(f"out is {shown(out)}; expected an array")
    if out.shape != bound.out_shape or out.dtype != x.dtype or not out.flags.c_contiguous:
        wanted = f"{x.dtype} array of shape {list(bound.out_shape)} in C order"
        raise ShapeError(f"out must be a {wanted}, not {out.dtype} {list(out.shape)}")
    if np.may_share_memory(x, out):
        raise SpecError("out must not overlap the input")
    return out


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.name in _SINGLE:
        return np.dtype(np.float32)
    if dtype.name in _DOUBLE:
        return np.dtype(np.float64)
    raise SpecError(f"{dtype} values can be copied (nearest) but not averaged")


def _is_finite(x: NDArray[Any]) -> bool:
    """Say whether ``x`` holds neither infinity nor NaN, in one pass at the speed of memory where that is possible."""
    if x.dtype.kind in "iu":
        return True
    if x.dtype.name == "float16" and x.flags.c_contiguous:
        return half.is_finite(x)
    if x.dtype.name in ("float32", "float64") and x.flags.c_contiguous:
        flat = x.reshape(-1)
        with np.errstate(over="ignore", invalid="ignore"):
            if np.isfinite(np.dot(flat, flat)):
                return True  # else an infinity, or values whose squares are
    return bool(np.isfinite(x).all())


def _extrapolate(y: NDArray[Any], bound: Plan) -> None:
    """Fill what a crop takes from outside the image."""
    if not isinstance(bound.spec.coordinates, Crop):
        return
    for axis, taps in zip(bound.axes, axis_taps(bound), strict=True):
        if taps.outside is not None and taps.outside.any():
            y[(slice(None),) * axis.axis + (taps.outside,)] = extrapolated(bound.spec, y.dtype)


def extrapolated(spec: ResizeSpec, dtype: DTypeLike) -> NDArray[Any]:
    """Return what a crop fills in from outside the image, without axes: onnxruntime cuts off what is no integer."""
    assert isinstance(spec.coordinates, Crop)
    fill = np.empty(1, dtype)
    cuts = spec.rounds is Integers.ONNXRUNTIME
    rounding = spec.rounds if isinstance(spec.rounds, Integers) else Integers.HALF_EVEN
    _store(np.full(1, spec.coordinates.extrapolation), fill, Integers.CUT_OFF if cuts else rounding)
    return fill.reshape(())


def _store(values: NDArray[Any], target: NDArray[Any], rounding: Integers = Integers.HALF_EVEN) -> None:
    """Store floats as the dtype of ``target``; integers are rounded and saturate. ``values`` may change."""
    if target.dtype.kind not in "iu":
        with np.errstate(over="ignore"):  # float16: too large is inf, as in every runtime
            target[...] = values
        return
    bounds = np.iinfo(target.dtype)
    if rounding is Integers.CUT_OFF:
        np.trunc(values, out=values)
    elif rounding is Integers.HALF_AWAY:
        np.copysign(np.floor(np.abs(values) + 0.5), values, out=values)
    else:
        np.rint(values, out=values)
    if target.dtype.itemsize <= 2:
        np.clip(values, bounds.min, bounds.max, out=values)
        target[...] = values
        return
    with np.errstate(invalid="ignore"):
        target[...] = values
    target[values >= float(bounds.max)] = bounds.max  # 2**63 - 1 is no float64: the cast alone would overflow
    target[values <= float(bounds.min)] = bounds.min


def _check_memory(bound: Plan, itemsize: int) -> None:
    """Refuse before anything is allocated. Shrinking axes go first, so no intermediate exceeds input and output."""
    padded = (size + sum(padding) for size, padding in zip(bound.in_shape, bound.padding, strict=True))
    elements = max(math.prod(padded), math.prod(bound.out_shape), *bound.out_shape, 0)
    if itemsize * elements > MAX_BYTES:
        raise ShapeError(
            f"resizing {list(bound.in_shape)} to {list(bound.out_shape)} needs {itemsize * elements / 2**30:.1f} GiB; "
            f"the limit (ir_interp.execute.MAX_BYTES) is {MAX_BYTES / 2**30:g} GiB"
        )
