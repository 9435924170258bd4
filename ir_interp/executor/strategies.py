"""The strategies of NumPy alone, and their cases: the first in ``STRATEGIES`` that accepts a case runs it.

All give the same bits wherever they accept the same case; they differ in cost. Bytes of few inputs are gathered or
sliced, which skips the zeros of a matrix; others are proposed by products of float32 matrices, the fastest sums that
NumPy has, and only outputs near a rounding boundary are summed again. Floats are summed tap by tap, since a product of
matrices has no defined order (``executor.definition``). The shortest stand here: slices added up in 16 bits for integer
factors, SciPy's sums over both axes at once, blocks of 16 bits that OpenCV adds four at a time, and alpha.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ir_interp.executor import byte_proposals, definition, library_sums, ordered_sums, tiles
from ir_interp.executor.cases import Case
from ir_interp.executor.definition import axes_in_order, rounded, store
from ir_interp.executor.exact_weights import ExactSums, most_covered
from ir_interp.executor.stages import tap_sum
from ir_interp.executor.threads import for_each, scratch, tile_elements
from ir_interp.plan.integer_sums import Piece, WholeSum, Windows, in_lowest_terms, taps_by_axis
from ir_interp.plan.library_passes import Pass, adds_fours, are_at_once
from ir_interp.plan.taps import Plan
from ir_interp.shapes import Array, Shape
from ir_interp.specs import IntegerRounding

_MOST = 2**15  # limit of a sum and of its rounding constant
_TILE_ELEMENTS = 2**18  # of inputs: as 16-bit numbers they nearly fit the second cache
_MOST_CHANNELS = 8  # up to here slices of one channel, which are long, are faster than those of all
_MIN_ELEMENTS = 2**13  # of an image, if there are many; a call of NumPy costs as much
_MIN_ELEMENTS_FOR_THREADS = 2**20  # of the output


@dataclass(frozen=True, slots=True)
class Even:
    """Sums along an axis with equal weights for all outputs, at equal distances: output 0 begins at input ``first``."""

    first: int
    step: int
    count: int
    weights: tuple[int, ...]

    def slices(self, start: int = 0, stop: int | None = None) -> Iterator[tuple[slice, int]]:
        """Yield, for each tap, the inputs of outputs ``start`` to ``stop``, and the weight."""
        length = (self.count if stop is None else stop) - start
        for tap, weight in enumerate(self.weights):
            begin = self.first + start * self.step + tap
            yield slice(begin, begin + (length - 1) * self.step + 1, self.step), weight


@dataclass(frozen=True, slots=True)
class Factors:
    """A resize of [outer, rows, columns, depth] to as many axes, over ``2**bits``."""

    shape_in: Shape
    shape_out: Shape
    rows: Even
    columns: Even
    bits: int
    to_even: bool


def even_of_sum(sums: WholeSum, shape: Shape, most: int) -> Factors | None:
    """Return a sum of arrays of a shape, no value above ``most``, by integer factors; None for any other sum."""
    sums = in_lowest_terms(sums)
    if len(sums.windows) != 2 or sums.rounding not in (IntegerRounding.HALF_EVEN, IntegerRounding.HALF_UP):
        return None
    rows, columns = sums.windows
    total = math.prod(int(window.weights[0].sum()) for window in sums.windows)
    is_mean = total == 2**sums.bits and min(window.weights.min() for window in sums.windows) >= 0
    along, across = _even(columns), _even(rows)
    if columns.axis != rows.axis + 1 or not is_mean or (most + 1) * total >= _MOST or not along or not across:
        return None
    outer, depth = math.prod(shape[: rows.axis]), math.prod(shape[columns.axis + 1 :])
    out_shape = (outer, across.count, along.count, depth)
    if outer > 1 and math.prod(out_shape[1:]) < _MIN_ELEMENTS:
        return None
    shape_in = (outer, shape[rows.axis], shape[columns.axis], depth)
    return Factors(shape_in, out_shape, across, along, sums.bits, sums.rounding is IntegerRounding.HALF_EVEN)


def _even(window: Windows) -> Even | None:
    steps = np.diff(window.first)
    if np.ptp(window.weights, axis=0).any() or (len(steps) and (steps[0] < 1 or np.ptp(steps))):
        return None
    step = int(steps[0]) if len(steps) else 1
    return Even(int(window.first[0]), step, len(window.first), tuple(window.weights[0].tolist()))


def run_strided_box(x: Array, y: Array, factors: Factors) -> None:
    """Fill ``y`` from ``x``."""
    source, target = x.reshape(factors.shape_in), y.reshape(factors.shape_out)
    row = factors.shape_in[2] * factors.shape_in[3]
    height = max(1, tile_elements(_TILE_ELEMENTS) // row)
    starts = [(item, start) for item in range(len(target)) for start in range(0, factors.rows.count, height)]

    def fill(place: tuple[int, int]) -> None:
        item, start = place
        stop = min(start + height, factors.rows.count)
        _fill(source[item], target[item, start:stop], start, stop, factors)

    for_each(starts, fill, are_shared=y.size > _MIN_ELEMENTS_FOR_THREADS, products=False)


def _fill(x: Array, y: Array, start: int, stop: int, factors: Factors) -> None:
    sums, total = scratch(0, (stop - start, *x.shape[1:]), _SHORT), scratch(1, y.shape, _SHORT)
    _add([(x[rows], weight) for rows, weight in factors.rows.slices(start, stop)], sums)
    taken = [(sums[:, columns], weight) for columns, weight in factors.columns.slices()]
    if y.shape[2] > _MOST_CHANNELS:
        _add(taken, total)
    else:
        for cell in range(y.shape[2]):
            _add([(values[:, :, cell], weight) for values, weight in taken], total[:, :, cell])
    if factors.bits:
        if factors.to_even:  # adds one less than a half, and 1 if the quotient is odd
            odd = scratch(2, y.shape, _SHORT)
            np.bitwise_and(np.right_shift(total, factors.bits, out=odd), 1, out=odd)
            np.add(total, odd, out=total)
        np.add(total, (1 << factors.bits - 1) - factors.to_even, out=total)
        np.right_shift(total, factors.bits, out=total)
    np.copyto(y, total, casting="unsafe")


_SHORT = np.dtype(np.int16)


def _add(terms: Sequence[tuple[Array, int]], total: Array) -> None:
    """Fill ``total`` with the sum of values times their weights; the first two are added at once if possible."""
    (first, weight), *others = terms
    if others and weight == others[0][1] == 1:
        np.add(first, others.pop(0)[0], out=total, dtype=_SHORT)
    else:
        np.multiply(first, weight, out=total, dtype=_SHORT)
    for values, weight in others:
        np.add(total, values if weight == 1 else np.multiply(values, weight, dtype=_SHORT), out=total, dtype=_SHORT)


_PART_ELEMENTS = 2**19  # of the output: sums and products of 64-bit floats stay in the cache


def run_at_once(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, resized, some rows of the first axis at a time."""
    steps = sorted(piece.passes(bound, x.dtype.name), key=lambda stage: stage.axis)
    if not steps:
        return x
    result = np.empty(piece.shape, x.dtype)
    first, others = steps[0], steps[1:]
    for rows in _parts(len(first.indices), math.prod(piece.shape)):
        part = _summed(x, first, others, rows)
        result[(slice(None),) * first.axis + (rows,)] = rounded(part, IntegerRounding.CUT_OFF, x.dtype)
    return result


def _parts(count: int, elements: int) -> Iterator[slice]:
    rows = max(1, count * _PART_ELEMENTS // max(1, elements))
    return (slice(start, start + rows) for start in range(0, count, rows))


def _summed(x: Array, first: Pass, others: list[Pass], rows: slice) -> Array:
    """Return the sums of some rows plus a half, which SciPy cuts off.

    That float64 sum is 1 for the largest float below a half, where rounding to the nearest gives 0.
    """
    total: Array | None = None
    for taps in itertools.product(*(range(stage.indices.shape[1]) for stage in (first, *others))):
        term = x.take(first.indices[rows, taps[0]], first.axis) * _along(first, taps[0], x.ndim)[rows]
        for stage, tap in zip(others, taps[1:], strict=True):
            term = term.take(stage.indices[:, tap], stage.axis) * _along(stage, tap, x.ndim)
        total = term if total is None else total + term
    assert total is not None
    return np.asarray(total + np.copysign(0.5, total))


def _along(step: Pass, tap: int, rank: int) -> Array:
    """Return the weights of a tap, to be multiplied along their axis."""
    return np.asarray(step.weights[:, tap].reshape((-1,) + (1,) * (rank - step.axis - 1)))


def run_in_fours(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, averaged in blocks, whose rows are added sequentially."""
    apart = x[..., None]
    for stage in piece.passes(bound, x.dtype.name):  # the width, then the height
        taken = stage.indices[stage.weights > 0].reshape(len(stage.indices), -1)
        blocks = np.moveaxis(np.take(apart, taken, axis=stage.axis), stage.axis + 1, -2)
        apart = blocks.reshape(*blocks.shape[:-2], -1)
    count = apart.shape[-1]
    whole = count // 4 * 4
    # OpenCV adds four pixels in integers, and these sums sequentially in float32.
    fours = apart[..., :whole].reshape(*apart.shape[:-1], -1, 4).sum(axis=-1)
    terms = np.concatenate([fours, apart[..., whole:]], axis=-1).astype(np.float32)
    means = np.add.accumulate(terms, axis=-1)[..., -1] * (np.float32(1) / np.float32(count))
    return rounded(means, IntegerRounding.HALF_EVEN, x.dtype).astype(x.dtype)


_OPAQUE = 255


def multiplied_by_alpha(x: Array) -> Array:
    """Return an image whose other channels are multiplied by the last, over 255, rounded."""
    wide = x.astype(np.uint32)
    product = wide[..., :-1] * wide[..., -1:] + 128
    return np.concatenate([((product >> 8) + product) >> 8, wide[..., -1:]], axis=-1).astype(x.dtype)


def divided_by_alpha(x: Array) -> Array:
    """Return an image whose other channels are divided by the last, over 255, truncated; unchanged where that is 0."""
    wide = x.astype(np.uint32)
    alpha = wide[..., -1:]
    # The product of two bytes needs 16 bits, and a colour above its alpha would exceed 255.
    quotient = np.minimum(wide[..., :-1] * _OPAQUE // np.maximum(alpha, 1), _OPAQUE)
    unchanged = (alpha == 0) | (alpha == _OPAQUE)
    return np.concatenate([np.where(unchanged, wide[..., :-1], quotient), alpha], axis=-1).astype(x.dtype)


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
    factors = even_of_sum(case.exact_sums[0], case.padded, max(bounds.max, -bounds.min))
    return partial(run_strided_box, factors=factors) if factors else None


def _two_tap_gather(case: Case) -> Run | None:
    if case.is_premultiplied:
        return None
    pairs = None
    if len(case.exact_sums) == 1:
        pairs = byte_proposals.pairs_of_sum(case.exact_sums[0], case.padded)
    elif len(case.byte_passes) == 2:
        pairs = byte_proposals.shortened(*case.byte_passes, case.padded)
    return partial(byte_proposals.run_gather, pairs=pairs) if pairs else None


def _float_proposal(case: Case) -> Run | None:
    proposals, shape = [], case.padded
    for exact_sum in case.exact_sums:
        proposals.append(byte_proposals.proposed(exact_sum, shape, case.dtype))
        shape = proposals[-1].shape
    return partial(byte_proposals.run_proposal, proposals=tuple(proposals)) if proposals else None


def _ordered_proposal(case: Case) -> Run | None:
    if not case.byte_passes:
        return None
    in_ipp_order = case.is_of_ipp and library_sums.proposed_ipp(case.bound, case.piece, case.padded)
    proposal = in_ipp_order or byte_proposals.chains(case.byte_passes, case.padded)
    return partial(byte_proposals.run_proposal, proposals=(proposal,)) if proposal else None


def _library_passes(case: Case) -> Run | None:
    if not case.is_in_passes:
        return None
    bound, piece, sums = case.bound, case.piece, library_sums.run_passes
    if case.is_of_ipp:
        sums = library_sums.run_ipp
    elif adds_fours(bound, case.dtype.name):
        sums = run_in_fours
    elif are_at_once(bound):
        sums = run_at_once

    def run(x: Array, y: Array) -> None:
        y[...] = sums(x, bound, piece)

    of_all = replace(piece, outputs=(*piece.outputs[:-1], piece.inputs[-1]))  # channels, which are the same in and out

    def run_premultiplied(x: Array, y: Array) -> None:
        whole = divided_by_alpha(sums(multiplied_by_alpha(x), bound, of_all))
        y[...] = whole[..., slice(*piece.outputs[-1])]

    return run_premultiplied if case.is_premultiplied else run


def _runtime_integer_sums(case: Case) -> Run | None:
    steps = case.runtime_steps

    def run(x: Array, y: Array) -> None:
        y[...] = ordered_sums.run_steps(x, steps, case.piece)

    return run if steps else None


def _value_that_covers_most(case: Case) -> Run | None:
    if not case.counts:
        return None

    def run(x: Array, y: Array) -> None:
        most_covered(x, case.bound, case.piece, y)

    return run


def _exact_sums(case: Case) -> Run | None:
    if not case.is_rational:
        return None
    if not case.is_premultiplied:
        return ExactSums(case.bound, case.piece).run
    channels = case.padded[-1]
    of_colours, of_alpha = (
        ExactSums(case.bound, replace(case.piece, **{side: (*edges[:-1], (0, count)) for side, edges in sides.items()}))
        for sides in [{"outputs": case.piece.outputs, "inputs": case.piece.inputs}]
        for count in (channels - 1, 1)
    )

    def run(x: Array, y: Array) -> None:
        whole = np.empty((*y.shape[:-1], channels), y.dtype)
        of_alpha.run(x[..., -1:], whole[..., -1:])
        of_colours.run_weighted(x[..., :-1], x[..., -1:], whole[..., :-1], of_alpha)
        y[...] = whole[..., slice(*case.piece.outputs[-1])]

    return run


def _tap_sums(case: Case) -> Run:
    piece = of_channels(case.piece) if case.is_premultiplied else case.piece
    taps = taps_by_axis(case.bound, piece)
    ordered = {axis.axis: taps[axis.axis] for axis in axes_in_order(case.bound)}
    plan_of_tiles = tiles.tiled(ordered, piece.by_itself, case.work, tap_sum, tiles.MIN_ELEMENTS_FOR_THREADS)

    def finish(values: Array, target: Array, _: tiles.Tile) -> None:
        if case.dtype == np.float16:
            definition.store_float16(values, target)
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
    Strategy("value that covers most", _value_that_covers_most),
    Strategy("exact sums", _exact_sums),  # integers of this program's own resize, where the sums of bytes are not exact
    Strategy("tap sums in tiles", _tap_sums),  # copies, floats, and integers that are rounded once
)
