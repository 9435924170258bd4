"""A resize of arrays of one shape and type: planned once, run as often as is wanted."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.arguments import shown
from ir_interp.caching import cached_property
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor.arrays import float16, tiles
from ir_interp.executor.arrays.crops import extrapolate
from ir_interp.executor.arrays.store import store
from ir_interp.executor.axis_order import in_order
from ir_interp.executor.compiled import dispatch, exact_jobs, float_jobs, jobs, ordered_jobs
from ir_interp.executor.infinities import by_definition, is_finite
from ir_interp.executor.memory_limit import check_memory
from ir_interp.executor.region_inputs import piece_of
from ir_interp.executor.strategies import library_passes as passes_of
from ir_interp.executor.strategies import (
    opencv_area_in_fours,
    opencv_ipp,
    pillow_blocks,
    premultiplied_alpha,
    runtime_integer_sums,
)
from ir_interp.executor.strategies.choice import Ways
from ir_interp.executor.strategies.tap_sums import build
from ir_interp.files.memory import unchecked
from ir_interp.plan.axes.geometry import Plan, plan
from ir_interp.plan.axes.taps import axis_taps
from ir_interp.plan.libraries import library_limits, passes
from ir_interp.plan.libraries.opencv_sums import adds_fours, is_of_ipp
from ir_interp.plan.libraries.pillow_reduce import Reduced, reduced
from ir_interp.plan.pieces import Piece
from ir_interp.plan.pieces import whole as whole_of
from ir_interp.plan.runtimes.integer_steps import Along, Corners, rounding_at_once
from ir_interp.spec import Alpha, IntegerRounding, Nearest

Array = NDArray[Any]

_DOUBLE = ("float64", "int32", "int64", "uint32", "uint64")
_EIGHT_BITS = ("uint8", "int8")
_SINGLE = ("float32", "float16", "bfloat16", "int8", "int16", "uint8", "uint16")


class Prepared(Ways):
    """A resize of arrays of one shape and type: a call runs it, and nothing is planned any more.

    Any number of threads may call it at once. ``spec`` is what it computes, ``shape`` and ``dtype`` are those of the
    arrays that it takes, ``out_shape`` that of the results.
    """

    def __init__(self, bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> None:
        super().__init__(bound, piece, dtype)
        library_limits.check(bound, dtype.name)
        self.out_shape = piece.shape
        self.shape = tuple(each.stop - each.start for each in piece.of_input(bound))
        self._work = dtype if isinstance(bound.spec.kernel, Nearest) else _working_dtype(dtype)
        self._sums_floats = dtype.kind not in "iub" and not isinstance(bound.spec.kernel, Nearest)
        padding = piece.padding(bound)
        self._pads = padding if any(map(any, padding)) else None
        check_memory(bound, piece, max(self._work.itemsize, dtype.itemsize))

    def __repr__(self) -> str:
        return f"Prepared({self.spec}: {self.dtype} {list(self.shape)} to {list(self.out_shape)})"

    def __call__(self, x: Array, *, out: Array | None = None) -> Array:
        """Return ``x`` resized; ``out``, a C-ordered array of the right shape and type, takes the result.

        Raises ShapeError where ``x`` has another shape or type than this was prepared for.
        """
        if not isinstance(x, np.ndarray):
            raise SpecError(f"x is {shown(x)}; expected an array")
        if x.shape != self.shape or x.dtype != self.dtype:
            wanted = f"{self.dtype} {list(self.shape)}"
            raise ShapeError(f"x is {x.dtype} {list(x.shape)}; this resize was prepared for {wanted}")
        return self.run(x, out)

    def ready(self) -> Prepared:
        """Return this resize with everything that a call needs: taps, tiles, loops."""
        if self._bound.axes and 0 not in self.out_shape:
            with unchecked():
                inner = self._native or (self._reduced[1] if self._reduced else None)
                if inner:
                    inner.ready()
                    return self
                is_compiled = self._jobs and dispatch.load()
                _ = is_compiled or self._direct or self._proposed or self._tiles
        return self

    def run(self, x: Array, out: Array | None) -> Array:
        """Return ``x``, which is of the right shape and type, resized."""
        y = self._output(x, out)
        if self._native:
            y[...] = self._native.run(x.astype(self._native.dtype), None)
        elif y.size:
            with unchecked():
                self._fill(np.pad(x, self._pads) if self._pads else x, y)
                extrapolate(y, self._bound, self._piece)
        return y

    def _output(self, x: Array, out: Array | None) -> Array:
        if out is None:
            return np.empty(self.out_shape, x.dtype)
        if not isinstance(out, np.ndarray):
            raise SpecError(f"out is {shown(out)}; expected an array")
        if out.shape != self.out_shape or out.dtype != x.dtype or not out.flags.c_contiguous:
            wanted = f"{x.dtype} array of shape {list(self.out_shape)} in C order"
            raise ShapeError(f"out must be a {wanted}, not {out.dtype} {list(out.shape)}")
        if np.may_share_memory(x, out):
            raise SpecError("out must not overlap the input")
        return out

    def _fill(self, x: Array, y: Array) -> None:
        """Fill ``y`` from ``x``, padded already."""
        if not self._bound.axes:
            y[...] = _without_alpha(x, self._bound, self._piece)[0]
        elif self._reduced:
            y[...] = self._of_blocks(x, *self._reduced)
        else:
            self._sum(x, y)

    def _sum(self, x: Array, y: Array) -> None:
        infinite = dispatch.run(x, y, self._jobs) if self._jobs else None
        if infinite is None:
            self._fill_in_numpy(x, y)
            infinite = self._sums_floats and not is_finite(x if self.dtype == np.float16 else y)
        if infinite:
            by_definition(x, y, self._work, self._bound, self._piece)

    def _fill_in_numpy(self, x: Array, y: Array) -> None:
        if self._direct:
            self._direct(x, y)
            return
        if self._proposed:
            for each in self._proposed:
                made = y if each is self._proposed[-1] else np.empty(each.shape, y.dtype)
                each.run(x, made)
                x = made
            return
        found = self._integers(x)
        if found is not None:
            y[...] = found
            return
        x, _ = _without_alpha(x, self._bound, self._piece)
        tiles.run(x, y, self._tiles, self._work, self._finish)

    @cached_property
    def _native(self) -> Prepared | None:
        """The same of numbers in this machine's order of bytes, where theirs is another."""
        if self.dtype.isnative:
            return None
        return prepared(self._bound, self._piece, self.dtype.newbyteorder("="))

    @cached_property
    def _reduced(self) -> tuple[Reduced, Prepared] | None:
        """The blocks that integers are averaged in first, and the resize of what these leave; None without any.

        Of floats the two are one sum.
        """
        padded = tuple(size + sum(pads) for size, pads in zip(self._bound.in_shape, self._bound.padding, strict=True))
        found = reduced(self.spec, padded) if self.dtype.kind in "iu" else None
        if found is None:
            return None
        rest = plan(replace(found.spec, alpha=Alpha.SEPARATE), found.shape)
        outputs = [slice(*each) for each in self._piece.outputs]
        if self.spec.alpha is Alpha.PREMULTIPLIED:
            outputs[-1] = slice(0, rest.out_shape[-1])
        return found, prepared(rest, piece_of(rest, outputs), self.dtype)

    def _of_blocks(self, x: Array, found: Reduced, rest: Prepared) -> Array:
        """Return integers ``x``, padded already, averaged in blocks, and then resized."""
        premultiplied = self.spec.alpha is Alpha.PREMULTIPLIED
        made = premultiplied_alpha.multiplied(x) if premultiplied else x
        y = rest.run(pillow_blocks.averaged(made, found, self._bound, self._piece, rest._piece), None)
        return premultiplied_alpha.divided(y)[..., slice(*self._piece.outputs[-1])] if premultiplied else y

    @cached_property
    def _jobs(self) -> tuple[jobs.Job, ...]:
        """The resize as compiled loops make it; none where there are no such loops."""
        bound, piece = self._bound, self._piece
        if self.spec.alpha is Alpha.PREMULTIPLIED:  # a piece of such has all channels before, and not behind
            return ()
        if isinstance(self.spec.kernel, Nearest):
            return float_jobs.copies(bound, piece, self.dtype)
        if self.dtype.kind != "u" and self.dtype.kind != "i":
            return float_jobs.floats(bound, piece, self.dtype, self._rounding)
        if self._sums:
            return exact_jobs.jobs(self._sums, self._padded, self.dtype)
        if not passes.are_named(bound):
            made = runtime_integer_sums.planned(bound, self.dtype.name, piece.outputs)
            if made is None:
                return float_jobs.floats(bound, piece, self.dtype, self._rounding)
            if isinstance(made[0], Corners):
                return ordered_jobs.cornered(made[0], piece) if self.dtype.name in _EIGHT_BITS else ()
            return ordered_jobs.of_runtime([each for each in made if isinstance(each, Along)], piece, self.dtype)
        if self.dtype != np.uint8:
            return ()
        return ordered_jobs.in_order(passes.passes(bound, "uint8"), piece, bound.out_shape)

    @cached_property
    def _tiles(self) -> tiles.Tiles:
        piece = _without_alpha(np.empty((1,) * len(self._padded)), self._bound, self._piece)[1]
        taps = {axis.axis: each for axis, each in zip(self._bound.axes, axis_taps(self._bound), strict=True)}
        ordered = {axis.axis: taps[axis.axis] for axis in in_order(self._bound)}
        return tiles.tiled(ordered, piece, self._work, build, tiles.MIN_ELEMENTS_FOR_THREADS)

    @cached_property
    def _rounding(self) -> IntegerRounding:
        return rounding_at_once(self.spec, self.dtype.name)

    def _finish(self, values: Array, target: Array, tile: tiles.Tile) -> None:
        """Store the sums of a tile."""
        if self.dtype == np.float16:
            float16.store(values, target)
        else:
            store(values, target, self._rounding)

    def _integers(self, x: Array) -> Array | None:
        """Return integers resized in the sums that the spec names; None where they are summed as floats are."""
        bound, piece = self._bound, self._piece
        if self.dtype.kind not in "iu" or isinstance(self.spec.kernel, Nearest):
            return None
        if not passes.are_named(bound):
            return runtime_integer_sums.run(x, bound, piece)
        run = (
            opencv_ipp.run
            if is_of_ipp(bound)
            else opencv_area_in_fours.run
            if adds_fours(bound, x.dtype.name)
            else passes_of.run
        )
        if self.spec.alpha is Alpha.PREMULTIPLIED:
            return premultiplied_alpha.divided(run(premultiplied_alpha.multiplied(x), bound, piece))[
                ..., slice(*piece.outputs[-1])
            ]
        return run(x, bound, piece)


@lru_cache(maxsize=256)
def prepared(bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> Prepared:
    """Return a piece of a resize that was prepared before, or is now."""
    return Prepared(bound, piece, dtype)


def in_steps(bound: Plan, dtype: np.dtype[Any]) -> bool:
    """Say whether values are made by sums over all of an array, one after the other, not tile by tile."""
    if dtype.kind not in "iu" or isinstance(bound.spec.kernel, Nearest):
        return False
    return (
        passes.are_named(bound) or runtime_integer_sums.planned(bound, dtype.name, whole_of(bound).outputs) is not None
    )


def _without_alpha(x: NDArray[Any], bound: Plan, piece: Piece) -> tuple[NDArray[Any], Piece]:
    """Return the channels of a piece alone, where it had all of them for the sake of the last."""
    if bound.spec.alpha is not Alpha.PREMULTIPLIED:
        return x, piece
    return x[..., slice(*piece.outputs[-1])], replace(piece, inputs=(*piece.inputs[:-1], piece.outputs[-1]))


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.name in _SINGLE:
        return np.dtype(np.float32)
    if dtype.name in _DOUBLE:
        return np.dtype(np.float64)
    raise SpecError(f"{dtype} values can be copied (nearest) but not averaged")
