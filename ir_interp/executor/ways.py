"""In which ways NumPy alone resizes bytes: directly, where few inputs make an output, or as products propose them."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor import factors, ipp, ordered, pairs, whole
from ir_interp.kept import kept
from ir_interp.plan import passes
from ir_interp.plan.geometry import Plan
from ir_interp.plan.opencv import is_of_ipp
from ir_interp.plan.pieces import Piece
from ir_interp.plan.whole import WholeSum, at_once, in_passes
from ir_interp.shapes import Shape
from ir_interp.spec import Alpha

Array = NDArray[Any]


class Ways:
    """What is found of a piece of a resize once, when it is needed first; ``padded`` is the shape of its input."""

    def __init__(self, bound: Plan, piece: Piece, dtype: np.dtype[Any]) -> None:
        self.spec, self.dtype = bound.spec, dtype
        self._bound, self._piece = bound, piece
        self._padded: Shape = tuple(stop - start for start, stop in piece.inputs)

    @kept
    def _sums(self) -> tuple[WholeSum, ...]:
        """The resize as sums of whole numbers; none where it is no such thing."""
        once = at_once(self._bound, self._piece, self.dtype.name)
        return (once,) if once else in_passes(self._bound, self._piece, self.dtype.name) or ()

    @kept
    def _proposed(self) -> tuple[whole.Proposed, ...]:
        """The sums of bytes as float32 proposes them, one after the other; none where there are no such."""
        if self._passes:
            if is_of_ipp(self._bound):
                return (ipp.proposed(self._bound, self._piece, self._padded),)
            found = ordered.chains(self._passes, self._padded)
            return (found,) if found else ()
        made, shape = [], self._padded
        for each in self._sums:
            made.append(whole.proposed(each, shape, self.dtype))
            shape = made[-1].shape
        return tuple(made)

    @kept
    def _direct(self) -> partial[None] | None:
        """What fills an output with bytes that few inputs make, without products; None where there is no such way."""
        if self.spec.alpha is Alpha.PREMULTIPLIED:
            return None
        if len(self._sums) == 1:
            most = max(map(abs, (np.iinfo(self.dtype).min, np.iinfo(self.dtype).max)))
            if by_factors := factors.of_sum(self._sums[0], self._padded, most):
                return partial(factors.run, made=by_factors)
            found = pairs.of_sum(self._sums[0], self._padded)
            return partial(pairs.run, pairs=found) if found else None
        found = pairs.shortened(*self._passes, self._padded) if len(self._passes) == 2 else None
        return partial(pairs.run, pairs=found) if found else None

    @kept
    def _passes(self) -> tuple[passes.Pass, ...]:
        """The passes over bytes that an image library makes, in an order of its own; none where there are no such."""
        if self._sums or self.dtype != np.uint8 or self.spec.alpha is Alpha.PREMULTIPLIED:
            return ()
        if not passes.are_named(self._bound):
            return ()
        return tuple(map(self._piece.of_pass, passes.passes(self._bound, "uint8")))
