"""ONNX ``Upsample`` (opsets 7, 9) and ``Resize`` (10, 11, 13, 18, 19).

Source: the operator pages "Resize" (19, 18, 13, 11, 10) and "Upsample" (9, 7) of onnx.ai; for opsets up to 10, whose
pages give no formula, onnxruntime's results. docs/semantics.md lists where pages and runtimes differ.
"""

from __future__ import annotations

from typing import Any

from ir_interp.errors import SpecError
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape
from ir_interp.specs import (
    Antialias,
    Arithmetic,
    Aspect,
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    Kernel,
    Length,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, Semantics, since

from ..runtimes import onnxruntime
from ..runtimes.outcome import PLAIN_COEFFICIENT

_CROP = "tf_crop_and_resize"
_FIRST_WITH_FORMULAS = 11  # earlier pages give none, so onnxruntime decides


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a node: its attributes, and its inputs sizes, scales and roi by name."""
    document = context.semantics is Semantics.DOCUMENT
    return ResizeSpec(
        kernel=_kernel(attributes, context),
        coordinates=_coordinates(attributes, document),
        axes=attributes.get("axes"),
        target=_target(attributes),
        aspect=_aspect(attributes, document),
        step=Step.RATIO if document and context.version >= _FIRST_WITH_FORMULAS else Step.GIVEN,
        length=Length.FRACTIONAL if context.semantics is Semantics.REFERENCE else Length.WHOLE,
        arithmetic=Arithmetic.EXACT if document else Arithmetic.ONNXRUNTIME,  # no page specifies float32
    )


def _kernel(attributes: Attributes, context: Context) -> Kernel:
    antialias = Antialias.SHRINKING if attributes.get("antialias") else Antialias.OFF
    match attributes["mode"]:
        case "nearest" if antialias is not Antialias.OFF and context.semantics is not Semantics.DOCUMENT:
            raise SpecError("antialias needs mode linear or cubic, not nearest")
        case "nearest" if context.version < _FIRST_WITH_FORMULAS:
            return Nearest(rounding=Rounding.SIMPLE)
        case "nearest":
            return Nearest(rounding=Rounding(attributes["nearest_mode"]))
        case "linear":  # without antialias at most one tap lies outside, and dropping or clamping it is the same
            return Linear(antialias=antialias, exclude_outside=antialias is not Antialias.OFF and _excludes(attributes))
        case "cubic":
            a = attributes.get("cubic_coeff_a", PLAIN_COEFFICIENT)
            return Cubic(a=a, antialias=antialias, exclude_outside=_excludes(attributes))
        case mode:
            raise SpecError(f"mode {mode!r} is unknown")


def _excludes(attributes: Attributes) -> bool:
    return bool(attributes.get("exclude_outside"))


def _aspect(attributes: Attributes, document: bool) -> Aspect:
    """Return the policy, which by the page "is not applicable when the `scales` input is used"."""
    ignored = document and "scales" in attributes
    return Aspect.STRETCH if ignored else Aspect(attributes.get("keep_aspect_ratio_policy", "stretch"))


def _coordinates(attributes: Attributes, document: bool) -> Coordinates | Crop:
    mode = attributes.get("coordinate_transformation_mode", "asymmetric")
    if mode != _CROP:
        moves = document and mode == Coordinates.TF_HALF_PIXEL_FOR_NN.value and not _rounds_down(attributes)
        return Coordinates.TF_HALF_PIXEL_THROUGHOUT if moves else Coordinates(mode)
    roi = attributes.get("roi", ())
    if roi is not None and (not roi or len(roi) % 2):
        raise SpecError(f"{_CROP} needs a roi of a start and an end for every resized axis, not {list(roi)}")
    windows = None if roi is None else tuple(zip(roi[: len(roi) // 2], roi[len(roi) // 2 :], strict=True))
    outside = attributes.get("extrapolation_value", 0.0)
    return Crop(roi=windows, extrapolation=outside, scales_window=document and "scales" in attributes)


def _rounds_down(attributes: Attributes) -> bool:
    """Return whether half a pixel more makes no difference."""
    return attributes["mode"] == "nearest" and attributes["nearest_mode"] in ("floor", "round_prefer_floor")


def _target(attributes: Attributes) -> Sizes | Scales | AtRunTime:
    named = [kind for kind in ("sizes", "scales") if kind in attributes]
    if len(named) != 1:
        problem = "both given; they exclude each other" if named else "both missing; one of them is needed"
        raise SpecError(f"sizes and scales are {problem}")
    values = attributes[named[0]]
    if values is None:
        return AtRunTime(named[0])
    return Sizes(tuple(values)) if named[0] == "sizes" else Scales(tuple(values))


def observed(spec: ResizeSpec, attributes: Attributes, context: Context) -> ResizeSpec:
    """Return what onnxruntime computes for a node that means ``spec``. Raises SpecError if no spec expresses that."""
    known: dict[str, Any] = {
        "version": context.version,
        "shape": context.shape,
        "dtype": context.dtype,
        "attributes": attributes,
    }
    outcome = onnxruntime.outcome(ResizeOp(name="", where="", spec=spec, dialect=DIALECT.name, **known))
    if outcome.spec is None:
        raise SpecError(f"semantics observed: no resize describes what onnxruntime computes: {outcome.reason}")
    if outcome.provided:
        raise SpecError(f"semantics observed: onnxruntime computes what is meant only provided that {outcome.provided}")
    return outcome.spec


def with_roi(attributes: Attributes, shape: PartialShape | None) -> Attributes:
    """Return the attributes of a node; a crop without a roi gets onnxruntime's default, the whole image."""
    if "roi" in attributes or attributes.get("coordinate_transformation_mode") != _CROP:
        return attributes
    listed = (attributes.get(name) for name in ("axes", "sizes", "scales"))
    count = next((len(values) for values in (*listed, shape) if values is not None), 0)
    return {**attributes, "roi": [0.0] * count + [1.0] * count}


DIALECT = Dialect(
    name="onnx",
    versions=(19, 18, 13, 11, 10, 9, 7),
    vocabulary={
        "mode": {"nearest": since(7), "linear": since(7), "cubic": since(11)},
        "coordinate_transformation_mode": {
            "half_pixel": since(11),
            "asymmetric": since(11),
            "align_corners": since(11),
            "pytorch_half_pixel": since(11),
            "half_pixel_symmetric": since(19),
            "tf_half_pixel_for_nn": range(11, 13),
            _CROP: since(11),
        },
        "nearest_mode": {
            "round_prefer_floor": since(11),
            "round_prefer_ceil": since(11),
            "floor": since(11),
            "ceil": since(11),
        },
        "antialias": {0: since(18), 1: since(18)},
        "exclude_outside": {0: since(11), 1: since(11)},
        "keep_aspect_ratio_policy": {"stretch": since(18), "not_larger": since(18), "not_smaller": since(18)},
    },
    numbers={
        "a": ("cubic_coeff_a", since(11)),
        "extrapolation": ("extrapolation_value", since(11)),
        "axes": ("axes", since(18)),
        "sizes": ("sizes", since(11)),
        "scales": ("scales", since(7)),
        "roi": ("roi", since(11)),
    },
    defaults={
        "mode": ("nearest", since(7)),
        "coordinate_transformation_mode": ("half_pixel", since(11)),
        "nearest_mode": ("round_prefer_floor", since(11)),
        "antialias": (0, since(18)),
        "exclude_outside": (0, since(11)),
        "keep_aspect_ratio_policy": ("stretch", since(18)),
    },
    # tf2onnx writes the first into newer opsets; onnxruntime and OpenVINO read both as in the opsets that define them.
    tolerated={
        "coordinate_transformation_mode": {"tf_half_pixel_for_nn": since(13), "half_pixel_symmetric": range(11, 19)}
    },
    omitted={"antialias": 0, "exclude_outside": 0, "keep_aspect_ratio_policy": "stretch"},
    read=read,
    observed=observed,
)
