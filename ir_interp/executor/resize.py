"""Resizes in NumPy, and prepared ones: for arrays of one shape and type, planned once for any number of runs."""

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
from ir_interp.executor import infinities, library_sums, loop_runner, strategies
from ir_interp.executor.cases import Case, check_memory, check_taps, jobs_of, piece_of
from ir_interp.executor.definition import by_definition, is_finite, store
from ir_interp.executor.threads import cached_property
from ir_interp.files.memory import unchecked
from ir_interp.plan import library_passes
from ir_interp.plan.integer_sums import Piece, axis_of_channels, channels_last, taps_by_axis, whole_piece as whole_of
from ir_interp.plan.library_passes import needs_all_taps
from ir_interp.plan.taps import Plan, Reduced, check_rank, plan, reduced
from ir_interp.shapes import Array, PartialShape, resolve_axes
from ir_interp.specs import Alpha, Arithmetic, Crop, IntegerRounding, Integers, ResizeSpec, Scales, Sizes
from ir_interp.translation.meaning import listed_axes


def extrapolate(y: NDArray[Any], bound: Plan, piece: Piece) -> None:
    """Fill the outputs of a crop whose source is outside the image."""
    if not isinstance(bound.spec.coordinates, Crop):
        return
    for axis, taps in taps_by_axis(bound, piece).items():
        if taps.outside is not None and taps.outside.any():
            y[(slice(None),) * axis + (taps.outside,)] = extrapolated(bound.spec, y.dtype)


def extrapolated(spec: ResizeSpec, dtype: DTypeLike) -> NDArray[Any]:
    """Return the extrapolation value as an array without axes; for integers onnxruntime truncates it."""
    assert isinstance(spec.coordinates, Crop)
    fill = np.empty(1, dtype)
    cuts = spec.rounds is Integers.ONNXRUNTIME
    rounding = spec.rounds if isinstance(spec.rounds, IntegerRounding) else IntegerRounding.HALF_EVEN
    store(np.full(1, spec.coordinates.extrapolation), fill, IntegerRounding.CUT_OFF if cuts else rounding)
    return fill.reshape(())


class Prepared:
    """A resize of arrays of one shape and type, planned already; a call runs it.

    Any number of threads may call it at once. ``spec`` is the resize, ``shape`` and ``dtype`` are those of the input
    arrays, ``out_shape`` that of the results.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel="linear", axes=(0, 1), target=ir_interp.Sizes((2, 3)))
        >>> run = ir_interp.prepare(spec, (4, 6), "uint8")
        >>> run.out_shape
        (2, 3)

    """

    def __init__(self, bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> None:
        self._moved = _channels_last(bound, piece, dtype)
        if self._moved is None and bound.spec.arithmetic.is_library:
            library_passes.check_limits(bound, dtype.name)
        self.spec, self.dtype = bound.spec, dtype
        self.out_shape = piece.shape
        self.shape = tuple(span.stop - span.start for span in piece.of_input(bound))
        check_taps(bound, piece.outputs)  # before any are computed
        reads_more = bound.spec.arithmetic.reads_unweighted and infinities.reads(bound, piece.outputs)
        sums_neighbours = dtype.kind in "iu" and not reads_more
        alone = piece if sums_neighbours else piece.without_neighbours(bound)
        self._case, self._bound, self._piece = Case(bound, alone, dtype), bound, piece
        self._own = None if alone == piece else alone.within(piece)
        self._sums_floats = dtype.kind not in "iub" and not self._case.copies and not self._case.counts
        padding = piece.padding(bound)
        self._pads = padding if any(map(any, padding)) else None
        of_all = self._case.is_in_passes and needs_all_taps(bound)
        check_memory(bound, piece, max(self._case.work.itemsize, dtype.itemsize), of_all=of_all)

    def __repr__(self) -> str:
        return f"Prepared({self.spec}: {self.dtype} {list(self.shape)} to {list(self.out_shape)})"

    def __call__(self, x: Array, *, out: Array | None = None) -> Array:
        """Return ``x`` resized; ``out``, a C-ordered array of the right shape and type, receives the result.

        Raises ShapeError if ``x`` has another shape or type than prepared for.
        """
        if not isinstance(x, np.ndarray):
            raise SpecError(f"x is {shown(x)}; expected an array")
        if x.shape != self.shape or x.dtype != self.dtype:
            expected = f"{self.dtype} {list(self.shape)}"
            raise ShapeError(f"x is {x.dtype} {list(x.shape)}; this resize was prepared for {expected}")
        return self.run(x, out)

    def ready(self) -> Prepared:
        """Return this resize with everything computed that a call needs: taps, tiles, loops."""
        if self._bound.axes and 0 not in self.out_shape:
            with unchecked():
                inner = self._native or self._moved or (self._reduced[1] if self._reduced else None)
                if inner:
                    inner.ready()
                    return self
                _ = (self._jobs and loop_runner.load()) or self._in_numpy
        return self

    def run(self, x: Array, out: Array | None) -> Array:
        """Return ``x``, which has the right shape and type, resized."""
        y = self._output(x, out)
        if self._largest is not None and x.size:
            library_passes.check_pixels(int(x.min()), int(x.max()), self._largest)
        infinite = self._quick(x, y) if self._quick else None
        if infinite is not None:
            if infinite:
                with unchecked():
                    by_definition(x, y, self._case.work, self._bound, self._case.piece)
            if infinite or infinities.exceeds(x, self._largest_input):
                infinities.spread(x, y, self._bound, self._piece)
        elif self._native:
            y[...] = self._native.run(x.astype(self._native.dtype), None)
        elif self._moved:
            channels = axis_of_channels(self._bound)
            y[...] = np.moveaxis(self._moved.run(np.moveaxis(x, channels, -1).copy(), None), -1, channels)
        elif y.size:
            with unchecked():
                padded = np.pad(x, self._pads) if self._pads else x
                infinite = self._fill(padded[self._own] if self._own else padded, y)
                if infinite or infinities.exceeds(padded, self._largest_input):
                    infinities.spread(padded, y, self._bound, self._piece)
                extrapolate(y, self._bound, self._piece)
        return y

    def _output(self, x: Array, out: Array | None) -> Array:
        if out is None:
            return np.empty(self.out_shape, x.dtype)
        if not isinstance(out, np.ndarray):
            raise SpecError(f"out is {shown(out)}; expected an array")
        if out.shape != self.out_shape or out.dtype != x.dtype or not out.flags.c_contiguous:
            expected = f"{x.dtype} array of shape {list(self.out_shape)} in C order"
            raise ShapeError(f"out must be a {expected}, not {out.dtype} {list(out.shape)}")
        if np.may_share_memory(x, out):
            raise SpecError("out must not overlap the input")
        return out

    def _fill(self, x: Array, y: Array) -> bool:
        """Fill ``y`` from ``x``, padded already; return whether a sum of floats is an infinity or NaN."""
        if not self._bound.axes:
            y[...] = x[..., slice(*self._piece.outputs[-1])] if self._case.is_premultiplied else x
        elif self._reduced:
            y[...] = self._of_blocks(x, *self._reduced)
        else:
            return self._sum(x, y)
        return False

    def _sum(self, x: Array, y: Array) -> bool:
        infinite = loop_runner.run(x, y, self._jobs) if self._jobs else None
        if infinite is None:
            _, run = self._in_numpy
            run(x, y)
            infinite = self._sums_floats and not is_finite(x if self.dtype == np.float16 else y)
        if infinite:
            by_definition(x, y, self._case.work, self._bound, self._case.piece)
        return bool(infinite)

    @cached_property
    def _largest_input(self) -> float:
        """The largest magnitude of inputs up to which sums show all infinities of the runtime."""
        return infinities.largest_input(self._bound, self._piece, self.dtype)

    @cached_property
    def _quick(self) -> loop_runner.Quick | None:
        """The only loop of a small resize, if nothing is to be done besides; None for others."""
        with unchecked():  # since it plans, as the first call does
            if (
                self._native
                or self._moved
                or self._reduced
                or self._pads
                or self._own
                or isinstance(self.spec.coordinates, Crop)
            ):
                return None
            return loop_runner.quick(self._jobs) if self._bound.axes and 0 not in self.out_shape else None

    @cached_property
    def _largest(self) -> int | None:
        """The largest pixel whose sums Pillow defines; None if every pixel is."""
        if self._native or self._moved or self._reduced or not self.spec.arithmetic.is_library:
            return None
        return library_passes.largest_pixel(self._bound, self._piece.outputs, self.dtype.name)

    @cached_property
    def _in_numpy(self) -> tuple[strategies.Strategy, strategies.Run]:
        """The way in which NumPy alone computes this resize."""
        return strategies.chosen(self._case)

    @cached_property
    def _native(self) -> Prepared | None:
        """The same resize for numbers in this machine's byte order, if theirs is another."""
        if self.dtype.isnative:
            return None
        return prepared(self._bound, self._piece, self.dtype.newbyteorder("="))

    @cached_property
    def _reduced(self) -> tuple[Reduced, Prepared] | None:
        """The blocks that integers are averaged in first, and the resize after that; None if there are none.

        For floats the two are one sum.
        """
        padded = tuple(size + sum(pads) for size, pads in zip(self._bound.in_shape, self._bound.padding, strict=True))
        reduction = reduced(self.spec, padded) if self.dtype.kind in "iu" else None
        if reduction is None:
            return None
        rest = plan(replace(reduction.spec, alpha=Alpha.SEPARATE), reduction.shape)
        outputs = [slice(*output) for output in self._piece.outputs]
        if self._case.is_premultiplied:
            outputs[-1] = slice(0, rest.out_shape[-1])
        return reduction, prepared(rest, piece_of(rest, outputs), self.dtype)

    def _of_blocks(self, x: Array, reduction: Reduced, rest: Prepared) -> Array:
        """Return integers ``x``, padded already, averaged in blocks, and then resized."""
        premultiplied = self._case.is_premultiplied
        image = strategies.multiplied_by_alpha(x) if premultiplied else x
        y = rest.run(library_sums.averaged_blocks(image, reduction, self._bound, self._piece, rest._piece), None)
        return strategies.divided_by_alpha(y)[..., slice(*self._piece.outputs[-1])] if premultiplied else y

    @cached_property
    def _jobs(self) -> tuple[loop_runner.Job, ...]:
        """The resize as jobs of compiled loops; empty if there are no such loops."""
        return jobs_of(self._case)


def _channels_last(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> Prepared | None:
    """Return a resize that multiplies by alpha for the image with its channels last; None if they are already."""
    if bound.spec.alpha is Alpha.SEPARATE or axis_of_channels(bound) == len(bound.in_shape) - 1:
        return None
    return prepared(*channels_last(bound, piece), dtype)


@lru_cache(maxsize=256)
def prepared(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> Prepared:
    """Return a piece of a resize, prepared by an earlier call or now."""
    return Prepared(bound, piece, dtype)


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
    """Return an array resized by ``spec``; ``ir_interp.public.images`` documents the arguments."""
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
    *values: object,
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


def for_each_axis(scales: object, spec: ResizeSpec, shape: PartialShape) -> Any:
    """Return a single scale as one for each axis that a spec resizes; other values unchanged.

    These are the last two if the spec does not tell: models list all axes, batch and channels included.
    """
    if isinstance(scales, bool) or not isinstance(scales, Real):
        return scales
    count, is_of_all = min(_TWO, len(shape)), len(resolve_axes(spec.axes, len(shape))) == len(shape)
    if isinstance(spec.target, Sizes | Scales):
        count = len(listed_axes(spec, shape).axes or ()) or count
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
        changing = listed_axes(spec, shape).axes or ()
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
