"""The meaning of a spec in a form that does not depend on its attributes, and comparisons of two specs.

First the axes of a spec, however they are listed. Two specs are compared by meaning; for every shape, each in its own
arithmetic (``arithmetics_agree``); or for one shape, tap by tap (``first_difference``).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import Difference, SpecError
from ir_interp.plan.taps import Plan, Taps, axis_taps, plan
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.specs import (
    Alpha,
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Border,
    Box,
    Coordinates,
    Crop,
    Cubic,
    Gaussian,
    Hamming,
    Kernel,
    Lanczos,
    Length,
    Linear,
    Magic,
    Mean,
    Mitchell,
    Mode,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.specs.resize_spec import has_own_weights

WHOLE_WINDOW = (0.0, 1.0)


def resized_axes(spec: ResizeSpec, shape: PartialShape | None) -> tuple[int, ...] | None:
    """Return the axes, counted from the first if the rank is known; None for all of an unknown number."""
    return spec.axes if shape is None else resolve_axes(spec.axes, len(shape))


def axis_windows(spec: ResizeSpec, count: int) -> Sequence[tuple[float, float] | None]:
    """Return the window of each axis, or of a box its segment; None if known only at run time."""
    if spec.box is not None:
        return spec.box
    if not isinstance(spec.coordinates, Crop):
        return [WHOLE_WINDOW] * count
    return [None] * count if spec.coordinates.roi is None else spec.coordinates.roi


def _moves_kept_axes(coordinates: Coordinates | Crop) -> bool:
    """Return whether even an axis that keeps its size moves: by half a pixel."""
    match coordinates:
        case Coordinates.TF_HALF_PIXEL_THROUGHOUT | Coordinates.TFLITE_CORNERS:
            return True
        case Coordinates.HALF_PIXEL | Coordinates.HALF_PIXEL_SYMMETRIC | Coordinates.PYTORCH_HALF_PIXEL:
            return False
        case Coordinates.ALIGN_CORNERS | Coordinates.ASYMMETRIC | Coordinates.TF_HALF_PIXEL_FOR_NN | Crop():
            return False
        case _:
            assert_never(coordinates)


def keeps_axes(
    spec: ResizeSpec, axis: int, value: float, window: tuple[float, float] | None, shape: PartialShape | None
) -> bool:
    """Return whether an axis with this target is certain to be unchanged."""
    whole = WHOLE_WINDOW if spec.box is None else (0, shape[axis] if shape else None)
    moved = _moves_kept_axes(spec.coordinates)
    if window != whole or spec.aspect is not Aspect.STRETCH or moved:
        return False
    if isinstance(spec.target, Scales):
        return value == 1
    padded = any(axes_from_first(pad.axis, shape) == axis for pad in spec.pads)
    return shape is not None and shape[axis] == value and not padded


def axes_from_first(axis: int, shape: PartialShape | None) -> int:
    """Return an axis counted from the first, if the rank is known."""
    return axis % len(shape) if shape else axis


def listed_axes(spec: ResizeSpec, shape: PartialShape) -> ResizeSpec:
    """Return the same resize with its axes listed from the first, without those certain to be unchanged."""
    axes = resolve_axes(spec.axes, len(shape))
    if not isinstance(spec.target, Sizes | Scales):
        return replace(spec, axes=axes)
    entries = zip(axes, spec.target.values, axis_windows(spec, len(axes)), strict=True)
    changing = [place for place, entry in enumerate(entries) if not keeps_axes(spec, *entry, shape)]
    return replace(spec, axes=axes).only(changing)


def spread_axes(spec: ResizeSpec, shape: PartialShape, axes: tuple[int, ...] | None) -> ResizeSpec | None:
    """Return the same resize with a target for each of ``axes``, or for every axis if that is None.

    Return None if it resizes other axes too, or needs a dynamic dimension.
    """
    current, target = (resolve_axes(listed, len(shape)) for listed in (spec.axes, axes))
    if isinstance(spec.coordinates, Crop):
        return _spread_crop(spec, spec.coordinates, shape, axes)
    if current == target:
        return replace(spec, axes=axes)
    if (
        not isinstance(spec.target, Sizes | Scales)
        or spec.aspect is not Aspect.STRETCH
        or not set(current) <= set(target)
    ):
        return None
    if spec.box is not None:
        return None
    by_axis = dict(zip(current, spec.target.values, strict=True))
    values: list[Any] = [by_axis.get(axis, 1.0 if spec.gives_scales else shape[axis]) for axis in target]
    return None if None in values else replace(spec, axes=axes, target=type(spec.target)(tuple(values)))


def _spread_crop(spec: ResizeSpec, crop: Crop, shape: PartialShape, axes: tuple[int, ...] | None) -> ResizeSpec | None:
    """Return a crop of more axes; the added ones keep their whole window."""
    plain = spread_axes(replace(spec, coordinates=Coordinates.ASYMMETRIC), shape, axes)
    if plain is None or crop.roi is None:
        return None
    by_axis = dict(zip(resolve_axes(spec.axes, len(shape)), crop.roi, strict=True))
    windows = tuple(by_axis.get(axis, WHOLE_WINDOW) for axis in resolve_axes(axes, len(shape)))
    return replace(plain, coordinates=replace(crop, roi=windows))


_REMEMBERED = 2**13  # specs: a model may hold thousands of resizes, each compared with hundreds of offers


@lru_cache(maxsize=_REMEMBERED)
def meaning(spec: ResizeSpec, shape: PartialShape | None = None) -> Hashable:
    """Return a key that is equal for specs of equal values in exact arithmetic, for every input that fits ``shape``.

    ``shape`` may have dynamic dimensions with None; without it, specs are compared for every rank.
    """
    return frozenset(parts(spec, shape).items())


def differences(needed: ResizeSpec, offered: ResizeSpec, shape: PartialShape | None = None) -> tuple[Difference, ...]:
    """Return the parts in which two specs compute different things; none if they mean the same."""
    mine, theirs = parts(needed, shape), parts(offered, shape)
    unequal: list[Difference] = []
    for part in sorted(mine.keys() | theirs.keys()):
        pair = mine.get(part, _ABSENT.get(part)), theirs.get(part, _ABSENT.get(part))
        implied = part == "windows" and isinstance(needed.coordinates, Crop) != isinstance(offered.coordinates, Crop)
        if pair[0] != pair[1] and not implied:
            unequal += _unfolded(needed, offered) if part == "position" else [Difference(part, *pair)]
    return tuple(unequal)


@lru_cache(maxsize=_REMEMBERED)
def parts(spec: ResizeSpec, shape: PartialShape | None = None) -> Mapping[str, Hashable]:
    """Return the meaning of a spec as named parts, equal for all equivalent attributes."""
    kernel = spec.kernel
    named: dict[str, Hashable] = {"kernel": kernel.word, "position": _position(spec)}
    named |= {"antialias": kernel.antialias, "exclude_outside": kernel.exclude_outside, "border": kernel.border}
    named |= _kernel_parameters(kernel)
    if has_own_weights(kernel, spec.arithmetic):
        named["weights"] = f"those of {spec.arithmetic}"
    named |= {"integers": spec.sums_of_integers, "alpha": spec.alpha}
    named["output length"] = _output_length(spec)
    named |= {"before": spec.before, "box": _boxed(spec, shape)}
    named["pads"] = frozenset((axes_from_first(pad.axis, shape), pad.begin, pad.end) for pad in spec.pads)
    named |= {"aspect policy": spec.aspect, "axes": _axes(spec, shape), "target": _target(spec)}
    if isinstance(spec.coordinates, Crop):
        named["windows"] = _windowed(spec, spec.coordinates, shape)
    if not spec.gives_sizes or (spec.aspect is not Aspect.STRETCH and spec.step is Step.RATIO):
        named["step"] = _step(spec)
    if _is_cornered(spec) and not _fills_exactly(spec):
        named["length"] = spec.length
    return {part: value for part, value in named.items() if value != _ABSENT.get(part)}


def _kernel_parameters(kernel: Kernel) -> dict[str, Hashable]:
    """Return the numbers that tell two kernels of one word apart."""
    match kernel:
        case Cubic():
            return {"cubic coefficient": kernel.a}
        case Lanczos():
            return {"radius": kernel.radius}
        case Magic():
            return {"year": kernel.year}
        case Nearest() | Linear() | Box() | Hamming() | Gaussian() | Mitchell() | Area() | Mean() | Mode():
            return {}  # the rounding of nearest is part of its position
        case _:
            assert_never(kernel)


_ABSENT: dict[str, Hashable] = {  # a part that a spec does not have
    "antialias": Antialias.OFF,
    "exclude_outside": False,
    "pads": frozenset(),
    "windows": frozenset(),
    "before": None,
    "border": Border.EDGE,
    "box": frozenset(),
    "aspect policy": Aspect.STRETCH,
    "alpha": Alpha.SEPARATE,
    "integers": "",
    "length": Length.WHOLE,
}


def _output_length(spec: ResizeSpec) -> str | None:
    """Return the special rule for the sizes that scales give, if any."""
    if not spec.gives_scales:
        return None
    if isinstance(spec.coordinates, Crop) and spec.coordinates.scales_window and not _is_whole(spec.coordinates):
        return "of the window"
    return "rounded half to even" if spec.arithmetic.rounds_lengths else None


def _is_whole(crop: Crop) -> bool:
    return crop.roi is not None and all(end - start == 1 for start, end in crop.roi)


_HALF = Fraction(1, 2)


def _family(coordinates: Coordinates) -> tuple[str, Fraction, Fraction]:
    """Return the kind of step, a and b of ``source = step * (i + a) + b``."""
    match coordinates:
        case Coordinates.HALF_PIXEL:
            return "ratio", _HALF, -_HALF
        case Coordinates.TF_HALF_PIXEL_FOR_NN:
            return "ratio", _HALF, Fraction(0)
        case Coordinates.TF_HALF_PIXEL_THROUGHOUT:
            return "ratio, also where the size stays the same", _HALF, Fraction(0)
        case Coordinates.ASYMMETRIC:
            return "ratio", Fraction(0), Fraction(0)
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            return "ratio, centred", _HALF, -_HALF
        case Coordinates.PYTORCH_HALF_PIXEL:
            return "ratio, 0 for a single output", _HALF, -_HALF
        case Coordinates.ALIGN_CORNERS:
            return "corners", Fraction(0), Fraction(0)
        case Coordinates.TFLITE_CORNERS:
            return "corners", _HALF, Fraction(0)
        case _:
            assert_never(coordinates)


def _folded(rounding: Rounding) -> tuple[Fraction, Rounding]:
    """Return a shift and the rounding after it: half up is a floor, shifted, and half down a ceil."""
    match rounding:
        case Rounding.ROUND_PREFER_CEIL:
            return _HALF, Rounding.FLOOR
        case Rounding.ROUND_PREFER_FLOOR:
            return -_HALF, Rounding.CEIL
        case Rounding.FLOOR | Rounding.CEIL | Rounding.SIMPLE:
            return Fraction(0), rounding
        case _:
            assert_never(rounding)


_WHOLE_COPIES = (  # under integer scales each of these repeats every pixel that many times
    ("ratio", Fraction(0), Fraction(0), Rounding.FLOOR),
    ("ratio", _HALF, Fraction(0), Rounding.FLOOR),  # half_pixel, half up
    ("ratio", _HALF, Fraction(-1), Rounding.CEIL),  # half_pixel, half down
)


def _position(spec: ResizeSpec) -> Hashable:
    """Return the sampling position of a spec: coordinates and rounding folded into one."""
    shift, rounding = Fraction(0), None
    if isinstance(spec.kernel, Nearest):
        shift, rounding = _folded(_directed(spec) if spec.kernel.rounding is Rounding.SIMPLE else spec.kernel.rounding)
    if isinstance(spec.coordinates, Crop):
        return "crop", spec.coordinates.extrapolation, shift, rounding  # windows go with the axes
    family, a, b = _family(spec.coordinates)
    if spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC and _asks_whole_lengths(spec):
        family = "ratio"  # no remainder to centre
    if (family, a, b + shift, rounding) in _WHOLE_COPIES and isinstance(spec.target, Scales) and are_whole(spec.target):
        return _WHOLE_COPIES[0]
    return family, a, b + shift, rounding


def _directed(spec: ResizeSpec) -> Rounding:
    """Return the rounding that `simple` is if all scales are on one side of 1."""
    scales = spec.target.values if isinstance(spec.target, Scales) and spec.step is not Step.RATIO else ()
    if scales and min(scales) >= 1:
        return Rounding.FLOOR
    return Rounding.CEIL if scales and max(scales) <= 1 else Rounding.SIMPLE


def _fills_exactly(spec: ResizeSpec) -> bool:
    """Return whether scale * input size is the output size for every input."""
    return spec.step is Step.RATIO or _asks_whole_lengths(spec)


def _asks_whole_lengths(spec: ResizeSpec) -> bool:
    """Return whether no size needs rounding."""
    if spec.gives_sizes:
        return spec.aspect is Aspect.STRETCH
    return isinstance(spec.target, Scales) and are_whole(spec.target)


def are_whole(scales: Scales) -> bool:
    """Return whether all scales are integers, so that no size or ratio is ever rounded."""
    return all(float(scale).is_integer() for scale in scales.values)


def _is_cornered(spec: ResizeSpec) -> bool:
    """Return whether the coordinates span the corners and use no scale."""
    return isinstance(spec.coordinates, Crop) or spec.coordinates is Coordinates.ALIGN_CORNERS


def _step(spec: ResizeSpec) -> Hashable:
    """Return the kind of step, the same if two kinds agree for every input."""
    filtered = spec.kernel.is_antialiased
    directed = isinstance(spec.kernel, Nearest) and spec.kernel.rounding is Rounding.SIMPLE
    if _is_cornered(spec) and spec.length is Length.WHOLE and not filtered and not directed:
        return None
    if isinstance(spec.target, Scales) and are_whole(spec.target):
        return None
    # Between 1 and 1.5 an axis of two pixels or more may keep its size, and just below 1 in float32.
    if isinstance(spec.target, Scales) and all(scale == 1 or not 0.999 < scale < 1.5 for scale in spec.target.values):
        return Step.RATIO if spec.step is Step.RATIO else Step.GIVEN
    return spec.step


def _target(spec: ResizeSpec) -> Hashable:
    if isinstance(spec.target, Sizes | Scales):
        return "sizes" if spec.gives_sizes else "scales"
    return spec.target


def _axes(spec: ResizeSpec, shape: PartialShape | None) -> Hashable:
    """Return the axes, each with its target if known, without unchanged ones."""
    axes = resized_axes(spec, shape)
    values = spec.target.values if isinstance(spec.target, Sizes | Scales) else None
    if axes is None:
        return "all", values
    if values is None:
        return axes  # the order of the input at run time
    entries = zip(axes, values, axis_windows(spec, len(axes)), strict=True)
    return frozenset(entry[:2] for entry in entries if not keeps_axes(spec, *entry, shape))


def _windowed(spec: ResizeSpec, crop: Crop, shape: PartialShape | None) -> Hashable:
    """Return the axes that a crop restricts, each with its window."""
    axes = resized_axes(spec, shape)
    if crop.roi is None:
        return "at run time", axes
    pairs = zip(range(len(crop.roi)) if axes is None else axes, crop.roi, strict=True)
    return frozenset(pair for pair in pairs if pair[1] != WHOLE_WINDOW)


def _boxed(spec: ResizeSpec, shape: PartialShape | None) -> Hashable:
    """Return the axes that a box restricts, each with its start and its stop."""
    pairs = [] if spec.box is None else zip(resized_axes(spec, shape) or (), spec.box, strict=True)
    return frozenset((axis, part) for axis, part in pairs if shape is None or part != (0, shape[axis]))


def _unfolded(needed: ResizeSpec, offered: ResizeSpec) -> list[Difference]:
    """Return the differences in position in the specs' own terms; a rounding without counterpart is none."""
    pairs: list[tuple[str, object, object]] = [("coordinates", str(needed.coordinates), str(offered.coordinates))]
    if isinstance(needed.kernel, Nearest) and isinstance(offered.kernel, Nearest):
        pairs.append(("rounding", needed.kernel.rounding, offered.kernel.rounding))
    if isinstance(needed.coordinates, Crop) and isinstance(offered.coordinates, Crop):
        pairs.append(("extrapolation", needed.coordinates.extrapolation, offered.coordinates.extrapolation))
    return [Difference(name, mine, theirs) for name, mine, theirs in pairs if mine != theirs]


_BY_RATIO = (
    Coordinates.HALF_PIXEL,
    Coordinates.PYTORCH_HALF_PIXEL,
    Coordinates.ASYMMETRIC,
    Coordinates.TF_HALF_PIXEL_FOR_NN,
)


def arithmetics_agree(spec: ResizeSpec, offered: ResizeSpec) -> bool:
    """Return whether two specs of one meaning compute the same for every shape, each in its own arithmetic.

    Weights of a continuous kernel move by a rounding error only. float32 can decide a nearest pixel, the edge of a
    crop, and the size under fractional scales; integer scales have neither (axes below a million). With sizes,
    onnxruntime and OpenVINO have the same float32 order for floor and ceil, but not where 1/2 is a tie.
    """
    same = spec.coordinates == offered.coordinates and spec.kernel == offered.kernel
    if same and spec.arithmetic is offered.arithmetic:
        return True
    if isinstance(spec.coordinates, Crop) or spec.aspect is not Aspect.STRETCH:
        return False
    whole = isinstance(spec.target, Scales) and are_whole(spec.target)
    if not isinstance(spec.kernel, Nearest):
        return whole or spec.gives_sizes
    if spec.coordinates not in _BY_RATIO or not isinstance(offered.kernel, Nearest):
        return False
    directed = spec.kernel.rounding in (Rounding.FLOOR, Rounding.CEIL, Rounding.SIMPLE)
    float32 = {spec.arithmetic, offered.arithmetic} <= {Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO}
    return whole or (spec.gives_sizes and directed and float32 and same)


def first_difference(needed: ResizeSpec, offered: ResizeSpec, shape: tuple[int, ...]) -> str | None:
    """Return the first point in which two specs compute different things for ``shape``; None if they agree.

    Nearest pixels and sizes are compared in each spec's own arithmetic, weights as rationals, within 1e-6.
    """
    sums = [spec.sums_of_integers for spec in (needed, offered)]
    if sums[0] != sums[1]:
        return f"integers: {' become '.join(text or 'rounded once' for text in sums)}"
    return difference_of_floats(needed, offered, shape)


def difference_of_floats(needed: ResizeSpec, offered: ResizeSpec, shape: tuple[int, ...]) -> str | None:
    """Return the first difference for floats, ignoring how integers are summed."""
    try:
        mine, theirs = plan(needed, shape), plan(offered, shape)
    except SpecError as error:
        return str(error)
    if mine.out_shape != theirs.out_shape:
        return f"output shape {list(mine.out_shape)} becomes {list(theirs.out_shape)}"
    if mine.padding != theirs.padding:
        return f"padding {mine.padding} becomes {theirs.padding}"
    left, right = _remembered_taps(needed, shape), _remembered_taps(offered, shape)
    for axis in sorted(left.keys() | right.keys()):
        size, out = shape[axis] + sum(mine.padding[axis]), mine.out_shape[axis]
        identity = Taps(np.arange(out)[:, None], None)
        row = _first_row(left.get(axis, identity), right.get(axis, identity), size)
        if row is not None:
            return f"output {row} of axis {axis} ({size} -> {out}) takes other source pixels"
    return None


@lru_cache(maxsize=16)  # a spec is compared with hundreds of offers
def _remembered_taps(spec: ResizeSpec, shape: tuple[int, ...]) -> dict[int, Taps]:
    return taps_by_axis(plan(spec, shape))


def taps_by_axis(bound: Plan) -> dict[int, Taps]:
    """Return taps by axis: copied pixels in the spec's arithmetic, weights from exact coordinates."""
    kernel, arithmetic = bound.spec.kernel, bound.spec.arithmetic
    is_crop = isinstance(bound.spec.coordinates, Crop)
    if not (isinstance(kernel, Nearest) or is_crop or has_own_weights(kernel, arithmetic)):
        bound = replace(bound, axes=tuple(replace(axis, arithmetic=Arithmetic.EXACT) for axis in bound.axes))
    return {axis.axis: taps for axis, taps in zip(bound.axes, axis_taps(bound), strict=True)}


def _first_row(left: Taps, right: Taps, size: int) -> int | None:
    """Return the first output whose taps differ, compared as sparse matrices."""
    entries = [entries_of(left, size), entries_of(right, size)]
    keys, places = np.unique(np.concatenate([key for key, _ in entries]), return_inverse=True)
    signed = np.concatenate([entries[0][1], -entries[1][1]])
    residue = np.abs(np.bincount(places, signed, len(keys)))
    # The rounding of float64 stays below; a pixel more or less weighs more.
    rows = keys[residue > 1e-6] // (size + 1)
    return int(rows[0]) if len(rows) else None


def entries_of(taps: Taps, size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return taps as keys row * (size + 1) + column, and weights; the last column is for extrapolated values."""
    rows = np.arange(len(taps.indices))[:, None]
    weights = np.ones(taps.indices.shape) if taps.weights is None else taps.weights
    columns = taps.indices
    if taps.outside is not None:
        columns = np.where(taps.outside[:, None], size, columns)
        weights = np.where(taps.outside[:, None], 1.0 / weights.shape[1], weights)
    return (rows * (size + 1) + columns).ravel().astype(np.int64), weights.ravel()
