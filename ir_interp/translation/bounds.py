"""Bound on the difference of two resizes of one meaning on integers, for any image: derived, not measured.

Each resize is a chain of sums. The error that one adds to the exact value is bounded link by link: the error of its
rounded weights, that of float32, the rounding between two axes, and the clipping there to the range of the type. A
link's error is weighted by the later links. At the end both are rounded and clipped, which never increases the
difference.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ir_interp.array_types import Array
from ir_interp.errors import SpecError
from ir_interp.executor.strategies.runtime_integer_sums import columns, planned
from ir_interp.plan.axes.geometry import Plan, plan
from ir_interp.plan.axes.taps import Taps, axis_taps
from ir_interp.plan.libraries.passes import Pass, are_named, passes
from ir_interp.plan.libraries.pillow_reduce import Reduced, reduced
from ir_interp.plan.pieces import whole
from ir_interp.plan.runtimes.integer_steps import CORNER_BITS, FIXED_BITS, Along, Corners, Sum, rounding_at_once
from ir_interp.spec import Alpha, IntegerRounding, Nearest, ResizeSpec, Smooth, SumRounding, Unrounded
from ir_interp.translation.agreement import difference_of_floats, entries_of, taps_by_axis

_SINGLE, _DOUBLE = 2.0**-24, 2.0**-53  # half a unit in the last place of 1
_TABLED = 2.0**-17  # largest rounding error of a weight where sums of bytes are integers (``plan.exact_sums``)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """A sum along an axis whose ``weights`` sum to about 1, and its rounding.

    ``loss`` is the further error of a sum, in pixel values; ``unit`` the relative rounding error of each operation;
    ``radius`` the largest shift by the rounding that follows, and ``is_cut`` whether the sum is then clipped to the
    range of the type.
    """

    axis: int
    indices: Array
    weights: Array
    loss: float = 0.0
    unit: float = 0.0
    radius: float = 0.0
    is_cut: bool = False


def within(first: ResizeSpec, second: ResizeSpec, shape: tuple[int, ...], dtype: str) -> int | None:
    """Return the largest difference of the integers of two specs; None if they weight other pixels, or it is unknown.

    For copies it is 0. Blocks that both average first leave both with the same pixels. Colours that are divided by
    their alpha may differ by the whole range of values, since alpha may be near 0. Specs without a target are not an
    error; their difference is unknown.
    """
    kind = np.dtype(dtype)
    if kind.kind not in "iu" or first.alpha is not second.alpha:
        return None
    if first.alpha is Alpha.PREMULTIPLIED:
        plain = [replace(spec, alpha=Alpha.SEPARATE) for spec in (first, second)]
        return within(plain[0], plain[1], shape, dtype) and int(np.iinfo(kind).max)
    if first.before or second.before:
        return _after_blocks(first, second, shape, dtype)
    if difference_of_floats(first, second, shape) is not None:
        return None
    if isinstance(first.kernel, Nearest):
        return 0
    try:
        chains = [tuple(_links(plan(spec, shape), dtype)) for spec in (first, second)]
    except SpecError:  # sums of other integers
        return None
    exact = taps_by_axis(plan(first, shape))
    bounds = float(np.iinfo(kind).min), float(np.iinfo(kind).max)
    cuts = [[(link.axis, link.is_cut) for link in chain] for chain in chains]
    total = 0.0
    for chain in chains:
        compared = [(link, *_side_by_side(link, exact)) for link in chain]
        total += _error(compared, bounds) + (0.0 if cuts[0] == cuts[1] else _cut(compared, bounds))
    # Both results are integers, and so is their difference.
    return math.floor(total + _DOUBT)


_DOUBT = 1e-9  # of the sums here


def _after_blocks(first: ResizeSpec, second: ResizeSpec, shape: tuple[int, ...], dtype: str) -> int | None:
    """Return the largest difference of two specs of which one averages blocks; both must average the same ones."""
    if any(isinstance(spec.before, Smooth) or spec.pads for spec in (first, second)):
        return None
    blocks = [reduced(spec, shape) for spec in (first, second)]
    match blocks:
        case None, None:
            return within(replace(first, before=None), replace(second, before=None), shape, dtype)
        case Reduced() as one, Reduced() as other if one.blocks == other.blocks:
            return within(one.spec, other.spec, one.shape, dtype)
        case _:
            return None


def _links(bound: Plan, dtype: str) -> Iterator[Link]:
    """Yield the sums of a plan in order."""
    if are_named(bound):
        yield from _of_passes(passes(bound, dtype))
        return
    steps = planned(bound, dtype, whole(bound).outputs)
    if steps is not None:
        for step in steps:
            yield from _of_corners(step) if isinstance(step, Corners) else [_of_step(step)]
        return
    rounding = rounding_at_once(bound.spec, dtype)
    for place, (axis, taps) in enumerate(zip(bound.axes, axis_taps(bound), strict=True)):
        if taps.weights is None:  # copies, as of a box that grows
            link = Link(axis=axis.axis, indices=taps.indices, weights=np.ones(taps.indices.shape), unit=0.0)
        else:
            link = Link(axis=axis.axis, indices=taps.indices, weights=taps.weights, unit=_SINGLE)
            link = replace(link, loss=_TABLED * taps.indices.shape[1] * np.iinfo(dtype).max)
        yield _ended(link, rounding) if place == len(bound.axes) - 1 else link


def _ended(link: Link, rounding: SumRounding) -> Link:
    return link if rounding is Unrounded.KEPT else replace(link, radius=_RADII.get(rounding, 0.5), is_cut=True)


_RADII = {IntegerRounding.CUT_OFF: 1.0}  # other roundings move a sum by half at most


def _of_step(step: Along) -> Link:
    fixed = step.sum is Sum.FIXED
    weights = np.stack(columns(step.weights), axis=1).astype(np.float64) * (2.0**-FIXED_BITS if fixed else 1.0)
    indices = np.stack(columns(step.indices), axis=1).astype(np.intp)
    link = Link(axis=step.axis, indices=indices, weights=weights, unit=0.0 if fixed else _SINGLE)
    return replace(link, radius=0.5, is_cut=True) if fixed else _ended(link, step.rounding)


def _of_corners(step: Corners) -> Iterator[Link]:
    pairs = zip(step.axes, step.indices, step.weights, strict=True)
    for place, (axis, indices, weights) in enumerate(pairs):
        one = 2.0**CORNER_BITS if step.fixed else 1.0
        link = Link(
            axis=axis,
            indices=np.stack(indices, axis=1).astype(np.intp),
            weights=np.stack(weights, axis=1).astype(np.float64) / one,
            unit=0.0 if step.fixed else _SINGLE,
        )
        yield _ended(link, IntegerRounding.CUT_OFF) if place == len(step.axes) - 1 else link


def _of_passes(stages: Sequence[Pass]) -> Iterator[Link]:
    """Yield passes with weights over powers of two, or over counts, scaled such that they sum to about 1."""
    scale = 1.0  # scale of the values that enter a pass: the current value of a pixel of 1
    for step in stages:
        total = float(2.0 ** round(math.log2(step.weights.sum(axis=1).max()))) if _is_whole(step) else 1.0
        if step.factor != 1.0:
            total = 1 / step.factor / scale
        elif step.rounding is not Unrounded.KEPT and _is_whole(step):
            total = 2.0 ** (step.bits_before + step.bits_each + step.bits_after) / scale
        weights, taps = step.weights / total, step.weights.shape[1]
        most = np.abs(weights).sum(axis=1).max(initial=0.0)
        # Truncated bits of values count as often as these are weighted; those of products once for each tap.
        loss = most * (2.0**step.bits_before - 1) / scale + (taps * 2.0**-step.bits_after if step.bits_each else 0.0)
        link = Link(axis=step.axis, indices=step.indices, weights=weights, loss=loss, unit=_unit(step))
        yield _ended(link, step.rounding)
        scale = scale * total if step.rounding is Unrounded.KEPT else 1.0


def _is_whole(step: Pass) -> bool:
    return step.weights.dtype.kind != "f"


def _unit(step: Pass) -> float:
    if step.factor != 1.0 or step.weights.dtype == np.float32 or step.is_turned:
        return _SINGLE
    return _DOUBLE if step.weights.dtype == np.float64 else 0.0


def _side_by_side(link: Link, exact: Mapping[int, Taps]) -> tuple[Array, Array, Array]:
    """Return the output, the exact weight and the link's weight of every pixel that either weights."""
    copies = Taps(np.arange(len(link.indices))[:, None], None)
    both = exact.get(link.axis, copies), Taps(link.indices, link.weights)
    size = 1 + max(int(taps.indices.max(initial=0)) for taps in both)
    entries = [entries_of(taps, size) for taps in both]
    keys = np.unique(np.concatenate([key for key, _ in entries]))
    weights = [np.bincount(np.searchsorted(keys, key), values, len(keys)) for key, values in entries]
    return keys // (size + 1), weights[0], weights[1]


Compared = Sequence[tuple[Link, Array, Array, Array]]
"""The links of a chain, each with its exact counterpart."""


def _error(chain: Compared, bounds: tuple[float, float]) -> float:
    """Return the largest difference of a chain from the exact one with the same clipping, after the last rounding."""
    (low, high), error = bounds, 0.0
    for link, rows, weights, others in chain:
        most = _largest(rows, np.abs(others))
        lacking = max(_largest(rows, _times(sign * (others - weights), low, high)) for sign in (1, -1))
        summed = link.unit * (link.weights.shape[1] + 2) * most * max(abs(low), abs(high))
        # The error so far is amplified by the sum of absolute weights, which exceeds 1 for kernels with negative lobes.
        error = error * most + lacking + summed + link.loss + link.radius
        low, high = _range(rows, weights, low, high)
        if link.is_cut:
            low, high = max(low, bounds[0]), min(high, bounds[1])
    return error


def _times(weights: Array, low: float, high: float) -> Array:
    """Return the largest contribution of each pixel to a sum, for values from ``low`` to ``high``."""
    return np.maximum(weights * low, weights * high)


def _largest(rows: Array, values: Array) -> float:
    return float(np.bincount(rows, values).max(initial=0.0))


def _range(rows: Array, weights: Array, low: float, high: float) -> tuple[float, float]:
    """Return the least and the largest sum of pixels from ``low`` to ``high``."""
    return -float(np.bincount(rows, _times(-weights, low, high)).max()), _largest(rows, _times(weights, low, high))


def _cut(chain: Compared, bounds: tuple[float, float]) -> float:
    """Return the largest difference of an exact chain clipped between its links from one clipped at the end only."""
    (low, high), apart = bounds, 0.0
    for place, (link, rows, weights, _) in enumerate(chain):
        if apart:
            alone = place == len(chain) - 1 and len(chain) == 2
            apart = _seen(rows, weights, (low, high), bounds) if alone else apart * _largest(rows, np.abs(weights))
        low, high = _range(rows, weights, low, high)
        if link.is_cut and place < len(chain) - 1:
            apart += max(high - bounds[1], bounds[0] - low, 0.0)
    return apart


# Every share gives a valid bound, so a finer grid only makes it tighter.
_SHARES = np.linspace(0.0, 1.0, 11)


def _seen(rows: Array, weights: Array, reach: tuple[float, float], bounds: tuple[float, float]) -> float:
    """Return the largest difference of sums of clipped values from those of unclipped ones, both clipped at the end.

    The unclipped values are within ``reach``. For two sums, T the larger, M the largest value: min(T, M) <= a T +
    (1 - a) M, and max(C, 0) >= b C, for all a and b from 0 to 1. That is a sum over pixels again, with each pixel at
    its own worst case. The least over a and b holds.
    """
    span = bounds[1] - bounds[0]
    places = np.array([reach[0] - bounds[0], 0.0, span, reach[1] - bounds[0]])
    cut = np.clip(places, 0.0, span)
    worst = 0.0
    for larger, smaller in ((places, cut), (cut, places)):
        sums = [
            np.bincount(rows, (weights[:, None] * (a * larger - b * smaller)).max(axis=1)) + (1 - a) * span
            for a, b in itertools.product(_SHARES, _SHARES)
        ]
        worst = max(worst, float(np.min(sums, axis=0).max(initial=0.0)))
    return worst
