"""A case: a piece of a resize of arrays of one type, and its properties that strategies and loops need."""

from __future__ import annotations

from typing import Any

import numpy as np

from ir_interp.caching import cached_property
from ir_interp.errors import SpecError
from ir_interp.executor.strategies import runtime_integer_sums
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.exact_sums import WholeSum, at_once, in_passes
from ir_interp.plan.libraries import passes
from ir_interp.plan.libraries.opencv_sums import is_of_ipp
from ir_interp.plan.pieces import Piece, whole
from ir_interp.plan.runtimes.integer_steps import Step, rounding_at_once
from ir_interp.shapes import Shape
from ir_interp.spec import Alpha, IntegerRounding, Nearest

# float32 represents these types exactly; sums of the others lose less in float64.
_SINGLE = ("float32", "float16", "bfloat16", "int8", "int16", "uint8", "uint16")
_DOUBLE = ("float64", "int32", "int64", "uint32", "uint64")


class Case:
    """A piece of a resize of arrays of one type. Each property is computed on first use.

    Raises SpecError for a type whose values cannot be averaged, if the resize averages.
    """

    def __init__(self, bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> None:
        self.bound, self.piece, self.dtype, self.spec = bound, piece, dtype, bound.spec
        self.padded: Shape = tuple(stop - start for start, stop in piece.inputs)
        self.copies = isinstance(bound.spec.kernel, Nearest)
        self.work = dtype if self.copies else _working_dtype(dtype)

    @property
    def is_premultiplied(self) -> bool:
        """Whether channels are multiplied by the last one first."""
        return self.spec.alpha is Alpha.PREMULTIPLIED

    @property
    def averages_integers(self) -> bool:
        """Whether sums are rounded to integers."""
        return self.dtype.kind in "iu" and not self.copies

    @cached_property
    def rounding(self) -> IntegerRounding:
        """The rounding of a sum over all axes, if the steps are unknown."""
        return rounding_at_once(self.spec, self.dtype.name)

    @cached_property
    def exact_sums(self) -> tuple[WholeSum, ...]:
        """The uint8 resize as integer sums; empty if it is of another kind."""
        once = at_once(self.bound, self.piece, self.dtype.name)
        return (once,) if once else in_passes(self.bound, self.piece, self.dtype.name) or ()

    @cached_property
    def is_in_passes(self) -> bool:
        """Whether an image library sums these integers axis by axis, in the numbers of the spec."""
        return self.averages_integers and passes.are_named(self.bound)

    @cached_property
    def byte_passes(self) -> tuple[passes.Pass, ...]:
        """The passes of a library over bytes that are not exact sums; empty if there are none."""
        if not self.is_in_passes or self.exact_sums or self.dtype != np.uint8 or self.is_premultiplied:
            return ()
        if passes.are_at_once(self.bound):
            return ()
        return self.piece.passes(self.bound, "uint8")

    @cached_property
    def runtime_steps(self) -> tuple[Step, ...]:
        """The steps of a runtime for these integers; empty if they are unknown."""
        if not self.averages_integers or self.is_in_passes:
            return ()
        return runtime_integer_sums.planned(self.bound, self.dtype.name, self.piece.outputs) or ()

    @property
    def is_of_ipp(self) -> bool:
        """Whether Intel's library sums these bytes, within OpenCV."""
        return is_of_ipp(self.bound)


def in_steps(bound: Plan, dtype: np.dtype[Any]) -> bool:
    """Return whether values are sequential sums over the whole array, not tile by tile."""
    case = Case(bound, whole(bound), dtype)
    return case.is_in_passes or bool(case.runtime_steps)


def _working_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    if dtype.name in _SINGLE:
        return np.dtype(np.float32)
    if dtype.name in _DOUBLE:
        return np.dtype(np.float64)
    raise SpecError(f"{dtype} values can be copied (nearest) but not averaged")
