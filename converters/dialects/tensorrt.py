"""TensorRT ``IResizeLayer``, by the names of its Python attributes.

Source: the operator page "Resize" of TensorRT 10 (operators/docs/Resize.html) and the class in its Python and C++ API.
Its examples are tests. Where the pages leave a question open, the builder of TensorRT-RTX answered
(docs/tensorrt.md).
"""

from __future__ import annotations

from fractions import Fraction

from ir_interp.errors import SpecError
from ir_interp.plan.taps import scaled_length
from ir_interp.shapes import PartialShape
from ir_interp.specs import (
    Arithmetic,
    AtRunTime,
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
from ir_interp.translation.dialect import Attributes, Context, Dialect, Semantics, since

from ..runtimes.tensorrt import INNERMOST, INNERMOST_BY_PAGE, LAYER_TYPES, MAX_RANK, unknown_sums, volume_refusal

_ROUNDING = {
    "HALF_DOWN": Rounding.ROUND_PREFER_FLOOR,
    "HALF_UP": Rounding.ROUND_PREFER_CEIL,
    "FLOOR": Rounding.FLOOR,
    "CEIL": Rounding.CEIL,
}


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a layer's settings; ``shape`` and ``scales`` have an entry for every axis.

    ``shape`` is None if a second input of the layer provides it at run time.
    """
    target = _target(attributes)
    _check_input(attributes["resize_mode"], context)
    if not isinstance(target, AtRunTime):
        _check_innermost(attributes["resize_mode"], target, context)
        _check_volume(_lengths(target, context), "output")
    return ResizeSpec(
        kernel=_kernel(attributes),
        coordinates=_coordinates(attributes),
        target=target,
        step=Step.RATIO,  # the page's formulas use sizes, never scales
        arithmetic=_arithmetic(context),
    )


def _arithmetic(context: Context) -> Arithmetic:
    """Return the arithmetic: the builder multiplies scales in float32, which the page does not mention."""
    return Arithmetic.EXACT if context.semantics is Semantics.DOCUMENT else Arithmetic.TENSORRT


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
    """Return the coordinates; UPPER takes pixel 0 if one is left, as the other transformations do anyway."""
    chosen = Coordinates[attributes["coordinate_transformation"]]
    if chosen is Coordinates.HALF_PIXEL and attributes["selector_for_single_pixel"] == "UPPER":
        return Coordinates.PYTORCH_HALF_PIXEL
    return chosen


def _target(attributes: Attributes) -> Sizes | Scales | AtRunTime:
    named = [name for name in ("shape", "scales") if name in attributes]
    if len(named) != 1:
        raise SpecError(f"shape and scales are both {'given' if named else 'missing'}")
    (name,) = named
    values = attributes[name]
    if values is None and name == "scales":
        raise SpecError("scales must be known when the network is built; only a shape may be an input at run time")
    if values is None:
        return AtRunTime.SIZES
    return Scales(tuple(values)) if name == "scales" else Sizes(tuple(values))


def _check_input(mode: str, context: Context) -> None:
    if context.dtype is not None and context.dtype not in LAYER_TYPES:
        raise SpecError(f"IResizeLayer takes {', '.join(LAYER_TYPES)}, not {context.dtype}")
    if context.shape is not None:
        # CUBIC resizes two axes, and an input needs both.
        least = 2 if mode == "CUBIC" else 1
        if not least <= len(context.shape) <= MAX_RANK:
            raise SpecError(f"{mode} takes rank {least} to {MAX_RANK}, not {len(context.shape)}")
        _check_volume(context.shape, "input")


def _check_innermost(mode: str, target: Sizes | Scales, context: Context) -> None:
    most = (INNERMOST_BY_PAGE if context.semantics is Semantics.DOCUMENT else INNERMOST)[mode]
    unchanged = [1] * len(target) if isinstance(target, Scales) else context.shape or [None] * len(target)
    for axis in range(len(target) - most):
        if axis < len(unchanged) and unchanged[axis] not in (target.values[axis], None):
            raise SpecError(f"{mode} resizes the innermost {most} axes only, not axis {axis}")


def _lengths(target: Sizes | Scales, context: Context) -> PartialShape:
    """Return the output shape, None where dynamic."""
    if isinstance(target, Sizes):
        return target.values
    known = zip(context.shape or (), target.values, strict=False)
    arithmetic = _arithmetic(context)
    return tuple(
        None if size is None else scaled_length(Fraction(size), Fraction(scale), arithmetic) for size, scale in known
    )


def _check_volume(sizes: PartialShape, what: str) -> None:
    reason = volume_refusal(sizes, what)
    if reason:
        raise SpecError(reason)


DIALECT = Dialect(
    name="tensorrt",
    versions=(10,),
    vocabulary={
        "resize_mode": {mode: since(10) for mode in INNERMOST},
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
    omitted={"exclude_outside": False},
    read=read,
    doubt=unknown_sums,
)
