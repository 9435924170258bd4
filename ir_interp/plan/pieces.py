"""A piece of an output, and the piece of the input that it needs: sizes only, no values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.axes.taps import Taps, window_taps
from ir_interp.plan.libraries.passes import Pass, window_passes
from ir_interp.shapes import Shape, resolve_axes

Range = tuple[int, int]
"""Start and stop of a segment of an axis."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The computed part of a plan: the segment of ``outputs`` of every axis, from that of ``inputs``, pads included.

    Taps count inputs from the start of the whole; the available part starts at ``origin``.
    """

    outputs: tuple[Range, ...]
    inputs: tuple[Range, ...]

    @property
    def shape(self) -> Shape:
        """The shape of the piece."""
        return tuple(stop - start for start, stop in self.outputs)

    @property
    def origin(self) -> Shape:
        """The first input along every axis."""
        return tuple(start for start, _ in self.inputs)

    def of_input(self, bound: Plan) -> tuple[slice, ...]:
        """Return the part that the piece needs of an input without pads."""
        pairs = zip(self.inputs, bound.padding, bound.in_shape, strict=True)
        return tuple(
            slice(*(min(max(edge - before, 0), size) for edge in stretch)) for stretch, (before, _), size in pairs
        )

    def padding(self, bound: Plan) -> tuple[Range, ...]:
        """Return the pads that the piece needs before and after that part."""
        pairs = zip(self.inputs, bound.padding, bound.in_shape, strict=True)
        return tuple(
            (max(min(before, stop) - start, 0), max(stop - max(before + size, start), 0))
            for (start, stop), (before, _), size in pairs
        )

    def taps(self, taps: Taps, axis: int) -> Taps:
        """Return the taps of the outputs along an axis, as positions in the segment of inputs."""
        cut = taps.of(*self.outputs[axis])
        return replace(cut, indices=cut.indices - self.inputs[axis][0])

    @property
    def by_itself(self) -> Piece:
        """The piece as a whole: outputs and inputs that are counted from its own first."""
        outputs, inputs = (tuple((0, stop - start) for start, stop in bounds) for bounds in (self.outputs, self.inputs))
        return Piece(outputs, inputs)

    def without_neighbours(self, bound: Plan) -> Piece:
        """Return the piece without the inputs beside its outputs along resized axes that keep their size."""
        changing = {axis.axis for axis in bound.axes}
        unchanged = set(resolve_axes(bound.spec.axes, len(bound.in_shape))) - changing
        pairs = enumerate(zip(self.inputs, self.outputs, strict=True))
        return Piece(self.outputs, tuple(outputs if axis in unchanged else inputs for axis, (inputs, outputs) in pairs))

    def within(self, other: Piece) -> tuple[slice, ...]:
        """Return the segment of another piece's inputs that are its own."""
        pairs = zip(self.inputs, other.inputs, strict=True)
        return tuple(slice(start - first, stop - first) for (start, stop), (first, _) in pairs)

    def passes(self, bound: Plan, dtype: str) -> tuple[Pass, ...]:
        """Return the passes of a plan for integers of a type, restricted to the outputs, from the segment of inputs."""
        return tuple(map(self._of_pass, window_passes(bound, dtype, self.outputs)))

    def _of_pass(self, step: Pass) -> Pass:
        begin, end = self.inputs[step.axis]
        indices = np.clip(step.indices - begin, 0, max(end - begin - 1, 0))  # others have a weight of 0
        return replace(step, indices=indices)


def taps_by_axis(bound: Plan, piece: Piece) -> dict[int, Taps]:
    """Return the taps of a piece by itself, by axis. Raises MemoryBoundError if they exceed the memory limit."""
    at = ((place, axis.axis) for place, axis in enumerate(bound.axes))
    return {axis: _by_itself(bound, place, piece.outputs[axis], piece.inputs[axis][0]) for place, axis in at}


@lru_cache(maxsize=128)
def _by_itself(bound: Plan, place: int, outputs: Range, origin: int) -> Taps:
    """Return the taps of a segment of an axis, kept since neighbouring pieces share their rows or columns."""
    taps = window_taps(bound, place, outputs)
    return replace(taps, indices=taps.indices - origin)


def whole(bound: Plan) -> Piece:
    """Return the piece that is the whole output, from the whole input."""
    padded = (size + begin + end for size, (begin, end) in zip(bound.in_shape, bound.padding, strict=True))
    return Piece(tuple((0, size) for size in bound.out_shape), tuple((0, size) for size in padded))
