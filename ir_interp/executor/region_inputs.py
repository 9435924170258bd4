"""The inputs that a piece of an output needs, for every element type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ir_interp.arguments import shown
from ir_interp.errors import ShapeError, SpecError
from ir_interp.executor.memory_limit import check_taps
from ir_interp.executor.strategies.runtime_integer_sums import columns, planned
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import is_long, window_taps
from ir_interp.plan.libraries import opencv_sums
from ir_interp.plan.libraries.passes import passes
from ir_interp.plan.pieces import Piece, Range, whole
from ir_interp.plan.premultiplied import axis_of_channels
from ir_interp.plan.runtimes.integer_steps import Along
from ir_interp.shapes import Shape
from ir_interp.spec import Alpha

Indices = NDArray[np.intp]
_TYPES_WITH_STEPS = ("uint8", "int32")  # types with two sets of steps; those of other types use the same inputs


def piece_of(bound: Plan, region: Sequence[slice] | None) -> Piece:
    """Return a piece of a plan, by slices of its output; all of it for None.

    Raises SpecError for values other than slices of step 1, ShapeError for more of them than axes.
    """
    if region is None:
        check_taps(bound)
        return whole(bound)
    outputs = _ranges(region, bound.out_shape)
    check_taps(bound, outputs)
    if any(start == stop for start, stop in outputs):
        return Piece(outputs, tuple((0, 0) for _ in outputs))
    inputs = list(outputs)
    segments = outputs if is_long(bound) else whole(bound).outputs  # of a short axis, what all outputs need is kept
    for axis, (lowest, highest) in _reach(bound, segments).items():
        taken = slice(*(edge - segments[axis][0] for edge in outputs[axis]))
        inputs[axis] = (int(lowest[taken].min()), int(highest[taken].max()) + 1)
    if bound.spec.alpha is Alpha.PREMULTIPLIED:
        channels = axis_of_channels(bound)
        inputs[channels] = (0, bound.out_shape[channels])  # all of them, since the last changes the others
    return Piece(outputs, tuple(inputs))


@lru_cache(maxsize=16)
def _reach(bound: Plan, outputs: tuple[Range, ...]) -> dict[int, tuple[Indices, Indices]]:
    """Return the first and the last input of each of the outputs, by axis, in any of the ways to sum along it."""
    reach: dict[int, tuple[Indices, Indices]] = {}
    for axis, indices in _taken(bound, outputs):
        lowest, highest = indices.min(axis=1), indices.max(axis=1)
        if axis in reach:
            lowest, highest = np.minimum(lowest, reach[axis][0]), np.maximum(highest, reach[axis][1])
        reach[axis] = lowest, highest
    return reach


def _taken(bound: Plan, outputs: tuple[Range, ...]) -> Iterator[tuple[int, Indices]]:
    """Yield the inputs of outputs, by axis, [out, taps]."""
    changing = {axis.axis for axis in bound.axes}
    for place, axis in enumerate(bound.axes):
        yield axis.axis, window_taps(bound, place, outputs[axis.axis]).indices
    if bound.axes and opencv_sums.is_of_ipp(bound):  # which also sums along an axis that keeps its size
        yield from ((stage.axis, stage.indices[slice(*outputs[stage.axis])]) for stage in passes(bound, "uint8"))
    for dtype in _TYPES_WITH_STEPS:
        for step in planned(bound, dtype, outputs) or ():
            pairs = (
                [(step.axis, step.indices)] if isinstance(step, Along) else zip(step.axes, step.indices, strict=True)
            )
            for axis_of_step, indices in pairs:
                if axis_of_step in changing:  # along an axis that is copied a runtime reads neighbours, too, times 0
                    yield axis_of_step, np.stack(columns(indices), axis=1).astype(np.intp)


def _ranges(region: Sequence[slice], lengths: Shape) -> tuple[Range, ...]:
    if isinstance(region, str) or not isinstance(region, Sequence):
        raise SpecError(f"region is {shown(region)}; expected a slice for each axis")
    if len(region) > len(lengths):
        raise ShapeError(f"region has {len(region)} slices; the output has rank {len(lengths)}")
    ranges = [_range(segment, length) for segment, length in zip(region, lengths, strict=False)]
    return (*ranges, *((0, length) for length in lengths[len(region) :]))


def _range(segment: slice, length: int) -> Range:
    if not isinstance(segment, slice) or segment.step not in (None, 1):
        raise SpecError(f"region holds {segment!r}; expected slices of step 1")
    try:
        start, stop, _ = segment.indices(length)
    except TypeError:
        raise SpecError(f"region holds {segment!r}; expected slices of integers") from None
    return start, max(start, stop)
