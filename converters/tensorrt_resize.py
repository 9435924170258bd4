"""TensorRT ``IResizeLayer``, by the names of its Python attributes.

Source: the operator page "Resize" of TensorRT 10 (operators/docs/Resize.html). TensorRT has no runtime that every
machine can install: what is said here follows the page, and its two examples are tests.
"""

from __future__ import annotations

from ir_interp.dialect import Attributes, Context, Dialect, since
from ir_interp.errors import SpecError
from ir_interp.spec import (
    Arithmetic,
    Coordinates,
    Cubic,
    Kernel,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)

_ROUNDING = {
    "HALF_DOWN": Rounding.ROUND_PREFER_FLOOR,
    "HALF_UP": Rounding.ROUND_PREFER_CEIL,
    "FLOOR": Rounding.FLOOR,
    "CEIL": Rounding.CEIL,
}
_INNERMOST = {"NEAREST": 8, "LINEAR": 3, "CUBIC": 2}  # how many of the last axes a mode resizes


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a layer's settings; ``shape`` and ``scales`` have an entry for every axis."""
    target = _target(attributes)
    _check_innermost(attributes["resize_mode"], target, context)
    return ResizeSpec(
        kernel=_kernel(attributes),
        coordinates=_coordinates(attributes),
        target=target,
        step=Step.RATIO,  # the page's formulas take lengths, never scales
        arithmetic=Arithmetic.EXACT,  # the page says nothing of float32
    )


def _kernel(attributes: Attributes) -> Kernel:
    match attributes["resize_mode"]:
        case "NEAREST":
            return Nearest(rounding=_ROUNDING[attributes["nearest_rounding"]])
        case "LINEAR":
            return Linear()
        case "CUBIC":
            return Cubic(a=attributes.get("cubic_coeff", -0.75), exclude_outside=attributes["exclude_outside"])
        case mode:
            raise SpecError(f"resize_mode {mode!r} is unknown")


def _coordinates(attributes: Attributes) -> Coordinates:
    """Return the coordinates; UPPER takes pixel 0 where one is left, as the other transformations do anyway."""
    chosen = Coordinates[attributes["coordinate_transformation"]]
    if chosen is Coordinates.HALF_PIXEL and attributes["selector_for_single_pixel"] == "UPPER":
        return Coordinates.PYTORCH_HALF_PIXEL
    return chosen


def _target(attributes: Attributes) -> Sizes | Scales:
    shape, scales = attributes.get("shape"), attributes.get("scales")
    if (shape is None) == (scales is None):
        raise SpecError("shape and scales are " + ("both missing" if shape is None else "both given"))
    return Scales(tuple(scales)) if scales is not None else Sizes(tuple(shape or ()))


def _check_innermost(mode: str, target: Sizes | Scales, context: Context) -> None:
    outer = range(len(target) - _INNERMOST[mode])
    kept = [1] * len(target) if isinstance(target, Scales) else context.shape or [None] * len(target)
    for axis in outer:
        if axis < len(kept) and kept[axis] not in (target.values[axis], None):
            raise SpecError(f"{mode} resizes the innermost {_INNERMOST[mode]} axes only, not axis {axis}")


DIALECT = Dialect(
    name="tensorrt",
    versions=(10,),
    vocabulary={
        "resize_mode": {mode: since(10) for mode in _INNERMOST},
        "coordinate_transformation": {mode: since(10) for mode in ("HALF_PIXEL", "ASYMMETRIC", "ALIGN_CORNERS")},
        "selector_for_single_pixel": {"FORMULA": since(10), "UPPER": since(10)},
        "nearest_rounding": {rounding: since(10) for rounding in ("FLOOR", "HALF_DOWN", "HALF_UP", "CEIL")},
        "exclude_outside": {False: since(10), True: since(10)},
    },
    numbers={
        "a": ("cubic_coeff", since(10)),
        "sizes": ("shape", since(10)),
        "scales": ("scales", since(10)),
    },
    defaults={
        "resize_mode": ("NEAREST", since(10)),
        "coordinate_transformation": ("ASYMMETRIC", since(10)),
        "selector_for_single_pixel": ("FORMULA", since(10)),
        "nearest_rounding": ("FLOOR", since(10)),
        "exclude_outside": (False, since(10)),
    },
    unstated={"exclude_outside": False},
    read=read,
)
