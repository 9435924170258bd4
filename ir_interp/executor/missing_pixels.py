"""Images with missing pixels: an output that lacks some inputs is the weighted mean of the available ones.

This is the rule of GDAL's warper (``gdalwarpkernel.cpp``, ``GWKGeneralKernel`` and ``GWKAverageOrMode``), on which
rasterio's resampling is based: sums over the available pixels, divided by the sum of their weights. An output with all
its inputs has the bits of the plain resize.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import arguments
from ir_interp.errors import SpecError
from ir_interp.executor import definition
from ir_interp.executor.cases import Case, piece_of
from ir_interp.executor.definition import store
from ir_interp.executor.exact_weights import ExactSums, most_covered
from ir_interp.executor.resize import planned, prepared
from ir_interp.plan.integer_sums import Piece
from ir_interp.plan.taps import Plan
from ir_interp.shapes import Array
from ir_interp.specs import Alpha, Crop, IntegerRounding, Nearest, ResizeSpec

_LEAST = 1e-6  # a share of weights that GDAL divides by; a smaller sum is a rounding error


@dataclass(frozen=True, slots=True)
class Missing:
    """Which pixels are missing: those equal to ``nodata``, NaN included, in addition to those of a mask.

    An output is missing if available pixels have less than ``valid`` of its weights.
    """

    nodata: float | None = None
    valid: float = 0.0

    @classmethod
    def of(cls, nodata: Any, valid: Any) -> Missing:
        """Return the missing pixels of a caller's arguments. Raises SpecError unless they are numbers, and a share."""
        share = arguments.real(valid, "valid")
        if not 0 <= share <= 1:
            raise SpecError(f"valid is {share}; expected a share from 0 to 1")
        return cls(None if nodata is None else arguments.real(nodata, "nodata"), share)

    def marks(self, x: Array) -> NDArray[np.bool_]:
        """Return which pixels are missing, [*shape of x]. Raises SpecError for a value that ``x`` cannot hold."""
        marks = np.ma.getmaskarray(x) if isinstance(x, np.ma.MaskedArray) else np.zeros(x.shape, bool)
        if self.nodata is None:
            return marks
        values = np.ma.getdata(x)
        return marks | (np.isnan(values) if np.isnan(self.nodata) else values == self.value(x.dtype))

    def value(self, dtype: np.dtype[Any]) -> Any:
        """Return the nodata value as an element of ``dtype``. Raises SpecError if it cannot represent the value."""
        if dtype.kind == "f" and not np.isfinite(self.nodata or 0.0):
            return dtype.type(self.nodata)
        if dtype.kind not in "iuf":
            raise SpecError(f"nodata is {self.nodata}; pixels of type {dtype} have no such value")
        with np.errstate(all="ignore"):
            value = np.asarray(self.nodata).astype(dtype)[()]
        # A float32 file may specify -3.4e38 or 0.1 with as many digits as float64 has.
        if dtype.kind in "iu" and float(value) != self.nodata:
            raise SpecError(f"nodata is {self.nodata}; {dtype} cannot represent it")
        return value


def resize(
    x: Array,
    spec: ResizeSpec,
    missing: Missing,
    region: Sequence[slice] | None = None,
    whole: Sequence[int] | None = None,
) -> Array:
    """Return a resized array: masked if ``x`` is, otherwise with the nodata value in missing pixels.

    ``region`` and ``whole`` are those of ``ir_interp.resize``. Raises SpecError for a spec whose sums are not defined
    over some of its pixels.
    """
    bound = planned(spec, x.shape if whole is None else tuple(whole))
    piece = piece_of(bound, region)
    at_hand = x[piece.of_input(bound)] if whole is None else x
    y, gone = _run(np.ma.getdata(at_hand), missing.marks(at_hand), bound, piece, missing.valid)
    if missing.nodata is not None:
        y[gone] = missing.value(y.dtype)
    if not isinstance(x, np.ma.MaskedArray):
        return y
    masked: Array = np.ma.MaskedArray(y, gone, fill_value=x.fill_value)
    return masked


def _run(x: Array, missing: NDArray[np.bool_], bound: Plan, piece: Piece, valid: float) -> tuple[Array, Array]:
    """Return a piece of the output from the input that it needs, and which pixels are missing; they are 0."""
    check(bound)
    there = ~missing
    filled = np.where(there, x, np.zeros((), x.dtype))  # a missing pixel may be NaN, and 0 * NaN is NaN
    exact = _exact(filled, there, bound, piece)
    if exact is not None:
        y, shares = exact
        gone = (shares < 1) & ((shares < valid) | (shares < _LEAST))
        y[gone] = 0
        return y, gone
    y = prepared(bound, piece, x.dtype).run(filled, None)
    lacking = definition.marked(missing, bound, piece)
    if not lacking.any() or isinstance(bound.spec.kernel, Nearest):
        y[lacking] = 0
        return y, lacking
    shares = definition.run(there.astype(np.float64), bound, piece)
    sums = definition.run(filled.astype(np.float64), bound, piece)
    gone = lacking & ((shares < valid) | (shares < _LEAST))
    means = np.divide(sums, shares, out=np.zeros_like(sums), where=lacking & ~gone)
    stored = np.empty_like(y)
    rounds = bound.spec.rounds
    store(means, stored, rounds if isinstance(rounds, IntegerRounding) else IntegerRounding.HALF_EVEN)
    return np.where(lacking, stored, y), gone


def _exact(x: Array, there: NDArray[np.bool_], bound: Plan, piece: Piece) -> tuple[Array, Array] | None:
    """Return outputs of the available pixels and the shares of these, by exact weights; None for other resizes."""
    case = Case(bound, piece, x.dtype)
    y = np.empty(piece.shape, x.dtype)
    if case.counts:
        return y, most_covered(x, bound, piece, y, there)
    if not case.is_rational:
        return None
    if there.all():
        return prepared(bound, piece, x.dtype).run(x, y), np.ones(y.shape)
    sums = ExactSums(bound, piece)
    return y, sums.run_weighted(x, there.astype(np.uint8), y, sums)


def check(bound: Plan) -> None:
    """Raise SpecError for a resize whose sums are not defined over some of its pixels."""
    spec = bound.spec
    reasons = {
        "pads": any(map(any, bound.padding)),
        "a crop that extrapolates": isinstance(spec.coordinates, Crop),
        "alpha": spec.alpha is not Alpha.SEPARATE,
        "a step before the resize": spec.before is not None,
    }
    for reason, holds in reasons.items():
        if holds:
            raise SpecError(f"missing pixels cannot be combined with {reason}; fill the pixels, or leave that out")
