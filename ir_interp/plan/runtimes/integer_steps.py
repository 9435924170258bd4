"""Integer sums of runtimes: the steps, their number types, and the rounding of each.

A sum of float32 products near a half, or near an integer that is then truncated, is decided by its last bit. The
operations of a runtime are therefore repeated in its own order, derived by running onnxruntime 1.31 and OpenVINO
2026.4 on processors that fuse a product into a sum (docs/semantics.md names the tests).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.runtimes.integer_weights import Sampled, four, pair, whole
from ir_interp.plan.runtimes.onnxruntime_antialias import filtered
from ir_interp.spec import (
    Antialias,
    Border,
    Cubic,
    IntegerRounding,
    Integers,
    Linear,
    Nearest,
    ResizeSpec,
    SumRounding,
    Unrounded,
)

FIXED_BITS = 22
"""Bits of the integer weights that onnxruntime uses for 8-bit integers under antialias."""

CORNER_BITS = 10
"""The same along each axis of 8-bit images whose channels come last."""


_EIGHT_BITS = ("uint8", "int8")
ONNXRUNTIME_INTEGERS = (*_EIGHT_BITS, "int32")
"""The integer types that onnxruntime resizes."""

SPATIAL_AXES = {2: {0, 1}, 3: {0, 1, 2}, 4: {2, 3}, 5: {2, 3, 4}}
"""The axes of images and volumes, by rank, that onnxruntime's kernels resize."""

CHANNELS_LAST_AXES = {1, 2}
"""The same for images of rank 4 whose channels come last."""


class Sum(Enum):
    """The number type of a sum."""

    CHAIN = "chain"  # float32 products, added from the first to the last, each rounded
    FUSED = "fused"  # the first product rounded, each other one fused into the sum before that is rounded
    FIXED = "fixed"  # weights are integers over 2**22, rounded half up


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Along:
    """A sum along one axis, of ``indices`` and ``weights`` [out, taps], and its rounding."""

    axis: int
    indices: Any
    weights: Any
    sum: Sum
    rounding: SumRounding = Unrounded.KEPT


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Corners:
    """A sum over the corners of a cell, with products of the weights of its axes, then truncated.

    ``indices`` and ``weights`` have two columns for each of ``axes``. Weights are float32 numbers, or integers
    over 2**10 if ``fixed``.
    """

    axes: tuple[int, ...]
    indices: tuple[tuple[Any, Any], ...]
    weights: tuple[tuple[Any, Any], ...]
    fixed: bool


Step = Along | Corners


def sums_integers(spec: ResizeSpec, dtype: str | None) -> bool:
    """Return whether a resize weighs integers, which runtimes round in different ways."""
    return "int" in (dtype or "") and not isinstance(spec.kernel, Nearest)


def changing(bound: Plan) -> dict[int, AxisPlan]:
    """Return the axes of a plan whose values may change: all but those that have one pixel and keep it.

    If such an axis has a scale other than 1, onnxruntime chooses another kernel because of it.
    """
    by_scale = bound.spec.rounds is Integers.ONNXRUNTIME
    return {
        axis.axis: axis
        for axis in bound.axes
        if (axis.in_size, axis.out_size) != (1, 1) or (by_scale and axis.scale != 1)
    }


def axes_of_steps(spec: ResizeSpec, changing: frozenset[int], rank: int, dtype: str) -> tuple[int, ...] | None:
    """Return the axes for ``steps``, the last first; None if the summation of integers is unknown.

    ``changing`` are the axes whose values may change.
    """
    rule, kernel = spec.rounds, spec.kernel
    if not isinstance(kernel, Linear | Cubic) or not changing or _is_taken_apart(spec):
        return None
    last_first = tuple(sorted(changing, reverse=True))
    if rule is Integers.ONNXRUNTIME and dtype in ONNXRUNTIME_INTEGERS:
        if kernel.is_antialiased:
            return last_first
        return _cell(changing, rank) if isinstance(kernel, Linear) else None
    if rule is Integers.OPENVINO and not kernel.is_antialiased and not kernel.exclude_outside:
        # An image, or a volume by linear: beyond these, the order of the plugin's sums was not found.
        known = len(changing) <= (3 if isinstance(kernel, Linear) and rank != 4 else 2)
        return last_first if known else None
    if rule is Integers.OPENVINO and _in_passes(kernel, rank, dtype):
        return last_first
    return None


def _is_taken_apart(spec: ResizeSpec) -> bool:
    """Return whether a spec has features that no runtime has."""
    return spec.before is not None or spec.box is not None or spec.kernel.border is not Border.EDGE


def rounding_at_once(spec: ResizeSpec, dtype: str) -> IntegerRounding:
    """Return the rounding of a sum over all axes, if ``steps`` are unknown."""
    if cuts_off(spec, dtype):
        return IntegerRounding.CUT_OFF
    return spec.rounds if isinstance(spec.rounds, IntegerRounding) else IntegerRounding.HALF_EVEN


def cuts_off(spec: ResizeSpec, dtype: str) -> bool:
    """Return whether integers are truncated, as in onnxruntime for a linear resize without antialias."""
    is_plain = isinstance(spec.kernel, Linear) and not spec.kernel.is_antialiased
    return is_plain and spec.rounds is Integers.ONNXRUNTIME and dtype in ONNXRUNTIME_INTEGERS


def _cell(changing: frozenset[int], rank: int) -> tuple[int, ...] | None:
    """Return the axes of an image or a volume that onnxruntime interpolates at once."""
    layouts = (SPATIAL_AXES.get(rank, set()), CHANNELS_LAST_AXES if rank == 4 else set())
    axes = next((axes for axes in layouts if changing <= axes), None)
    return None if axes is None else tuple(sorted(axes, reverse=True))


def _in_passes(kernel: Linear | Cubic, rank: int, dtype: str) -> bool:
    """Return whether OpenVINO rounds after each axis: in Pillow modes, for 8-bit images."""
    return kernel.antialias is Antialias.SHRINKING and rank == 4 and dtype in _EIGHT_BITS


def steps(
    spec: ResizeSpec, axes: tuple[int, ...], sampled: Mapping[int, Sampled], rank: int, dtype: str
) -> Iterator[Step]:
    """Yield the steps in which the runtime of ``spec`` sums and rounds integers, in order.

    ``axes`` are those of ``axes_of_steps``.
    """
    kernel, rule = spec.kernel, spec.rounds
    assert isinstance(kernel, Linear | Cubic)
    if kernel.is_antialiased:
        # onnxruntime's antialias sums 8 bits as integers, others as float32.
        exact = rule is Integers.ONNXRUNTIME and dtype in _EIGHT_BITS
        rounding = IntegerRounding.HALF_AWAY if rule is Integers.ONNXRUNTIME else IntegerRounding.HALF_EVEN
        for axis in axes:
            indices, weights = filtered(kernel, sampled[axis])
            if exact:
                weights = whole(weights * 2.0**FIXED_BITS, sampled[axis].xp)
            yield Along(
                axis=axis,
                indices=indices,
                weights=weights,
                sum=Sum.FIXED if exact else Sum.CHAIN,
                rounding=IntegerRounding.CUT_OFF if exact else rounding,  # integral by then, but not yet clipped
            )
    elif rule is Integers.ONNXRUNTIME:
        # Its kernel for channels that come last weighs 8 bits by integers over 2**10; all others are float32.
        fixed = dtype in _EIGHT_BITS and rank == 4 and axes == (2, 1)
        pairs = [pair(sampled[axis], CORNER_BITS if fixed else 0) for axis in axes]
        yield Corners(
            axes=axes, indices=tuple(pair[0] for pair in pairs), weights=tuple(pair[1] for pair in pairs), fixed=fixed
        )
    else:
        yield from _at_once(kernel, axes, sampled, rank)


def _at_once(
    kernel: Linear | Cubic, axes: tuple[int, ...], sampled: Mapping[int, Sampled], rank: int
) -> Iterator[Step]:
    """Yield the steps of OpenVINO, which rounds once: width, then height, then depth."""
    for place, axis in enumerate(axes):
        if isinstance(kernel, Linear):
            (low, high), (near, far) = pair(sampled[axis])
            # the product that is rounded separately, before the other is fused; along the height the left one
            is_height = axis == _height(axes, rank)
            indices, weights = ((low, high), (near, far)) if is_height else ((high, low), (far, near))
        else:
            indices, weights = four(kernel, sampled[axis])
        rounding = IntegerRounding.HALF_EVEN if place == len(axes) - 1 else Unrounded.KEPT
        yield Along(axis=axis, indices=indices, weights=weights, sum=Sum.FUSED, rounding=rounding)


def _height(axes: tuple[int, ...], rank: int) -> int:
    """Return the axis of the height; for images whose channels come last it is axis 1."""
    return 1 if rank == 4 and set(axes) <= {1, 2} and 1 in axes else rank - 2
