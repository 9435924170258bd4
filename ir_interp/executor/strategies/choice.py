"""The strategies of NumPy alone, and their cases: the first in ``STRATEGIES`` that accepts a case runs it.

All give the same bits wherever they accept the same case; they differ in cost. Bytes of few inputs are gathered or
sliced, which skips the zeros of a matrix; others are proposed by products of float32 matrices, the fastest sums that
NumPy has, and only outputs near a rounding boundary are summed again. Floats are summed tap by tap, since a product of
matrices has no defined order (``executor.definition``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays import float16, tiles
from ir_interp.executor.arrays.store import store
from ir_interp.executor.axis_order import in_order
from ir_interp.executor.strategies import (
    float_proposal,
    library_passes,
    opencv_area_in_fours,
    opencv_ipp,
    ordered_proposal,
    premultiplied_alpha,
    runtime_integer_sums,
    strided_box,
    sums_at_once,
    two_tap_gather,
)
from ir_interp.executor.strategies.case import Case
from ir_interp.executor.strategies.tap_sums import build
from ir_interp.plan.libraries.opencv_sums import adds_fours
from ir_interp.plan.libraries.passes import are_at_once
from ir_interp.plan.pieces import Piece, taps_by_axis

Run = Callable[[Array, Array], None]
"""Fills ``y`` from ``x``, which is padded already."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to compute a resize: ``of`` returns the runner of a case, or None for a case of another strategy."""

    name: str
    of: Callable[[Case], Run | None]


def chosen(case: Case) -> tuple[Strategy, Run]:
    """Return the strategy of a case, and its runner."""
    for strategy in STRATEGIES:
        run = strategy.of(case)
        if run is not None:
            return strategy, run
    raise AssertionError("tap sums in tiles take every case")


def _strided_box(case: Case) -> Run | None:
    if len(case.exact_sums) != 1 or case.is_premultiplied:
        return None
    bounds = np.iinfo(case.dtype)
    factors = strided_box.of_sum(case.exact_sums[0], case.padded, max(bounds.max, -bounds.min))
    return partial(strided_box.run, factors=factors) if factors else None


def _two_tap_gather(case: Case) -> Run | None:
    if case.is_premultiplied:
        return None
    pairs = None
    if len(case.exact_sums) == 1:
        pairs = two_tap_gather.of_sum(case.exact_sums[0], case.padded)
    elif len(case.byte_passes) == 2:
        pairs = two_tap_gather.shortened(*case.byte_passes, case.padded)
    return partial(two_tap_gather.run, pairs=pairs) if pairs else None


def _float_proposal(case: Case) -> Run | None:
    proposals, shape = [], case.padded
    for exact_sum in case.exact_sums:
        proposals.append(float_proposal.proposed(exact_sum, shape, case.dtype))
        shape = proposals[-1].shape
    return partial(float_proposal.run, proposals=tuple(proposals)) if proposals else None


def _ordered_proposal(case: Case) -> Run | None:
    if not case.byte_passes:
        return None
    in_ipp_order = case.is_of_ipp and opencv_ipp.proposed(case.bound, case.piece, case.padded)
    proposal = in_ipp_order or ordered_proposal.chains(case.byte_passes, case.padded)
    return partial(float_proposal.run, proposals=(proposal,)) if proposal else None


def _library_passes(case: Case) -> Run | None:
    if not case.is_in_passes:
        return None
    bound, piece, sums = case.bound, case.piece, library_passes.run
    if case.is_of_ipp:
        sums = opencv_ipp.run
    elif adds_fours(bound, case.dtype.name):
        sums = opencv_area_in_fours.run
    elif are_at_once(bound):
        sums = sums_at_once.run

    def run(x: Array, y: Array) -> None:
        y[...] = sums(x, bound, piece)

    of_all = replace(piece, outputs=(*piece.outputs[:-1], piece.inputs[-1]))  # channels, which are the same in and out

    def run_premultiplied(x: Array, y: Array) -> None:
        whole = premultiplied_alpha.divided(sums(premultiplied_alpha.multiplied(x), bound, of_all))
        y[...] = whole[..., slice(*piece.outputs[-1])]

    return run_premultiplied if case.is_premultiplied else run


def _runtime_integer_sums(case: Case) -> Run | None:
    steps = case.runtime_steps

    def run(x: Array, y: Array) -> None:
        y[...] = runtime_integer_sums.run(x, steps, case.piece)

    return run if steps else None


def _tap_sums(case: Case) -> Run:
    piece = of_channels(case.piece) if case.is_premultiplied else case.piece
    taps = taps_by_axis(case.bound, piece)
    ordered = {axis.axis: taps[axis.axis] for axis in in_order(case.bound)}
    plan_of_tiles = tiles.tiled(ordered, piece.by_itself, case.work, build, tiles.MIN_ELEMENTS_FOR_THREADS)

    def finish(values: Array, target: Array, _: tiles.Tile) -> None:
        if case.dtype == np.float16:
            float16.store(values, target)
        else:
            store(values, target, case.rounding)

    def run(x: Array, y: Array) -> None:
        x = x[..., slice(*case.piece.outputs[-1])] if case.is_premultiplied else x
        tiles.run(x, y, plan_of_tiles, case.work, finish)

    return run


def of_channels(piece: Piece) -> Piece:
    """Return a piece restricted to the channels of its output; with alpha to all, since the last changes the others."""
    return replace(piece, inputs=(*piece.inputs[:-1], piece.outputs[-1]))


STRATEGIES = (
    Strategy("strided box", _strided_box),  # bytes that shrink by integer factors: slices, added up in 16 bits
    Strategy("two-tap gather", _two_tap_gather),  # bytes of two neighbours per axis, of few columns
    Strategy("float proposal and exact re-sum", _float_proposal),  # other bytes that are rounded once, or after an axis
    Strategy("float proposal and ordered re-sum", _ordered_proposal),  # bytes that a library sums in floats, in order
    Strategy("library passes", _library_passes),  # the other integers of image libraries
    Strategy("runtime-ordered integer sums", _runtime_integer_sums),  # integers as in onnxruntime and OpenVINO
    Strategy("tap sums in tiles", _tap_sums),  # copies, floats, and integers that are rounded once
)
