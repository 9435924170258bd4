"""Readings of a node that several runtimes share: the resize as which each computes it, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ir_interp.spec import Antialias, Coordinates, Cubic, Linear, Nearest, ResizeSpec, Rounding, Step

PLAIN_COEFFICIENT = -0.75
"""ONNX's default of cubic_coeff_a, PyTorch's without antialias, and the only one that several runtimes have."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The resize as which a runtime reads a node, and the reason."""

    reason: str
    of: Callable[[ResizeSpec], ResizeSpec]


def _ratio(spec: ResizeSpec) -> ResizeSpec:
    return replace(spec, step=Step.RATIO) if spec.gives_scales else spec


def _without_antialias(spec: ResizeSpec) -> ResizeSpec:
    match spec.kernel:
        case Linear():
            return replace(spec, kernel=Linear())
        case Cubic() as cubic:
            return replace(spec, kernel=replace(cubic, antialias=Antialias.OFF))
        case _:
            return spec


def _asymmetric(spec: ResizeSpec) -> ResizeSpec:
    symmetric = spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC
    return replace(spec, coordinates=Coordinates.ASYMMETRIC) if symmetric else spec


def _plain_cubic(spec: ResizeSpec) -> ResizeSpec:
    kernel = spec.kernel
    if not isinstance(kernel, Cubic):
        return spec
    return replace(spec, kernel=replace(kernel, a=PLAIN_COEFFICIENT, exclude_outside=False))


BY_RATIO = Reading("it uses the ratio of sizes instead of the scale", _ratio)
NO_ANTIALIAS = Reading("it ignores antialias", _without_antialias)
PLAIN_CUBIC = Reading(f"its cubic has the coefficient {PLAIN_COEFFICIENT}, and no exclude_outside", _plain_cubic)
NO_SYMMETRIC = Reading("it computes half_pixel_symmetric as asymmetric", _asymmetric)


def _half_pixel(spec: ResizeSpec) -> ResizeSpec:
    kernel = Nearest(rounding=Rounding.ROUND_PREFER_FLOOR) if isinstance(spec.kernel, Nearest) else spec.kernel
    return replace(spec, coordinates=Coordinates.HALF_PIXEL, kernel=kernel)


def _linear_half_pixel(spec: ResizeSpec) -> ResizeSpec:
    return spec if isinstance(spec.kernel, Nearest) else replace(spec, coordinates=Coordinates.HALF_PIXEL)


def _floor(spec: ResizeSpec) -> ResizeSpec:
    is_simple = isinstance(spec.kernel, Nearest) and spec.kernel.rounding is Rounding.SIMPLE
    return replace(spec, kernel=Nearest(rounding=Rounding.FLOOR)) if is_simple else spec


RESIZE_10, UPSAMPLE, UPSAMPLE_7 = 10, range(7, 10), 7
"""Versions of operators whose coordinates are asymmetric, and whose nearest rounds up where an axis shrinks.

The scales of an Upsample-7 are an attribute.
"""
HALF_PIXEL_OF_10 = Reading("it computes Resize-10 with half_pixel, the default since opset 11", _half_pixel)
HALF_PIXEL_LINEAR = Reading("it computes a linear Upsample with half_pixel", _linear_half_pixel)
FLOOR = Reading("its Upsample rounds down", _floor)  # as others do: an Upsample never shrinks
