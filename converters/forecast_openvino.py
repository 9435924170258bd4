"""What OpenVINO makes of a node, through its own ONNX frontend or converted here."""

from __future__ import annotations

from typing import Any

from converters import openvino_resize
from converters.forecasts import Forecast, Kind, differs, keeps_aspect, refused
from converters.onnx_resizes import FoundNode
from ir_interp.dialect import Context
from ir_interp.errors import InexactError, IrInterpError, SpecError
from ir_interp.geometry import resolve_axes
from ir_interp.op import ResizeOp
from ir_interp.spec import (
    Cubic,
    Linear,
    Nearest,
    Scales,
    Sizes,
)

OPENVINO_TYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64")
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
        return Forecast(spec=openvino_resize.DIALECT.parse(_interpolate(node), context), reason=_dropped(node))
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
    pads = {pad.axis: pad.begin + pad.end for pad in op.spec.pads}
    lengths = [None if (n := shape[axis]) is None else n + pads.get(axis, 0) for axis in axes]
    stay = [1.0] * len(axes) if isinstance(target, Scales) else lengths
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


def plugin_problem(op: ResizeOp, axes: set[int], *, full: bool) -> Forecast | None:
    """Return what OpenVINO's CPU plugin does to axes that it has no kernel for.

    ``axes`` are those that are resized, ``full`` says that there is a target for every axis.
    """
    kernel, rank = op.spec.kernel, len(op.shape) if op.shape is not None else 0
    listed = axes if full else set(resolve_axes(op.spec.axes, rank))
    if isinstance(kernel, Linear) and rank > 5:
        return Forecast(kind=Kind.CRASHES, reason=f"a linear Interpolate of rank {rank} corrupts memory")
    if (rank == 4 or not isinstance(kernel, Cubic)) and _is_not_spatial(rank, axes, listed, full):
        return refused("the plugin resizes spatial dimensions only")
    if isinstance(kernel, Cubic) and _cubic_overruns(rank, listed, full):
        return Forecast(kind=Kind.CRASHES, reason=f"a cubic Interpolate of axes {sorted(listed)} corrupts memory")
    if isinstance(kernel, Cubic) and rank > 4 and op.dtype in ("int8", "uint8"):
        return differs(f"the plugin wraps {op.dtype} around in a cubic Interpolate of rank {rank}")
    if rank > (4 if isinstance(kernel, Cubic) else 5) and op.dtype in ("int32", "int64"):
        return refused(f"the plugin has no Interpolate of rank {rank} for {op.dtype}")
    return None


def _cubic_overruns(rank: int, axes: set[int], full: bool) -> bool:
    if rank == 3:
        return 0 in axes and (full or len(axes) > 1)
    return rank == 4 and (len(axes) > 2 or (full and min(axes, default=2) < 2))


def _is_not_spatial(rank: int, axes: set[int], listed: set[int], full: bool) -> bool:
    """Say whether batch, or channels of volumes, are resized with more axes listed than a picture or volume has."""
    counted = full or len(listed) > {4: 2, 5: 3}.get(rank, rank)
    return counted and min(axes, default=rank) < {4: 1, 5: 2}.get(rank, 0)


def openvino_converted(node: FoundNode) -> Forecast:
    """Return what OpenVINO does with what this program converts a node to."""
    from converters.openvino_nodes import one_op_model

    try:
        one_op_model(node.op)
    except (InexactError, SpecError) as refusal:
        return refused(getattr(refusal, "reason", "") or str(refusal))
    return Forecast(spec=node.op.spec)


def precision_note(op: ResizeOp) -> str:
    """Return what OpenVINO's CPU plugin loses of an element type."""
    averaged = op.dtype == "uint32" and not isinstance(op.spec.kernel, Nearest)
    if op.dtype in ("int64", "uint64") or averaged:
        return f"OpenVINO's CPU plugin holds {op.dtype} in 32 bits, with a sign"
    if op.dtype == "float64":
        return "OpenVINO's CPU plugin computes in float32"
    return ""
