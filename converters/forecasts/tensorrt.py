"""What TensorRT's ONNX importer makes of a node."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from ir_interp.errors import InexactError, IrInterpError, SpecError
from ir_interp.op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.spec import AtRunTime, Scales, Sizes
from ir_interp.translation.dialect import Context
from ir_interp.translation.translate import write

from ..dialects.tensorrt import DIALECT
from ..onnx.resizes import FoundNode
from ..runtimes.outcome import Forecast, refused
from .forecast import keeps_aspect

_TENSORRT_ROUNDING = {
    "floor": "FLOOR",
    "ceil": "CEIL",
    "round_prefer_floor": "HALF_DOWN",
    "round_prefer_ceil": "HALF_UP",
}
_TENSORRT_COORDINATES = {
    "half_pixel": {"coordinate_transformation": "HALF_PIXEL"},
    "asymmetric": {"coordinate_transformation": "ASYMMETRIC"},
    "align_corners": {"coordinate_transformation": "ALIGN_CORNERS"},
    "pytorch_half_pixel": {"coordinate_transformation": "HALF_PIXEL", "selector_for_single_pixel": "UPPER"},
    "tf_half_pixel_for_nn": {"coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "CEIL"},
}


_AT_RUN_TIME = {"shape": None}  # stands in for a target that is open


def tensorrt_importer(node: FoundNode) -> Forecast:
    """Return what TensorRT's ONNX importer makes of a node, by its source; nothing of TensorRT was run."""
    op = node.op
    reason = _tensorrt_refuses(node)
    if reason:
        return refused(reason)
    target = _tensorrt_target(node)
    try:
        spec = DIALECT.parse(_settings(node) | (target or _AT_RUN_TIME), _context(node))
    except IrInterpError as error:
        return refused(str(error))
    return Forecast(spec=spec if target else replace(spec, target=op.spec.target, axes=op.spec.axes))


def remarks(node: FoundNode) -> tuple[tuple[str, str], ...]:
    """Return codes and messages about the layer that TensorRT's importer makes of a node: what keeps it off DLA."""
    if tensorrt_importer(node).spec is None:
        return ()
    dialect, context = DIALECT, _context(node)
    settings = _settings(node) | (_tensorrt_target(node) or _AT_RUN_TIME)
    return dialect.remarks(dialect.complete(settings, context.version), context)


def layer_remarks(op: ResizeOp) -> tuple[tuple[str, str], ...]:
    """Return codes and messages about the layer that this program makes of a resize; none where it makes none."""
    with suppress(InexactError, SpecError):
        return write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype).remarks
    return ()


def _context(node: FoundNode) -> Context:
    dtype = "float32" if node.op.dtype == "float64" else node.op.dtype  # the importer casts doubles
    return Context(version=10, shape=node.op.shape, dtype=dtype)


def _settings(node: FoundNode) -> dict[str, Any]:
    """Return what the importer sets, but for the target."""
    words = node.words
    settings: dict[str, Any] = {"resize_mode": words.get("mode", "nearest").upper()}
    if node.op.version > 10:
        settings["nearest_rounding"] = _TENSORRT_ROUNDING[words.get("nearest_mode", "round_prefer_floor")]
        settings |= _TENSORRT_COORDINATES[words.get("coordinate_transformation_mode", "half_pixel")]
        settings["exclude_outside"] = bool(words.get("exclude_outside"))
    if "cubic_coeff_a" in words:
        settings["cubic_coeff"] = words["cubic_coeff_a"]
    return settings


def _tensorrt_refuses(node: FoundNode) -> str:
    words = node.words
    coordinates = words.get("coordinate_transformation_mode", "half_pixel")
    if words.get("antialias"):
        return "the importer takes no antialias"
    if keeps_aspect(node):
        return "the importer takes no aspect policy"
    if node.op.version > 10 and coordinates not in _TENSORRT_COORDINATES:
        return f"the importer knows no {coordinates}"
    if (
        coordinates == "tf_half_pixel_for_nn"
        and words.get("nearest_mode", "round_prefer_floor") != "round_prefer_floor"
    ):
        return "the importer takes tf_half_pixel_for_nn with round_prefer_floor only"
    if coordinates == "tf_half_pixel_for_nn" and "sizes" in words:
        return "the importer reads no sizes under tf_half_pixel_for_nn"
    if node.op.spec.target is AtRunTime.SCALES and node.op.spec.axes is not None:
        return "the importer takes no scales of run time for some axes"
    if node.op.dtype in ("bool", "uint8"):
        return f"the importer does not resize {node.op.dtype}"
    return ""


def _tensorrt_target(node: FoundNode) -> dict[str, Any]:
    """Return the target for every axis, as the layer takes it."""
    target, shape = node.op.spec.target, node.op.shape
    if shape is None or not isinstance(target, Sizes | Scales):
        return {}
    given = dict(zip(resolve_axes(node.op.spec.axes, len(shape)), target.values, strict=True))
    if isinstance(target, Scales):
        return {"scales": tuple(float(given.get(axis, 1.0)) for axis in range(len(shape)))}
    whole = [given.get(axis, length) for axis, length in enumerate(shape)]
    return {} if None in whole else {"shape": tuple(whole)}
