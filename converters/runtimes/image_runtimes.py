"""Properties that runtimes for images share: they resize height and width of float32, and misread some attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import replace
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.formulas import AxisPlan
from ir_interp.plan.taps import axis_taps, plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, static_shape
from ir_interp.specs import (
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Kernel,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)

from .outcome import Outcome, Reading, changing_axes, computes, differs, geometry, settled, unknown

Floats = NDArray[np.float32]
Place = Callable[[Floats, AxisPlan, np.float32, np.float32], Floats]
"""Returns the source coordinates of outputs of an axis, with an offset before and after scaling."""
Rounded = Callable[[Floats, Rounding], Array]

_RANK = 4  # [batch, channels, height, width]
HEIGHT_AND_WIDTH = frozenset({2, 3})
_HALF = 0.5
_TIES = "float32 decides ties differently"
SHIFTS_UNRESIZED = "its tf_half_pixel_for_nn shifts an axis that keeps its size by half a pixel"
NO_TIE = "float32 decides no tie differently"
_LONG = 1024  # larger than images that are resized by integral scales
_FLOAT32 = frozenset({"float32"})
FLOATS = frozenset({"float32", "float16"})
ALL_TYPES = FLOATS | {"uint8", "int8"}
_FROM_THE_MIDDLE = (Coordinates.HALF_PIXEL, Coordinates.PYTORCH_HALF_PIXEL, Coordinates.HALF_PIXEL_SYMMETRIC)


def image_outcome(
    op: ResizeOp,
    may_change: Set[int],
    readings: Sequence[Reading],
    place: Place | None = None,
    rounded: Rounded | None = None,
    dtypes: Set[str] = _FLOAT32,
    axes: Set[int] = HEIGHT_AND_WIDTH,
) -> Outcome:
    """Return the outcome of a node in a runtime with this reading; unknown if no rule covers it.

    ``may_change`` are the axes whose sizes may change; ``place`` and ``rounded`` are as in ``read_outcome``.
    ``dtypes`` are the element types that the rules cover, ``axes`` those that the runtime resizes.
    """
    uncovered = _no_image(op, dtypes)
    if uncovered:
        return unknown(uncovered)
    # Dimensions that keep their size cannot matter; with a number in place of each, more rules can decide.
    op, stated = settled(op), op
    spec, reasons, provided = op.spec, [], []
    if changing_axes(op, may_change) - axes:
        spec, reasons = of_last_two(spec), ["it resizes the last two axes only"]
    elif not may_change <= axes:
        provided.append(f"axes {sorted(may_change - axes)} keep their sizes")
    spec, reading_reasons = _read(spec, readings)
    # Before ties: an axis that keeps its size is moved by half a pixel whatever float32 does.
    if _places_matter(spec):
        unresized = _keeping(op, spec)
        if unresized and _takes_what_is_meant(op, spec, unresized, place or _shifted_twice, rounded or to_pixels):
            return computes(op.spec)
        if unresized:
            is_open = stated.shape is not None and all(stated.shape[axis] is None for axis in unresized)
            return differs(SHIFTS_UNRESIZED, f"axes {sorted(unresized)} are longer than 1" if is_open else "")
        provided += ["height and width both change"] if geometry(op) is None else []
    # With integral scales, ties repeat after a few pixels, so long axes show all of them.
    known = _of_whole_scales(op)
    moved = _of_ties(known, spec, place or _shifted_twice, rounded or to_pixels)
    if moved is not None:
        return moved
    provided += [NO_TIE] if may_change and ties_are_open(op) else []
    return computes(spec, "; ".join(reasons + reading_reasons), " and ".join(provided))


def read_outcome(
    op: ResizeOp, readings: Sequence[Reading], place: Place | None = None, rounded: Rounded | None = None
) -> Outcome:
    """Return the outcome of a node of any rank in a runtime with this reading.

    ``place`` is the float32 source coordinate, by default (i + before) * step - after, and ``rounded``
    finds a pixel there.
    """
    spec, reasons = _read(op.spec, readings)
    moved = _of_ties(op, spec, place or _shifted_twice, rounded or to_pixels)
    return computes(spec, "; ".join(reasons)) if moved is None else moved


def _read(spec: ResizeSpec, readings: Sequence[Reading]) -> tuple[ResizeSpec, list[str]]:
    """Return the resize as which a node is read, and the readings that change it."""
    reasons = []
    for reading in readings:
        taken = reading.of(spec)
        reasons += [reading.reason] if taken != spec else []
        spec = taken
    return spec, reasons


def of_last_two(spec: ResizeSpec) -> ResizeSpec:
    """Return a resize of every axis without the first two."""
    return replace(spec, axes=tuple(range(_RANK))).only(sorted(HEIGHT_AND_WIDTH))


def _no_image(op: ResizeOp, dtypes: Set[str]) -> str:
    if op.dtype not in dtypes:
        return of_type(op)
    if op.shape is None or len(op.shape) != _RANK:
        return f"a Resize of other ranks than {_RANK}"
    if op.attributes.get("axes") is not None:
        return "a Resize with axes"
    return crop_or_policy(op)


def of_type(op: ResizeOp) -> str:
    """Return the words for a resize of an element type that no rule covers."""
    return f"a Resize of {op.dtype or 'an unknown element type'}"


def crop_or_policy(op: ResizeOp) -> str:
    """Return the words for a resize that crops or has an aspect policy; empty for others."""
    stretches = op.spec.aspect is Aspect.STRETCH and not isinstance(op.spec.coordinates, Crop)
    return "" if stretches else "a crop, or a keep_aspect_ratio_policy"


def ties_are_open(op: ResizeOp) -> bool:
    """Return whether dynamic dimensions decide the float32 ties of a nearest resize."""
    return isinstance(op.spec.kernel, Nearest) and geometry(_of_whole_scales(op)) is None


def _of_whole_scales(op: ResizeOp) -> ResizeOp:
    """Return a resize by integral scales with long axes for dynamic ones: its ties depend on scales alone.

    Those of align_corners do not: they depend on the sizes.
    """
    values = op.spec.target.values if isinstance(op.spec.target, Scales) else (0.5,)
    by_lengths = op.spec.coordinates is Coordinates.ALIGN_CORNERS
    if op.shape is None or by_lengths or any(value % 1 for value in values):
        return op
    return replace(op, shape=tuple(n or _LONG for n in op.shape))


def _places_matter(spec: ResizeSpec) -> bool:
    """Return whether coordinates (i + 1/2) affect an axis that keeps its size: it is a copy in ONNX."""
    return spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN and not rounds_down(spec.kernel)


def rounds_down(kernel: Kernel) -> bool:
    """Return whether half a pixel more makes no difference to a pixel at an integral coordinate."""
    return isinstance(kernel, Nearest) and kernel.rounding in (Rounding.FLOOR, Rounding.ROUND_PREFER_FLOOR)


def _keeping(op: ResizeOp, spec: ResizeSpec) -> Set[int]:
    """Return which of height and width are known to keep their pixels: their size, or by scales a 1."""
    at, target, shape = geometry(op), op.spec.target, op.shape or ()
    if at is not None:
        resized = at.changing if spec.step is Step.RATIO else at.scaled
        return {axis for axis in HEIGHT_AND_WIDTH - resized if at.in_sizes[axis] > 1}
    values = target.values if isinstance(target, Sizes | Scales) else ()
    same = (1.0,) * len(values) if isinstance(target, Scales) else shape
    unresized = (axis for axis, (value, stays) in enumerate(zip(values, same, strict=False)) if value == stays)
    return {axis for axis in unresized if shape[axis] != 1} & HEIGHT_AND_WIDTH


def _of_ties(op: ResizeOp, spec: ResizeSpec, place: Place, rounded: Rounded) -> Outcome | None:
    """Return the outcome of a nearest resize of static shape where float32 gives other pixels than ``spec``.

    None if it gives the same. They may be the pixels that the node means, whose rounding is not that of ``spec``.
    """
    shape = static_shape(op.shape)
    if not isinstance(spec.kernel, Nearest) or shape is None or spec.waits:
        return None
    pixels = _taken(spec, spec.kernel, shape, place, rounded)
    if pixels == _pixels_of(spec, shape):
        return None
    # Two deviations may cancel: another rounding, and float32 on the other side of the tie.
    is_meant = isinstance(op.spec.kernel, Nearest) and pixels == _pixels_of(op.spec, shape)
    return computes(op.spec) if is_meant else differs(_TIES)


def _taken(
    spec: ResizeSpec, kernel: Nearest, shape: tuple[int, ...], place: Place, rounded: Rounded
) -> dict[int, list[int]]:
    """Return the pixels that a runtime takes along each axis that changes."""
    # ONNX adds a half before it scales, and takes it off after, for coordinates from the middle only.
    before = 0.0 if spec.coordinates in (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS) else _HALF
    after, pixels = _HALF if spec.coordinates in _FROM_THE_MIDDLE else 0.0, {}
    for axis in plan(spec, shape).axes:
        outputs = np.arange(axis.out_size, dtype=np.float32)
        at = place(outputs, axis, np.float32(before), np.float32(after))
        taken = rounded(at, _along(axis, kernel.rounding))
        pixels[axis.axis] = np.clip(taken, 0, axis.in_size - 1).astype(int).tolist()
    return pixels


def _takes_what_is_meant(op: ResizeOp, spec: ResizeSpec, unresized: Set[int], place: Place, rounded: Rounded) -> bool:
    """Say whether a nearest resize that moves axes of kept length takes the pixels that a scale near 1 means there."""
    shape, kernel = static_shape(op.shape), spec.kernel
    if shape is None or spec.waits or not isinstance(kernel, Nearest):
        return False
    taken, meant = _taken(spec, kernel, shape, place, rounded), _pixels_of(op.spec, shape)
    for axis in unresized:
        moved = rounded(np.arange(shape[axis], dtype=np.float32) + np.float32(_HALF), kernel.rounding)
        taken[axis] = np.clip(moved, 0, shape[axis] - 1).astype(int).tolist()
    unmoved = {axis: list(range(size)) for axis, size in enumerate(shape)}
    return unmoved | taken == unmoved | meant


def _pixels_of(spec: ResizeSpec, shape: tuple[int, ...]) -> dict[int, list[int]]:
    """Return the pixels that a nearest resize takes along each axis."""
    bound = plan(spec, shape)
    return {axis.axis: taps.indices[:, 0].tolist() for axis, taps in zip(bound.axes, axis_taps(bound), strict=True)}


def _along(axis: AxisPlan, rounding: Rounding) -> Rounding:
    """Return the rounding of an axis: that of Resize-10 depends on whether it shrinks."""
    if rounding is not Rounding.SIMPLE:
        return rounding
    return Rounding.CEIL if axis.scale < 1 else Rounding.FLOOR


def _shifted_twice(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    return (output + before) * np.float32(float(axis.step)) - after


def offset_first(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    """Return i * step + offset, the offset rounded by itself."""
    step = np.float32(float(axis.step))
    return output * step + (before * step - after)


def divided(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    """Return (i + before) / scale - after."""
    return (output + before) / np.float32(float(axis.scale)) - after


def in_doubles(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Array:
    """Return i / (out / in) by the reciprocal of that quotient in float64, as OpenCV's own resize does."""
    # Two roundings of float64: the reciprocal of a quotient is not the other quotient.
    return output.astype(np.float64) * (1 / (axis.out_size / axis.in_size))


def to_pixels(at: NDArray[np.floating[Any]], rounding: Rounding) -> Array:
    """Return the pixels that a rounding takes."""
    match rounding:
        case Rounding.FLOOR:
            return np.asarray(np.floor(at))
        case Rounding.CEIL:
            return np.asarray(np.ceil(at))
        case Rounding.ROUND_PREFER_CEIL:
            return np.asarray(np.floor(at + _HALF))
        # SIMPLE comes for an axis that keeps its size only, at i + 1/2: it takes i, as half down does.
        case Rounding.ROUND_PREFER_FLOOR | Rounding.SIMPLE:
            return np.asarray(np.ceil(at - _HALF))
        case _:
            assert_never(rounding)


def has_weights_of(op: ResizeOp, spec: ResizeSpec, bits: int) -> bool:
    """Return whether every weight of a static shape is an integer over 2^bits; with no bits, all outputs are copies."""
    shape = static_shape(op.shape)
    if shape is None or spec.waits:
        return False
    bound = plan(spec, shape)
    resized = (taps for axis, taps in zip(bound.axes, axis_taps(bound), strict=True) if axis.in_size > 1)
    return all((taps.weights * 2**bits % 1 == 0).all() for taps in resized)


def is_longer_in_singles(op: ResizeOp) -> bool:
    """Return whether float32 computes another size from a scale for a static dimension."""
    if not op.spec.gives_scales or op.shape is None or op.spec.waits:
        return False
    shape, exact = tuple(n or _LONG for n in op.shape), replace(op.spec, arithmetic=Arithmetic.EXACT)
    ends = zip(op.shape, plan(exact, shape).out_shape, plan(op.spec, shape).out_shape, strict=True)
    return any(known and one != other for known, one, other in ends)
