"""Run a resize in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ir_interp import arguments
from ir_interp.arguments import checked, shown
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor import alpha, half, integers, plain, tiles
from ir_interp.executor import passes as passes_of
from ir_interp.executor.needs import piece_of
from ir_interp.memory import unchecked
from ir_interp.plan import passes
from ir_interp.plan.geometry import Plan, check_rank, plan
from ir_interp.plan.integers import rounding_at_once
from ir_interp.plan.pieces import Piece
from ir_interp.plan.pieces import whole as whole_of
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
    region: Sequence[slice] | None = None,
    whole: Sequence[int] | None = None,
) -> NDArray[Any]:
    """Resize an array as ``spec`` says; ``ir_interp.large.resize`` says what all of this means."""
    x = as_array(x)
    shape = x.shape if whole is None else arguments.lengths(whole, "whole")
    if whole is not None and region is None:
        raise SpecError("whole has no effect without region")
    with unchecked():
        bound = planned(spec, shape, sizes=sizes, scales=scales, arithmetic=arithmetic)
        piece = piece_of(bound, region)
        if region is None:
            return _resized(x, bound, piece, out)
        at_hand = piece.of_input(bound)
        if whole is None:
            x = x[at_hand]
        elif x.shape != (needed := tuple(each.stop - each.start for each in at_hand)):
            raise ShapeError(f"x has shape {list(x.shape)}; this region needs {list(needed)}: {_spelled(at_hand)}")
        return _resized(x, bound, piece, out)


@checked
def region(
    spec: ResizeSpec,
    shape: Sequence[int],
    output_slices: Sequence[slice],
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> tuple[slice, ...]:
    """Return which piece of an input of ``shape`` a piece of the output of ``resize`` needs, whatever its dtype.

    ``output_slices`` has a slice for each axis, as in ``x[10:20, :]``; those left out are whole. ``sizes``, ``scales``
    and ``arithmetic`` are those of ``resize``, which takes ``x[region(...)]`` with ``region=output_slices``,
    ``whole=shape``. Raises as ``resize`` does.
    """
    with unchecked():
        lengths = arguments.lengths(shape, "shape")
        bound = planned(spec, lengths, sizes=sizes, scales=scales, arithmetic=arithmetic)
        return piece_of(bound, output_slices).of_input(bound)


def planned(
    spec: ResizeSpec,
    shape: tuple[int, ...],
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> Plan:
    """Return the plan of a call of ``resize``. Raises as that does."""
    if not isinstance(spec, ResizeSpec):
        raise SpecError(f"spec is {shown(spec)}; expected a ResizeSpec")
    return plan(bind(spec, shape, sizes=sizes, scales=scales, arithmetic=arithmetic), shape)


def _resized(x: NDArray[Any], bound: Plan, piece: Piece, out: NDArray[Any] | None) -> NDArray[Any]:
    """Return a piece of a resize, of what it needs of the input."""
    work = x.dtype if isinstance(bound.spec.kernel, Nearest) else _working_dtype(x.dtype)
    _check_memory(bound, piece, max(work.itemsize, x.dtype.itemsize))
    y = _output(x, piece.shape, out)
    if not y.size:
        return y
    padding = piece.padding(bound)
    source = np.pad(x, padding) if any(map(any, padding)) else x
    found = _integers(source, bound, piece) if bound.axes else None
    if found is not None:
        y[...] = found
    else:
        source, piece = _without_alpha(source, bound, piece)
        if not bound.axes:
            y[...] = source
        else:
            _fill(source, y, bound, piece, work)
    _extrapolate(y, bound, piece)
    return y


def _integers(x: NDArray[Any], bound: Plan, piece: Piece) -> NDArray[Any] | None:
    """Return integers resized in the sums that the spec names; None where they are summed as floats are."""
    if x.dtype.kind not in "iu" or isinstance(bound.spec.kernel, Nearest):
        return None
    if not passes.are_named(bound):
        return integers.run(x, bound, piece)
    run = passes_of.run
    if bound.spec.alpha is Alpha.PREMULTIPLIED:
        return alpha.divided(run(alpha.multiplied(x), bound, piece))[..., slice(*piece.outputs[-1])]
    return run(x, bound, piece)


def in_steps(bound: Plan, dtype: np.dtype[Any]) -> bool:
    """Say whether values are made by sums over all of an array, one after the other, not tile by tile."""
    if dtype.kind not in "iu" or isinstance(bound.spec.kernel, Nearest):
        return False
    whole_outputs = whole_of(bound).outputs
    return passes.are_named(bound) or integers.planned(bound, dtype.name, whole_outputs) is not None


def _without_alpha(x: NDArray[Any], bound: Plan, piece: Piece) -> tuple[NDArray[Any], Piece]:
    """Return the channels of a piece alone, where it had all of them for the sake of the last."""
    if bound.spec.alpha is not Alpha.PREMULTIPLIED:
        return x, piece
    return x[..., slice(*piece.outputs[-1])], replace(piece, inputs=(*piece.inputs[:-1], piece.outputs[-1]))


def _spelled(slices: Sequence[slice]) -> str:
    return "[" + ", ".join(f"{each.start}:{each.stop}" for each in slices) + "]"


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


def _fill(x: NDArray[Any], y: NDArray[Any], bound: Plan, piece: Piece, work: np.dtype[Any]) -> None:
    """Fill ``y``; what infinities and NaN reach, by plain sums.

    A product spreads them over all outputs of its block, for 0 * inf is NaN. Then the output shows them as well as
    the input, and the smaller of the two is looked at; but of float16 always the input, whose conversion drops them.
    """
    store = (
        half.store if y.dtype == np.float16 else partial(_store, rounding=rounding_at_once(bound.spec, y.dtype.name))
    )
    tiles.run(x, y, bound, piece, work, store)
    shown = x if x.dtype == np.float16 else min(x, y, key=np.size)
    if isinstance(bound.spec.kernel, Nearest) or _is_finite(shown):
        return
    infinite = ~np.isfinite(x)
    if infinite.any():  # else sums are infinite that are too large
        tiles.run(np.where(infinite, np.zeros((), x.dtype), x), y, bound, piece, work, store)
        reached = np.empty_like(y)
        with np.errstate(over="ignore", invalid="ignore"):
            _store(plain.run(x.astype(work), bound, piece), reached)
        np.copyto(y, reached, where=plain.touched(infinite, bound, piece))


def _output(x: NDArray[Any], shape: tuple[int, ...], out: NDArray[Any] | None) -> NDArray[Any]:
    if out is None:
        return np.empty(shape, x.dtype)
    if not isinstance(out, np.ndarray):
        raise SpecError(f"out is {shown(out)}; expected an array")
    if out.shape != shape or out.dtype != x.dtype or not out.flags.c_contiguous:
        wanted = f"{x.dtype} array of shape {list(shape)} in C order"
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


def _extrapolate(y: NDArray[Any], bound: Plan, piece: Piece) -> None:
    """Fill what a crop takes from outside the image."""
    if not isinstance(bound.spec.coordinates, Crop):
        return
    for axis, each in zip(bound.axes, axis_taps(bound), strict=True):
        taps = piece.taps(each, axis.axis)
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


def _check_memory(bound: Plan, piece: Piece, itemsize: int) -> None:
    """Refuse before anything is allocated. Shrinking axes go first, so no intermediate exceeds input and output."""
    needed = (stop - start for start, stop in piece.inputs)
    elements = max(math.prod(needed), math.prod(piece.shape), *piece.shape, 0)
    if itemsize * elements > MAX_BYTES:
        raise ShapeError(
            f"resizing {list(bound.in_shape)} to {list(bound.out_shape)} needs {itemsize * elements / 2**30:.1f} GiB; "
            f"the limit (ir_interp.execute.MAX_BYTES) is {MAX_BYTES / 2**30:g} GiB"
        )
