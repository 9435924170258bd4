"""In which ways NumPy alone resizes bytes: directly, where few inputs make an output, or as products propose them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.caching import cached_property
from ir_interp.executor.strategies import float_proposal, opencv_ipp, ordered_proposal, strided_box, two_tap_gather
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.exact_sums import WholeSum, at_once, in_passes
from ir_interp.plan.libraries import passes
from ir_interp.plan.libraries.opencv_sums import is_of_ipp
from ir_interp.plan.pieces import Piece
from ir_interp.shapes import Shape
from ir_interp.spec import Alpha

Array = NDArray[Any]


class Ways:
    """What is found of a piece of a resize once, when it is needed first; ``padded`` is the shape of its input."""

    def __init__(self, bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> None:
        self.spec, self.dtype = bound.spec, dtype
        self._bound, self._piece = bound, piece
        self._padded: Shape = tuple(stop - start for start, stop in piece.inputs)

    @cached_property
    def _sums(self) -> tuple[WholeSum, ...]:
        """The resize as sums of whole numbers; none where it is no such thing."""
        once = at_once(self._bound, self._piece, self.dtype.name)
        return (once,) if once else in_passes(self._bound, self._piece, self.dtype.name) or ()

    @cached_property
    def _proposed(self) -> tuple[float_proposal.Proposed, ...]:
        """The sums of bytes as float32 proposes them, one after the other; none where there are no such."""
        if self._passes:
            if is_of_ipp(self._bound):
                return (opencv_ipp.proposed(self._bound, self._piece, self._padded),)
            found = ordered_proposal.chains(self._passes, self._padded)
            return (found,) if found else ()
        made, shape = [], self._padded
        for each in self._sums:
            made.append(float_proposal.proposed(each, shape, self.dtype))
            shape = made[-1].shape
        return tuple(made)

    @cached_property
    def _direct(self) -> partial[None] | None:
        """What fills an output with bytes that few inputs make, without products; None where there is no such way."""
        if self.spec.alpha is Alpha.PREMULTIPLIED:
            return None
        if len(self._sums) == 1:
            most = max(map(abs, (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)))
            if by_factors := strided_box.of_sum(self._sums[0], self._padded, most):
                return partial(strided_box.run, made=by_factors)
            found = two_tap_gather.of_sum(self._sums[0], self._padded)
            return partial(two_tap_gather.run, pairs=found) if found else None
        found = two_tap_gather.shortened(*self._passes, self._padded) if len(self._passes) == 2 else None
        return partial(two_tap_gather.run, pairs=found) if found else None

    @cached_property
    def _passes(self) -> tuple[passes.Pass, ...]:
        """The passes over bytes that an image library makes, in an order of its own; none where there are no such."""
        if self._sums or self.dtype != np.uint8 or self.spec.alpha is Alpha.PREMULTIPLIED:
            return ()
        if not passes.are_named(self._bound):
            return ()
        return tuple(map(self._piece.of_pass, passes.passes(self._bound, "uint8")))
