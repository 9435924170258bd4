"""What onnxruntime makes of a node."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ir_interp.shapes import resolve_axes
from ir_interp.spec import (
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Nearest,
    ResizeSpec,
    Scales,
    Sizes,
)

from ..onnx.resizes import FoundNode
from ..runtimes.outcome import Forecast, differs, refused
from .forecast import Geometry, geometry, keeps_aspect, shrinks

_ONNXRUNTIME_TYPES = ("float32", "float16", "uint8", "int8", "int32")
_OUTER_TWO = {4: (0, 1), 5: (0, 1)}  # the axes that a resize of images or volumes leaves alone, by rank


def onnxruntime(node: FoundNode) -> Forecast:
    """Return what onnxruntime's CPU provider does."""
    taken = _as_taken(node)
    op, at = taken.op, geometry(taken)
    reason = _onnxruntime_refuses(taken, at)
    if reason:
        return refused(reason)
    fault = _onnxruntime_fault(taken, at)
    if fault:
        return fault
    kept = "" if taken is node else "it keeps the length of a negative axis under an aspect policy"
    return Forecast(spec=op.spec, reason=kept)


def _as_taken(node: FoundNode) -> FoundNode:
    """Return a node without the negative axes under an aspect policy: onnxruntime does not find them in its list."""
    axes, spec = node.words.get("axes") or (), node.op.spec
    if not keeps_aspect(node) or min(axes, default=0) >= 0 or not isinstance(spec.target, Sizes):
        return node
    found = [place for place, axis in enumerate(axes) if axis >= 0]
    coordinates = spec.coordinates if found else Coordinates.ASYMMETRIC  # of no axis at all: a copy
    if isinstance(coordinates, Crop) and coordinates.roi is not None:
        coordinates = replace(coordinates, roi=tuple(coordinates.roi[place] for place in found))
    spec = replace(
        spec,
        axes=tuple((spec.axes or ())[place] for place in found),
        target=Sizes(tuple(spec.target.values[place] for place in found)),
        coordinates=coordinates,
        aspect=spec.aspect if found else Aspect.STRETCH,
    )
    return replace(node, op=replace(node.op, spec=spec))


def _onnxruntime_refuses(node: FoundNode, at: Geometry | None) -> str:
    kernel, dtype = node.op.spec.kernel, node.op.dtype or "float32"
    filtered = kernel.is_antialiased
    if dtype not in _ONNXRUNTIME_TYPES:
        return f"no Resize of {dtype}"
    if node.words.get("exclude_outside") and not isinstance(kernel, Cubic) and not filtered:
        return "exclude_outside needs cubic, or antialias"
    if isinstance(kernel, Cubic) and not filtered and "int" in dtype and (at is None or at.changing):
        return f"no cubic Resize of {dtype}"
    target = node.op.spec.target
    if node.op.version < 10 and isinstance(target, Scales) and min(target.values, default=1) < 1:
        return "Upsample shrinks nothing"
    if isinstance(target, Sizes) and 0 in target.values:
        return "sizes of 0"
    if isinstance(kernel, Nearest) or at is None or not _onnxruntime_has_no_kernel(kernel, at, filtered):
        return ""
    mode = "cubic" if isinstance(kernel, Cubic) else "linear"
    return f"no {mode} Resize of axes {list(at.scaled)} at rank {len(at.lengths)}"


def _onnxruntime_has_no_kernel(kernel: Any, at: Geometry, filtered: bool) -> bool:
    """Say whether there is no kernel for these axes: images, volumes, and images whose channels come last."""
    rank, scaled = len(at.lengths), set(at.scaled)
    last = rank == 4 and not scaled & {0, 3}
    if isinstance(kernel, Cubic):
        return not (rank == 2 or (rank == 4 and (not scaled & {0, 1} or (last and (filtered or not shrinks(at))))))
    if rank in (4, 5):
        return bool(scaled & {*_OUTER_TWO[rank]}) and not last
    return rank not in (2, 3)


def _onnxruntime_fault(node: FoundNode, at: Geometry | None) -> Forecast | None:
    """Return what comes of a fault of onnxruntime, of those that docs/semantics.md lists."""
    spec, kernel = node.op.spec, node.op.spec.kernel
    if at is None:
        return None
    filtered = kernel.is_antialiased
    crops = isinstance(spec.coordinates, Crop)
    kept = [axis for axis in at.scaled if axis not in at.changing]
    last = len(at.lengths) == 4 and 1 in at.scaled and not {0, 3} & {*at.scaled}
    if filtered and node.op.dtype == "int8":
        return differs("it makes negative int8 zero under antialias")
    if not at.changing and kept:
        return Forecast(spec=replace(spec, **_COPY), reason="it copies where no length changes")
    if last and (crops or (isinstance(kernel, Cubic) and kept)) and (filtered or isinstance(kernel, Cubic)):
        return differs("it mixes up the axes of crops and cubics whose channels come last")
    if filtered and kept and not crops:
        return Forecast(spec=_without(spec, kept, at), reason="it copies an axis that keeps its length")
    if crops and _cropped(node, at):
        return differs("it ignores the crop of an axis whose scale is 1")
    return None


_COPY: dict[str, Any] = {
    "axes": (),
    "target": Sizes(()),
    "coordinates": Coordinates.ASYMMETRIC,
    "aspect": Aspect.STRETCH,
}


def _cropped(node: FoundNode, at: Geometry) -> bool:
    """Say whether an axis of scale 1 is cropped."""
    spec = node.op.spec
    axes = resolve_axes(spec.axes, len(at.lengths))
    windows = spec.coordinates.roi or () if isinstance(spec.coordinates, Crop) else ()
    pairs = zip(axes, windows, strict=False)
    return any(window != (0.0, 1.0) and at.scales[axis] == 1 and at.lengths[axis] > 1 for axis, window in pairs)


def _without(spec: ResizeSpec, axes: list[int], at: Geometry) -> ResizeSpec:
    """Return a resize that leaves some of its axes alone."""
    assert isinstance(spec.target, Sizes | Scales)
    listed = resolve_axes(spec.axes, len(at.lengths))
    kept = [(axis, value) for axis, value in zip(listed, spec.target.values, strict=True) if axis not in axes]
    values: Any = tuple(value for _, value in kept)
    return replace(spec, axes=tuple(axis for axis, _ in kept), target=type(spec.target)(values))
