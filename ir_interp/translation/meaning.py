"""The meaning of a spec in a form that does not depend on its attributes, and the differences of two specs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from fractions import Fraction
from functools import lru_cache

from ir_interp.errors import Difference
from ir_interp.plan.libraries.library_weights import is_own
from ir_interp.shapes import PartialShape
from ir_interp.spec import (
    Alpha,
    Antialias,
    Aspect,
    Border,
    Coordinates,
    Crop,
    Cubic,
    Lanczos,
    Length,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.translation.axes import WHOLE_WINDOW, from_first, keeps, resized_axes, windows

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
    if isinstance(kernel, Cubic):
        named["cubic coefficient"] = kernel.a
    if is_own(kernel, spec.arithmetic):
        named["weights"] = f"those of {spec.arithmetic}"
    if isinstance(kernel, Lanczos):
        named["radius"] = kernel.radius
    named |= {"integers": spec.sums_of_integers, "alpha": spec.alpha}
    named["output length"] = _output_length(spec)
    named |= {"before": spec.before, "box": _boxed(spec, shape)}
    named["pads"] = frozenset((from_first(pad.axis, shape), pad.begin, pad.end) for pad in spec.pads)
    named |= {"aspect policy": spec.aspect, "axes": _axes(spec, shape), "target": _target(spec)}
    if isinstance(spec.coordinates, Crop):
        named["windows"] = _windowed(spec, spec.coordinates, shape)
    if not spec.gives_sizes or (spec.aspect is not Aspect.STRETCH and spec.step is Step.RATIO):
        named["step"] = _step(spec)
    if _is_cornered(spec) and not _fills_exactly(spec):
        named["length"] = spec.length
    return {part: value for part, value in named.items() if value != _ABSENT.get(part)}


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
_FAMILY = {  # source = step * (i + a) + b, and the kind of step
    Coordinates.HALF_PIXEL: ("ratio", _HALF, -_HALF),
    Coordinates.TF_HALF_PIXEL_FOR_NN: ("ratio", _HALF, Fraction(0)),
    Coordinates.TF_HALF_PIXEL_THROUGHOUT: ("ratio, also where the size stays the same", _HALF, Fraction(0)),
    Coordinates.ASYMMETRIC: ("ratio", Fraction(0), Fraction(0)),
    Coordinates.HALF_PIXEL_SYMMETRIC: ("ratio, centred", _HALF, -_HALF),
    Coordinates.PYTORCH_HALF_PIXEL: ("ratio, 0 for a single output", _HALF, -_HALF),
    Coordinates.ALIGN_CORNERS: ("corners", Fraction(0), Fraction(0)),
    Coordinates.TFLITE_CORNERS: ("corners", _HALF, Fraction(0)),
}
_FOLD = {  # rounding half up is a floor, shifted; rounding half down is a ceil, shifted
    Rounding.ROUND_PREFER_CEIL: (_HALF, Rounding.FLOOR),
    Rounding.ROUND_PREFER_FLOOR: (-_HALF, Rounding.CEIL),
}


_WHOLE_COPIES = (  # under integer scales each of these repeats every pixel that many times
    ("ratio", Fraction(0), Fraction(0), Rounding.FLOOR),
    ("ratio", _HALF, Fraction(0), Rounding.FLOOR),  # half_pixel, half up
    ("ratio", _HALF, Fraction(-1), Rounding.CEIL),  # half_pixel, half down
)


def _position(spec: ResizeSpec) -> Hashable:
    """Return the sampling position of a spec: coordinates and rounding folded into one."""
    shift, rounding = Fraction(0), None
    if isinstance(spec.kernel, Nearest):
        rounding = _directed(spec) if spec.kernel.rounding is Rounding.SIMPLE else spec.kernel.rounding
        shift, rounding = _FOLD.get(rounding, (shift, rounding))
    if isinstance(spec.coordinates, Crop):
        return "crop", spec.coordinates.extrapolation, shift, rounding  # windows go with the axes
    family, a, b = _FAMILY[spec.coordinates]
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
    entries = zip(axes, values, windows(spec, len(axes)), strict=True)
    return frozenset(entry[:2] for entry in entries if not keeps(spec, *entry, shape))


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
