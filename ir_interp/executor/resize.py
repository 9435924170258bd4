"""Run a resize in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from ir_interp.arguments import checked, lengths, shown
from ir_interp.errors import SpecError
from ir_interp.executor.prepared import Prepared, prepared
from ir_interp.plan.geometry import check_rank
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Arithmetic, ResizeSpec, Scales, Sizes
from ir_interp.translation.meaning import listed


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
    bound = bind(spec, x.shape, sizes=sizes, scales=scales, arithmetic=arithmetic)
    return prepared(bound, x.shape, x.dtype).run(x, out)


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
    """Return a resize of arrays of one ``shape`` and ``dtype``, planned once: for frames of a video, or a data loader.

    The result is called as often as is wanted, by any number of threads: ``run(x)``, or ``run(x, out=y)``, gives what
    ``resize`` gives, and plans nothing any more. ``sizes``, ``scales`` and ``arithmetic`` are those of ``resize``.
    Where the extra ``fast`` is installed and has a loop for this resize, it is loaded now.

    Raises what ``resize`` raises.
    """
    if not isinstance(spec, ResizeSpec):
        raise SpecError(f"spec is {shown(spec)}; expected a ResizeSpec")
    try:
        element = np.dtype(dtype)
    except (TypeError, ValueError):
        raise SpecError(f"dtype is {shown(dtype)}; expected a type of NumPy") from None
    taken = lengths(shape, "shape")
    bound = bind(spec, taken, sizes=sizes, scales=scales, arithmetic=arithmetic)
    return prepared(bound, taken, element).ready()


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
