"""Resizes in NumPy."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ir_interp import arguments
from ir_interp.arguments import checked, shown
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor.prepared import Prepared, prepared
from ir_interp.executor.region_inputs import piece_of
from ir_interp.files.memory import unchecked
from ir_interp.plan.axes.geometry import Plan, check_rank, plan
from ir_interp.plan.pieces import whole as whole_of
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Arithmetic, ResizeSpec, Scales, Sizes
from ir_interp.translation.axes import listed


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
    """Return an array resized by ``spec``; ``ir_interp.public.resizing`` documents the arguments."""
    x = as_array(x)
    shape = x.shape if whole is None else arguments.lengths(whole, "whole")
    if whole is not None and region is None:
        raise SpecError("whole has no effect without region")
    if region is None:
        return _for_call(spec, shape, x.dtype, sizes, scales, arithmetic).run(x, out)
    with unchecked():
        bound = planned(spec, shape, sizes=sizes, scales=scales, arithmetic=arithmetic)
        piece = piece_of(bound, region)
        at_hand = piece.of_input(bound)
        if whole is None:
            x = x[at_hand]
        elif x.shape != (needed := tuple(segment.stop - segment.start for segment in at_hand)):
            raise ShapeError(f"x has shape {list(x.shape)}; this region needs {list(needed)}: {_spelled(at_hand)}")
        return prepared(bound, piece, x.dtype).run(x, out)


def _for_call(
    spec: ResizeSpec,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    sizes: Sequence[int] | None,
    scales: Sequence[float] | None,
    arithmetic: Arithmetic | str | None,
) -> Prepared:
    """Return the resize of a call, cached from an earlier equal call."""
    name, values = ("sizes", sizes) if scales is None else ("scales", scales)
    if (sizes is None or scales is None) and not isinstance(values, str):
        with suppress(TypeError):  # for values that are not sequences or have no hash
            return _called(
                spec, shape, dtype, arithmetic, "" if values is None else name, *(() if values is None else values)
            )
    with unchecked():
        bound = bind(_spec(spec), shape, sizes=sizes, scales=scales, arithmetic=arithmetic)
        return _prepared(bound, shape, dtype)


@lru_cache(maxsize=256, typed=True)
def _called(
    spec: ResizeSpec,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    arithmetic: Arithmetic | str | None,
    name: str,
    *values: Any,
) -> Prepared:
    changes: dict[str, Any] = {name: values} if name else {}
    with unchecked():
        return _prepared(bind(_spec(spec), shape, arithmetic=arithmetic, **changes), shape, dtype)


@lru_cache(maxsize=256)
def _prepared(spec: ResizeSpec, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Prepared:
    bound = plan(spec, shape)
    return prepared(bound, whole_of(bound), dtype)


def _spec(spec: ResizeSpec) -> ResizeSpec:
    if not isinstance(spec, ResizeSpec):
        raise SpecError(f"spec is {shown(spec)}; expected a ResizeSpec")
    return spec


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
    """Return the piece of an input of ``shape`` that a piece of the output of ``resize`` needs, whatever its dtype.

    ``output_slices`` has a slice for each axis, as in ``x[10:20, :]``; omitted ones are full axes. ``sizes``,
    ``scales`` and ``arithmetic`` are those of ``resize``, which takes ``x[region(...)]`` with
    ``region=output_slices``, ``whole=shape``. Raises as ``resize`` does.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel="linear", axes=(0, 1), target=ir_interp.Sizes((50, 60)))
        >>> ir_interp.region(spec, (100, 120), (slice(10, 20),))
        (slice(20, 40, None), slice(0, 120, None))

    """
    with unchecked():
        lengths = arguments.lengths(shape, "shape")
        bound = planned(spec, lengths, sizes=sizes, scales=scales, arithmetic=arithmetic)
        return piece_of(bound, output_slices).of_input(bound)


@checked
def prepare(
    spec: ResizeSpec,
    shape: Sequence[int],
    dtype: DTypeLike = "float32",
    *,
    sizes: Sequence[int] | None = None,
    scales: Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> Prepared:
    """Return a resize of arrays of one ``shape`` and ``dtype``, planned once, for video frames or a data loader.

    The result can be called any number of times, by any number of threads: ``run(x)``, or ``run(x, out=y)``, gives the
    result of ``resize`` without planning. ``sizes``, ``scales`` and ``arithmetic`` are those of ``resize``. If the
    extra ``fast`` is installed and has a loop for this resize, it is loaded now.

    Raises the errors of ``resize``.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel="linear", axes=(0, 1), target=ir_interp.Sizes((2, 3)))
        >>> run = ir_interp.prepare(spec, (4, 6), "uint8")
        >>> run(np.arange(24, dtype=np.uint8).reshape(4, 6))
        array([[ 4,  6,  8],
               [16, 18, 20]], dtype=uint8)

    """
    try:
        element = np.dtype(dtype)
    except (TypeError, ValueError):
        raise SpecError(f"dtype is {shown(dtype)}; expected a NumPy dtype") from None
    with unchecked():
        lengths = arguments.lengths(shape, "shape")
        spec = bind(_spec(spec), lengths, sizes=sizes, scales=scales, arithmetic=arithmetic)
        return _prepared(spec, lengths, element).ready()


def planned(
    spec: ResizeSpec,
    shape: tuple[int, ...],
    *,
    sizes: Sequence[int] | None = None,
    scales: float | Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> Plan:
    """Return the plan of a call of ``resize``. Raises the same errors."""
    return plan(bind(_spec(spec), shape, sizes=sizes, scales=scales, arithmetic=arithmetic), shape)


def _spelled(slices: Sequence[slice]) -> str:
    return "[" + ", ".join(f"{segment.start}:{segment.stop}" for segment in slices) + "]"


def as_array(x: ArrayLike, name: str = "x") -> NDArray[Any]:
    """Return an array-like value as an array. Raises SpecError for None, paths and lists of different lengths."""
    if x is None:
        raise SpecError(f"{name} is None; expected an array")
    if isinstance(x, str | os.PathLike):
        raise SpecError(f"{name} is {os.fspath(x)!r}, a path; open it first")
    try:
        return np.asarray(x)
    except ValueError as error:
        raise SpecError(f"{name} is not an array: {error}") from None


def bind(
    spec: ResizeSpec,
    shape: PartialShape,
    *,
    sizes: Sequence[int] | None = None,
    scales: float | Sequence[float] | None = None,
    arithmetic: Arithmetic | str | None = None,
) -> ResizeSpec:
    """Return ``spec`` with its target, for inputs of ``shape``, or with its arithmetic replaced.

    The target may be that of the resized axes, or of all axes; a single number is the scale of each resized axis.
    Raises SpecError for invalid values.
    """
    if sizes is not None and scales is not None:
        raise SpecError("sizes and scales exclude each other; pass one of them")
    changes: dict[str, Any] = {}
    scales = for_each_axis(scales, spec, shape)
    lengths: Any = scales if sizes is None else sizes  # of any type; the target checks it
    if lengths is not None:
        spec, target = _fitting(spec, Sizes(lengths) if sizes is not None else Scales(lengths), shape)
        changes["target"] = target
    if arithmetic is not None:
        changes["arithmetic"] = arithmetic
    return replace(spec, **changes) if changes else spec


def for_each_axis(scales: Any, spec: ResizeSpec, shape: PartialShape) -> Any:
    """Return a single scale as one for each axis that a spec resizes; other values unchanged.

    These are the last two if the spec does not tell: models list all axes, batch and channels included.
    """
    if isinstance(scales, bool) or not isinstance(scales, Real):
        return scales
    count, is_of_all = min(_TWO, len(shape)), len(resolve_axes(spec.axes, len(shape))) == len(shape)
    if isinstance(spec.target, Sizes | Scales):
        count = len(listed(spec, shape).axes or ()) or count
    elif spec.axes is not None and (spec.target is None or not is_of_all):
        count = len(spec.axes)
    return (scales,) * count


_TWO = 2  # axes of an image


def _fitting(spec: ResizeSpec, target: Sizes | Scales, shape: PartialShape) -> tuple[ResizeSpec, Sizes | Scales]:
    """Return a spec and a target for the same axes: the resized ones, or all.

    Raises SpecError if an axis that the spec resizes would be left without a value.
    """
    axes, count = resolve_axes(spec.axes, len(shape)), len(target)
    if count == len(axes) or not count:
        return spec, target
    if count == len(shape):  # one for every axis, for a spec that resizes some
        unchanged = (1,) * count if isinstance(target, Scales) else shape
        if all(value == unchanged[axis] or axis in axes for axis, value in enumerate(target.values)):
            return spec, _of_axes(target, axes)
    if count < len(shape) == len(axes):  # one for every changing axis, for a spec that lists all
        check_rank(spec, len(shape))
        changing = listed(spec, shape).axes or ()
        chosen = changing if len(changing) == count else axes[-count:]
        if not _required(spec, changing, shape) <= set(chosen):
            resized = ", ".join(map(str, changing))
            raise SpecError(f"{target} for the axes {resized}: {count} of {len(changing)}; expected one for each axis")
        return replace(spec, axes=axes, target=None).only([axes.index(axis) for axis in chosen]), target
    return spec, target


def _required(spec: ResizeSpec, changing: Sequence[int], shape: PartialShape) -> set[int]:
    """Return the axes that a new target must include: those that are listed, or whose size is certain to change.

    A model that takes its target at run time lists all axes, whichever it resizes.
    """
    if isinstance(spec.target, Sizes):
        return {axis for axis in changing if shape[axis] is not None}
    if isinstance(spec.target, Scales) or (spec.target is None and spec.axes is not None):
        return set(changing)
    return set()


def _of_axes(target: Sizes | Scales, axes: Sequence[int]) -> Sizes | Scales:
    if isinstance(target, Sizes):
        return Sizes(tuple(target.values[axis] for axis in axes))
    return Scales(tuple(target.values[axis] for axis in axes))
