"""Prepared resizes: for arrays of one shape and type, planned once for any number of runs."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ir_interp.arguments import shown
from ir_interp.array_types import Array
from ir_interp.caching import cached_property
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor.arrays.crops import extrapolate
from ir_interp.executor.compiled import jobs, loop_runner
from ir_interp.executor.compiled.choice_of_loops import jobs_of
from ir_interp.executor.definition import by_definition, is_finite
from ir_interp.executor.memory_limit import check_memory
from ir_interp.executor.region_inputs import piece_of
from ir_interp.executor.strategies import choice, pillow_blocks, premultiplied_alpha
from ir_interp.executor.strategies.case import Case
from ir_interp.files.memory import unchecked
from ir_interp.plan.axes.geometry import Plan, plan
from ir_interp.plan.libraries import library_limits
from ir_interp.plan.libraries.passes import needs_all_taps
from ir_interp.plan.libraries.pillow_reduce import Reduced, reduced
from ir_interp.plan.pieces import Piece
from ir_interp.plan.premultiplied import axis_of_channels, channels_last
from ir_interp.spec import Alpha, Crop


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
        if self._moved is None:
            library_limits.check(bound, dtype.name)
        self.spec, self.dtype = bound.spec, dtype
        self.out_shape = piece.shape
        self.shape = tuple(span.stop - span.start for span in piece.of_input(bound))
        alone = piece if dtype.kind in "iu" else piece.without_neighbours(bound)  # only integers are summed with them
        self._case, self._bound, self._piece = Case(bound, alone, dtype), bound, piece
        self._own = None if alone == piece else alone.within(piece)
        self._sums_floats = dtype.kind not in "iub" and not self._case.copies
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
            library_limits.check_pixels(int(x.min()), int(x.max()), self._largest)
        infinite = self._quick(x, y) if self._quick else None
        if infinite is not None:
            if infinite:
                with unchecked():
                    by_definition(x, y, self._case.work, self._bound, self._case.piece)
        elif self._native:
            y[...] = self._native.run(x.astype(self._native.dtype), None)
        elif self._moved:
            channels = axis_of_channels(self._bound)
            y[...] = np.moveaxis(self._moved.run(np.moveaxis(x, channels, -1).copy(), None), -1, channels)
        elif y.size:
            with unchecked():
                padded = np.pad(x, self._pads) if self._pads else x
                self._fill(padded[self._own] if self._own else padded, y)
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

    def _fill(self, x: Array, y: Array) -> None:
        """Fill ``y`` from ``x``, padded already."""
        if not self._bound.axes:
            y[...] = x[..., slice(*self._piece.outputs[-1])] if self._case.is_premultiplied else x
        elif self._reduced:
            y[...] = self._of_blocks(x, *self._reduced)
        else:
            self._sum(x, y)

    def _sum(self, x: Array, y: Array) -> None:
        infinite = loop_runner.run(x, y, self._jobs) if self._jobs else None
        if infinite is None:
            _, run = self._in_numpy
            run(x, y)
            infinite = self._sums_floats and not is_finite(x if self.dtype == np.float16 else y)
        if infinite:
            by_definition(x, y, self._case.work, self._bound, self._case.piece)

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
        if self._native or self._moved or self._reduced:
            return None
        return library_limits.largest_pixel(self._bound, self._piece.outputs, self.dtype.name)

    @cached_property
    def _in_numpy(self) -> tuple[choice.Strategy, choice.Run]:
        """The way in which NumPy alone computes this resize."""
        return choice.chosen(self._case)

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
        image = premultiplied_alpha.multiplied(x) if premultiplied else x
        y = rest.run(pillow_blocks.averaged(image, reduction, self._bound, self._piece, rest._piece), None)
        return premultiplied_alpha.divided(y)[..., slice(*self._piece.outputs[-1])] if premultiplied else y

    @cached_property
    def _jobs(self) -> tuple[jobs.Job, ...]:
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
