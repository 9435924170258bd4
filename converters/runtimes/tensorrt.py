"""TensorRT: which element types it takes, and what its ONNX importer sets on an ``IResizeLayer`` (10.1).

Source: the importer of onnx-tensorrt, release 10.1 (importerUtils.cpp and onnxOpImporters.cpp, "Resize"), and the
operator page "Resize" of TensorRT 10. Nothing of TensorRT was run.
"""

from __future__ import annotations

from typing import Any

from ir_interp.op import ResizeOp
from ir_interp.spec import Aspect, AtRunTime

VERSION = "10.1, by its source"
LAYER_TYPES = ("bfloat16", "float16", "float32", "int8")
"""The element types of an IResizeLayer's input."""

NETWORK_TYPES = ("float32", "float16", "bfloat16", "int32", "int64")
"""The element types that the layers of a decomposed resize compute in."""

INNERMOST = {"NEAREST": 8, "LINEAR": 3, "CUBIC": 2}
"""How many of the last axes a mode resizes."""

MAX_RANK = 8
MAX_VOLUME = 2**31 - 1
"""The most elements of an input or output."""

NOTE = "TensorRT by its importer's source, not run"

_ROUNDINGS = {"floor": "FLOOR", "ceil": "CEIL", "round_prefer_floor": "HALF_DOWN", "round_prefer_ceil": "HALF_UP"}
_COORDINATES = {
    "half_pixel": {"coordinate_transformation": "HALF_PIXEL"},
    "asymmetric": {"coordinate_transformation": "ASYMMETRIC"},
    "align_corners": {"coordinate_transformation": "ALIGN_CORNERS"},
    "pytorch_half_pixel": {"coordinate_transformation": "HALF_PIXEL", "selector_for_single_pixel": "UPPER"},
    "tf_half_pixel_for_nn": {"coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "CEIL"},
}


def layer_settings(op: ResizeOp) -> dict[str, Any]:
    """Return what the importer sets for a node that it takes, but for the target."""
    given = op.attributes
    settings: dict[str, Any] = {"resize_mode": given.get("mode", "nearest").upper()}
    if op.version > 10:
        settings["nearest_rounding"] = _ROUNDINGS[given.get("nearest_mode", "round_prefer_floor")]
        settings |= _COORDINATES[given.get("coordinate_transformation_mode", "half_pixel")]
        settings["exclude_outside"] = bool(given.get("exclude_outside"))
    if "cubic_coeff_a" in given:
        settings["cubic_coeff"] = given["cubic_coeff_a"]
    return settings


def importer_refusal(op: ResizeOp) -> str:
    """Return why the importer does not take a node; nothing where it does."""
    coordinates = op.attributes.get("coordinate_transformation_mode", "half_pixel")
    if op.attributes.get("antialias"):
        return "the importer takes no antialias"
    if op.spec.aspect is not Aspect.STRETCH:
        return "the importer takes no aspect policy"
    if op.version > 10 and coordinates not in _COORDINATES:
        return f"the importer knows no {coordinates}"
    if coordinates == "tf_half_pixel_for_nn":
        if op.attributes.get("nearest_mode", "round_prefer_floor") != "round_prefer_floor":
            return "the importer takes tf_half_pixel_for_nn with round_prefer_floor only"
        if "sizes" in op.attributes:
            return "the importer reads no sizes under tf_half_pixel_for_nn"
    if op.spec.target is AtRunTime.SCALES and op.spec.axes is not None:
        return "the importer takes no scales of run time for some axes"
    if op.dtype in ("bool", "uint8"):
        return f"the importer does not resize {op.dtype}"
    return ""


def network_refusal(op: ResizeOp) -> str:
    """Return why a network does not compute in the type of a resize, by any layers; nothing where it does."""
    return "" if (op.dtype or "float32") in NETWORK_TYPES else f"TensorRT does not compute in {op.dtype}"
