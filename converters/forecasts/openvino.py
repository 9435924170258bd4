"""What OpenVINO makes of a node, through its own ONNX frontend or converted here."""

from __future__ import annotations

from typing import Any

from ir_interp.errors import IrInterpError
from ir_interp.op import ResizeOp
from ir_interp.shapes import resolve_axes
from ir_interp.spec import (
    Nearest,
    Scales,
    Sizes,
)
from ir_interp.translation.dialect import Context

from ..dialects.openvino import DIALECT
from ..onnx.resizes import FoundNode
from ..runtimes.openvino import OPENVINO_TYPES, plugin_problem
from ..runtimes.outcome import Forecast, refused
from .forecast import keeps_aspect

_OPENVINO_MODES = {"nearest": "nearest", "linear": "linear_onnx", "cubic": "cubic"}
_OPENVINO_LACKS = ("tf_crop_and_resize", "half_pixel_symmetric")


def openvino_frontend(node: FoundNode) -> Forecast:
    """Return what OpenVINO's own ONNX frontend and its CPU plugin do."""
    op, words = node.op, node.words
    coordinates = words.get("coordinate_transformation_mode", "half_pixel")
    if op.version > 10 and coordinates in _OPENVINO_LACKS:
        return refused(f"the frontend knows no {coordinates}")
    if (op.dtype or "float32") not in OPENVINO_TYPES:
        return refused(f"Interpolate does not take {op.dtype}")
    if min(words.get("axes") or (0,)) < 0:
        return refused("the frontend takes no negative axes")
    problem = plugin_problem(op, resized_axes(op), full=words.get("axes") is None)
    if problem:
        return problem
    try:
        context = Context(version=11, shape=op.shape)
        return Forecast(spec=DIALECT.parse(_interpolate(node), context), reason=_dropped(node))
    except IrInterpError as error:
        return refused(str(error))


def resized_axes(op: ResizeOp) -> set[int]:
    """Return the axes that an Interpolate resizes, as far as lengths tell; it knows no aspect policies."""
    target, shape = op.spec.target, op.shape
    if shape is None:
        return set(op.spec.axes or ())
    axes = resolve_axes(op.spec.axes, len(shape))
    if not isinstance(target, Sizes | Scales):
        return set(axes) if op.spec.axes is not None else set()
    padded = op.spec.padded(shape)
    stay = [1.0] * len(axes) if isinstance(target, Scales) else [padded[axis] for axis in axes]
    return {axis for axis, value, same in zip(axes, target.values, stay, strict=True) if value != same}


def _interpolate(node: FoundNode) -> dict[str, Any]:
    """Return the attributes of the Interpolate-11 that the frontend makes: what it does not know, it leaves out."""
    words, version = node.words, node.op.version
    said: dict[str, Any] = {"mode": _OPENVINO_MODES[words.get("mode", "nearest")]}
    said["shape_calculation_mode"] = "sizes" if "sizes" in words else "scales"
    said["coordinate_transformation_mode"] = words.get("coordinate_transformation_mode", "half_pixel")
    said["nearest_mode"] = words.get("nearest_mode", "round_prefer_floor")
    if version == 10:
        said |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "simple"}
    elif version < 10 and said["mode"] == "linear_onnx":
        said["coordinate_transformation_mode"] = "asymmetric"
    if "cubic_coeff_a" in words:
        said["cube_coeff"] = words["cubic_coeff_a"]
    return said | {name: words[name] for name in ("axes", "sizes", "scales") if name in words}


def _dropped(node: FoundNode) -> str:
    """Return what the frontend, or the plugin, leaves out."""
    dropped = [name for name in ("antialias", "exclude_outside") if node.words.get(name)]
    if keeps_aspect(node):
        dropped.append("keep_aspect_ratio_policy")
    if node.op.version < 10 and isinstance(node.op.spec.kernel, Nearest):
        return "an Upsample becomes half_pixel with round_prefer_floor"
    return f"{' and '.join(dropped)} dropped" if dropped else ""
