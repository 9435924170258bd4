"""Say in words what a resize computes."""

from __future__ import annotations

from ir_interp.shapes import PartialShape
from ir_interp.spec import (
    Antialias,
    Area,
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)

_FORMULA = {
    Coordinates.HALF_PIXEL: "(i + 1/2) * step - 1/2",
    Coordinates.HALF_PIXEL_SYMMETRIC: "(i + 1/2) * step - 1/2, centred",
    Coordinates.PYTORCH_HALF_PIXEL: "(i + 1/2) * step - 1/2, but 0 for a single output",
    Coordinates.ALIGN_CORNERS: "i * (in - 1) / (out - 1)",
    Coordinates.ASYMMETRIC: "i * step",
    Coordinates.TF_HALF_PIXEL_FOR_NN: "(i + 1/2) * step",
}
_ROUNDED = {
    Rounding.ROUND_PREFER_FLOOR: "round half down({})",
    Rounding.ROUND_PREFER_CEIL: "round half up({})",
    Rounding.FLOOR: "floor({})",
    Rounding.CEIL: "ceil({})",
    Rounding.SIMPLE: "ceil where an axis shrinks, else floor({})",
}


def count(number: int, thing: str) -> str:
    """Return how many there are of a thing: "1 resize", "2 resizes"."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def sentence(spec: ResizeSpec) -> str:
    """Return what is resized to what, and how, in one line."""
    return f"{target(spec)}: {formula(spec)}"


def formula(spec: ResizeSpec) -> str:
    """Return kernel and source coordinate of output index ``i``, as in ``linear at (i + 1/2) * step - 1/2``."""
    return f"{kernel(spec)} at {_source(spec)}{_step(spec)}{_padding(spec)}"


def target(spec: ResizeSpec) -> str:
    """Return the axes and what they are resized to, as in ``sizes 50, 60 on axes 2, 3``."""
    axes = "all axes" if spec.axes is None else "axes " + ", ".join(map(str, spec.axes))
    match spec.target:
        case Sizes(values) if spec.aspect is not Aspect.STRETCH:
            return f"sizes {_list(values)} ({spec.aspect.value}) on {axes}"
        case Sizes(values):
            return f"sizes {_list(values)} on {axes}"
        case Scales(values):
            return f"scales {_list(values)} on {axes}"
        case None:
            return f"sizes or scales at run time on {axes}"
        case at_run_time:
            return f"{at_run_time.value} at run time on {axes}"


def shape_text(shape: PartialShape | None) -> str:
    """Return a shape as ``1x3x?x?``."""
    return "?" if shape is None else "x".join("?" if length is None else str(length) for length in shape)


def kernel(spec: ResizeSpec) -> str:
    """Return the kernel in words, as in ``cubic a=-0.5, antialiased``."""
    match spec.kernel:
        case Nearest():
            return "nearest"
        case Area():
            return "area, the mean over what a pixel covers,"
        case Linear(antialias=antialias, exclude_outside=exclude):
            words = ["linear"]
        case Cubic(a=a, antialias=antialias, exclude_outside=exclude):
            words = [f"cubic a={a:g}"]
    if antialias is not Antialias.OFF:
        words.append("antialiased" if antialias is Antialias.SHRINKING else "antialiased on all axes if any shrinks")
    if exclude:
        words.append("without taps outside")
    return ", ".join(words)


def _source(spec: ResizeSpec) -> str:
    if isinstance(spec.coordinates, Crop):
        source = "start * (in - 1) + i * (end - start) * (in - 1) / (out - 1)"
    else:
        source = _FORMULA[spec.coordinates]
    return _ROUNDED[spec.kernel.rounding].format(source) if isinstance(spec.kernel, Nearest) else source


def _step(spec: ResizeSpec) -> str:
    if "step" not in _source(spec):
        return ""
    if spec.gives_sizes or spec.step is Step.RATIO:
        return ", step = in / out"
    return ", step = 1 / scale" if spec.gives_scales else ""


def _padding(spec: ResizeSpec) -> str:
    if not spec.pads:
        return ""
    return "; zeros around " + ", ".join(f"axis {pad.axis} ({pad.begin}, {pad.end})" for pad in spec.pads)


def _list(values: tuple[float, ...]) -> str:
    return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values)
