"""OpenVINO: how its ONNX frontend converts a Resize, in today's release and in earlier ones (2023.3 to 2026.4).

Each rule was found by running nodes; docs/semantics.md names the tests. What the plugin does with the layers that the
frontend writes is in ``openvino_layers``.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ir_interp.errors import IrInterpError
from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Aspect, Nearest
from ir_interp.translation.dialect import Context

from .openvino_layers import (
    LAYER_RELEASES,
    SPATIAL_ONLY,
    TYPES,
    interpolate,
    layer,
    plugin,
    resized_axes,
    takes_no_float64,
)
from .outcome import Outcome, changing_axes, computes, refused
from .runtime import Accepted, Release, Runner, Runtime

_IMAGE = 4  # axes of a batch of images
_MODES = {"nearest": "nearest", "linear": "linear_onnx", "cubic": "cubic"}
_UNKNOWN_COORDINATES = ("tf_crop_and_resize", "half_pixel_symmetric")


def frontend(op: ResizeOp, changing: frozenset[int] | None = None) -> Outcome:
    """Return the outcome of an ONNX node that the frontend converts. ``op.attributes`` are those of the node.

    ``changing`` are the axes that count as resized, by default all that are not known to keep their size.
    """
    reason = _frontend_refusal(op)
    if reason:
        return refused(reason)
    try:
        outcome = plugin(interpolate(op, frontend_mode(op), changing))
        return outcome or computes(DIALECT.parse(_attributes(op), Context(version=11, shape=op.shape)), _dropped(op))
    except IrInterpError as error:
        return refused(str(error))


def _frontend_refusal(op: ResizeOp) -> str:
    """Return why the frontend refuses a node, whatever its shape."""
    coordinates = op.attributes.get("coordinate_transformation_mode", "half_pixel")
    if op.version > 10 and coordinates in _UNKNOWN_COORDINATES:
        return f"the frontend does not support {coordinates}"
    if (op.dtype or "float32") not in TYPES:
        return f"Interpolate does not take {op.dtype}"
    return "the frontend does not support negative axes" if min(op.spec.axes or (0,)) < 0 else ""


def among_known(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node of a graph; it assumes that axes keep their size where that is undecided.

    ``stated`` is the node as the file has it, whose dimensions may be dynamic where those of ``op`` were chosen.
    """
    sure = frozenset(changing_axes(op, may_change))
    outcome = batch_fault(op, sure, stated) or frontend(op, sure)
    # An undecided axis matters if its change alone makes the node fail.
    open_axes = sorted(axis for axis in may_change - sure if frontend(op, sure | {axis}).spec is None)
    if outcome.spec is None or not open_axes:
        return outcome
    return replace(outcome, provided=f"axes {open_axes} keep their sizes")


def is_batch_of_dynamic_images(sure: Set[int], stated: ResizeOp) -> bool:
    """Return whether a node resizes the batch of an image of which some dimension is dynamic."""
    shape = stated.shape or ()
    return None in shape and 0 in sure and len(shape) == _IMAGE


def batch_fault(op: ResizeOp, sure: Set[int], stated: ResizeOp) -> Outcome | None:
    """Return the outcome of a node that resizes the batch of an image whose file has a dynamic dimension.

    With more than two axes listed, several threads refuse it as for static shapes; one thread computes something else.
    """
    if not is_batch_of_dynamic_images(sure, stated) or _frontend_refusal(op):
        return None
    listed = plugin(interpolate(op, frontend_mode(op), frozenset(sure)))
    if listed is None or listed.reason != SPATIAL_ONLY:
        return None
    return refused(f"{SPATIAL_ONLY}; on a single thread it returns another size, or garbage")


def frontend_mode(op: ResizeOp) -> str:
    """Return the mode of the Interpolate that the frontend writes for an ONNX node."""
    return _MODES[op.attributes.get("mode", "nearest")]


def _attributes(op: ResizeOp) -> dict[str, Any]:
    """Return the attributes of the Interpolate-11 that the frontend writes: it drops unknown ones."""
    attributes = op.attributes
    layer: dict[str, Any] = {"mode": frontend_mode(op)}
    layer["shape_calculation_mode"] = "sizes" if "sizes" in attributes else "scales"
    layer["coordinate_transformation_mode"] = attributes.get("coordinate_transformation_mode", "half_pixel")
    layer["nearest_mode"] = attributes.get("nearest_mode", "round_prefer_floor")
    if op.version == 10:
        layer |= {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "simple"}
    elif op.version < 10 and layer["mode"] == "linear_onnx":
        layer["coordinate_transformation_mode"] = "asymmetric"
    if "cubic_coeff_a" in attributes:
        layer["cube_coeff"] = attributes["cubic_coeff_a"]
    return layer | {name: attributes[name] for name in ("axes", "sizes", "scales") if name in attributes}


def _dropped(op: ResizeOp) -> str:
    """Return the attributes that the frontend, or the plugin, drops."""
    dropped = [name for name in ("antialias", "exclude_outside") if op.attributes.get(name)]
    if op.spec.aspect is not Aspect.STRETCH:
        dropped.append("keep_aspect_ratio_policy")
    if op.version < 10 and isinstance(op.spec.kernel, Nearest):
        return "an Upsample becomes half_pixel with round_prefer_floor"
    return f"{' and '.join(dropped)} dropped" if dropped else ""


# Release by release: how earlier ONNX frontends and CPU plugins computed nodes that today's compute.
#
# Each rule was found by running the same 700 random nodes in 2023.3, 2024.6, 2025.4 and 2026.4 (docs/runtimes.md);
# 2023.3 and 2024.6 gave the same results for all of them.

# Behind the batch and the channels.
_FIRST_SPATIAL = 2
_OF_IMAGES = (3, 4)  # ranks


def _reads_no_axes(op: ResizeOp) -> Outcome | None:
    axes, rank = op.spec.axes, len(op.shape or ())
    if axes is None or not rank:
        return None
    if len(axes) != rank:
        return refused("the frontend ignores axes, and needs sizes and scales for every axis")
    rest = {name: value for name, value in op.attributes.items() if name != "axes"}
    plain = replace(op, spec=replace(op.spec, axes=None), attributes=rest)
    outcome = _resizes_spatial_axes(plain) or frontend(plain)
    return replace(outcome, reason=outcome.reason or "axes dropped") if axes != tuple(range(rank)) else outcome


def _resizes_spatial_axes(op: ResizeOp) -> Outcome | None:
    rank = len(op.shape or ())
    if rank in _OF_IMAGES and min(resized_axes(op), default=rank) < _FIRST_SPATIAL:
        return refused(SPATIAL_ONLY)
    return None


_release = partial(Release, otherwise=frontend)
_RELEASES = {
    "2024.6": _release(version="2023.3 to 2024.6", rules=(takes_no_float64, _reads_no_axes, _resizes_spatial_axes)),
    "2025.4": _release(version="2025.4", rules=(takes_no_float64,)),
    "2026.4": _release(version="2026.4"),
}


def _run(model: str, x: Array) -> Array:
    import openvino

    # By default, it computes in bfloat16 where the processor can.
    # One thread takes other paths than several, which are the default.
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1}
    compiled = openvino.Core().compile_model(model, "CPU", settings)
    results = compiled([x])
    return np.array(results[compiled.output(0)])


RUNTIME = Runtime(
    name="openvino",
    title="OpenVINO",
    version="2026.4",
    reader="{} reading .onnx",
    is_asked=True,
    of_node=among_known,
    alone=frontend,
    of_layer=layer,
    takes_functions=False,
    accepts=Accepted(),
    runner=Runner(package="openvino", distribution="openvino", run=_run),
    releases=_RELEASES,
    layer_releases=LAYER_RELEASES,
)
