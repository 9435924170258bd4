"""ncnn, by its converter pnnx: an Interp with align_corners or half pixels, and one nearest (1.0.20261020)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Coordinates, Crop, Cubic, Linear, Nearest, ResizeSpec, Rounding, Scales, Step

from .image_runtimes import FLOATS, HEIGHT_AND_WIDTH, image_outcome
from .outcome import (
    FLOOR,
    HALF_PIXEL_LINEAR,
    NO_ANTIALIAS,
    PLAIN_CUBIC,
    RESIZE_10,
    UPSAMPLE,
    Functions,
    Outcome,
    Reading,
    Surroundings,
    changing_axes,
    crashes,
    differs,
    geometry,
    refused,
    settled,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

_ALWAYS_LONGER = 2  # the scale from which on no size stays the same


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    reason = _refusal(op, may_change)
    if reason:
        return refused(reason)
    if "int" in (op.dtype or ""):
        if isinstance(op.spec.kernel, Cubic):
            return crashes("its converter crashes on a cubic of integers")
        others = sorted(may_change - HEIGHT_AND_WIDTH)
        return differs("it returns float32", f"axes {others} keep their sizes" if others else "")
    old = (FLOOR, HALF_PIXEL_LINEAR, _copying(op))
    new = (NO_ANTIALIAS, PLAIN_CUBIC, _OWN_NEAREST, _OWN_PLACES, _copying(op))
    return image_outcome(op, may_change, old if op.version in UPSAMPLE else new, dtypes=FLOATS)


def _refusal(op: ResizeOp, may_change: Set[int]) -> str:
    if op.version == RESIZE_10:
        return "its converter does not support Resize-10"
    if op.attributes.get("axes") is not None:
        return "its converter does not support axes"
    if isinstance(op.spec.coordinates, Crop):
        return "its converter does not support crops"
    if changing_axes(op, may_change) - HEIGHT_AND_WIDTH:
        return "its converter resizes height and width only"
    if op.attributes.get("nearest_mode", "floor") != "floor" and isinstance(op.spec.kernel, Nearest):
        return "its converter supports nearest_mode floor or none only"
    return ""


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the outcome of a node that its converter refuses for the graph around it."""
    if around.functions is Functions.LEAVING_OUT:
        return refused("its converter crashes on a function whose nodes leave out inputs; inline it")
    if around.levels and not around.levels.are_stored:
        return refused("it has no DequantizeLinear")
    loops = around.refused_in({"Loop", "Scan"})
    if loops:
        return loops
    if not all(body.is_decided for body in around.bodies):
        return refused("it has no If")
    if any(body.reads_stored for body in around.bodies):
        return refused("its converter crashes on an If whose branches alone read an initialiser")
    return unknown("an If with a constant condition") if around.bodies else None


def _nearest(spec: ResizeSpec) -> ResizeSpec:
    if not isinstance(spec.kernel, Nearest):
        return spec
    return replace(spec, coordinates=Coordinates.ASYMMETRIC, kernel=Nearest(rounding=Rounding.FLOOR))


def _places(spec: ResizeSpec) -> ResizeSpec:
    if isinstance(spec.kernel, Nearest) or spec.coordinates is Coordinates.ALIGN_CORNERS:
        return spec
    return replace(spec, coordinates=Coordinates.HALF_PIXEL)


def _copying(op: ResizeOp) -> Reading:
    """Return the reading of a resize that may keep its size, though its scale is not 1."""
    at, is_linear = geometry(settled(op)), isinstance(op.spec.kernel, Linear)
    scales = op.spec.target.values if isinstance(op.spec.target, Scales) else ()
    may_keep = any(1 < scale < _ALWAYS_LONGER for scale in scales)
    keeps = may_keep if at is None else bool(at.keeping) and (is_linear or not at.changing)

    def taken(spec: ResizeSpec) -> ResizeSpec:
        step = Step.GIVEN_UNLESS_EQUAL if is_linear else Step.GIVEN_UNLESS_ALL_EQUAL
        return replace(spec, step=step) if keeps and spec.gives_scales else spec

    return Reading(
        "its linear copies an axis that keeps its size" if is_linear else "it copies an image that keeps both sizes",
        taken,
    )


_OWN_NEAREST = Reading("its nearest is asymmetric and rounds down", _nearest)
_OWN_PLACES = Reading("it computes every mode but align_corners as half_pixel", _places)


def _run(model: str, x: Array) -> Array:
    import subprocess
    from importlib.util import find_spec
    from pathlib import Path

    import ncnn

    pnnx: Any = find_spec("pnnx")  # the package itself imports torch
    files = {
        end: f"{model}.{end}"
        for end in ("pnnxparam", "pnnxbin", "pnnxpy", "pnnxonnx", "ncnnparam", "ncnnbin", "ncnnpy")
    }
    # pnnx traces the model on an input of this shape and type, as in [1,3,4,4]f32.
    options = [f"inputshape={[*x.shape]}{x.dtype.kind}{8 * x.itemsize}".replace(" ", ""), "fp16=0"]
    command = [str(Path(pnnx.origin).with_name("pnnx")), model, *options, *map("=".join, files.items())]
    subprocess.run(command, check=True, capture_output=True)
    net = ncnn.Net()
    # By default, it stores and sums in half precision where the processor can.
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    if net.load_param(files["ncnnparam"]) or net.load_model(files["ncnnbin"]) or not net.output_names():
        raise ValueError(Path(files["ncnnparam"]).read_text())
    # Its script names the axis of the batch in inputs and outputs: Transposes may move it.
    batches = [int(end.split(")")[0]) for end in Path(files["ncnnpy"]).read_text().split("batch_index=")[1:]]
    image = x.astype(np.float32)  # a Mat refers to its array
    extractor = net.create_extractor()
    extractor.input(net.input_names()[0], ncnn.Mat(image, batch_index=batches[0]).clone())
    output = extractor.extract(net.output_names()[0])[1]  # to which its array refers
    return np.array(output.numpy(batch_index=batches[:2][-1])).astype(x.dtype if x.dtype.kind == "f" else np.float32)


RUNTIME = Runtime(
    name="ncnn",
    title="ncnn",
    version="1.0.20261020",
    of_node=outcome,
    takes_functions=True,
    among=among,
    accepts=Accepted(primitives=False),
    runner=Runner(package="ncnn", distribution="ncnn", run=_run, also=("pnnx",)),
)
