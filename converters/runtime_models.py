"""What each runtime makes of an ONNX Resize or Upsample: what it refuses, and which resize it computes.

Tables and rules, each seen in the version that ``RUNTIMES`` names (docs/looking.md); TensorRT's are those of its
importer's source.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from converters import onnx_resize, openvino_resize, tensorrt_resize
from converters.onnx_resizes import FoundNode
from ir_interp.dialect import Context, Semantics
from ir_interp.errors import InexactError, IrInterpError, SpecError
from ir_interp.geometry import plan, resolve_axes
from ir_interp.op import ResizeOp
from ir_interp.spec import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    Linear,
    Nearest,
    ResizeSpec,
    Scales,
    Sizes,
)
from ir_interp.translate import write


class Kind(Enum):
    """What comes of a resize in a runtime."""

    SAME = "same"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHES = "crashes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What a runtime would do: compute ``spec``, or if there is none, ``kind`` without a number, for ``reason``."""

    spec: ResizeSpec | None = None
    kind: Kind = Kind.SAME
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """A runtime: the version that its rules were seen in, and these."""

    title: str
    version: str
    forecast: Callable[[FoundNode], Forecast]


def _refused(reason: str) -> Forecast:
    return Forecast(kind=Kind.REFUSED, reason=reason)


def _differs(reason: str) -> Forecast:
    return Forecast(kind=Kind.DIFFERS, reason=reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """Lengths and scales of every axis of a node, where all are known."""

    lengths: tuple[int, ...]
    outputs: tuple[int, ...]
    scales: tuple[float, ...]

    @property
    def scaled(self) -> tuple[int, ...]:
        """The axes whose scale is not 1."""
        return tuple(axis for axis, scale in enumerate(self.scales) if scale != 1)

    @property
    def changing(self) -> tuple[int, ...]:
        """The axes whose length changes."""
        return tuple(axis for axis, (n, m) in enumerate(zip(self.lengths, self.outputs, strict=True)) if n != m)


def geometry(node: FoundNode) -> Geometry | None:
    """Return the geometry of a node as onnxruntime computes it; None where a length is open."""
    spec, shape = node.op.spec, node.op.shape
    if shape is None or None in shape or not isinstance(spec.target, Sizes | Scales):
        return None
    known = tuple(length for length in shape if length is not None)
    bound = plan(spec, known)
    scales = {axis.axis: float(axis.scale) for axis in bound.axes}
    if isinstance(spec.target, Scales):
        scales |= dict(zip(resolve_axes(spec.axes, len(known)), spec.target.values, strict=True))
    every = tuple(scales.get(axis, 1.0) for axis in range(len(known)))
    return Geometry(lengths=known, outputs=bound.out_shape, scales=every)


def _shrinks(at: Geometry | None) -> bool:
    return at is None or any(scale < 1 for scale in at.scales)


# onnxruntime

_ONNXRUNTIME_TYPES = ("float32", "float16", "uint8", "int8", "int32")
_OUTER_TWO = {4: (0, 1), 5: (0, 1)}  # the axes that a resize of images or volumes leaves alone, by rank


def onnxruntime(node: FoundNode) -> Forecast:
    """Return what onnxruntime's CPU provider does."""
    op, at = node.op, geometry(node)
    if _keeps_aspect(node) and min(node.words.get("axes") or (0,)) < 0 and op.dtype in _ONNXRUNTIME_TYPES:
        return _differs("it keeps the length of a negative axis under an aspect policy")
    reason = _onnxruntime_refuses(node, at)
    if reason:
        return _refused(reason)
    fault = _onnxruntime_fault(node, at)
    if fault:
        return fault
    return Forecast(spec=op.spec)


def _onnxruntime_refuses(node: FoundNode, at: Geometry | None) -> str:
    kernel, dtype = node.op.spec.kernel, node.op.dtype or "float32"
    filtered = isinstance(kernel, Linear | Cubic) and kernel.antialias is not Antialias.OFF
    if dtype not in _ONNXRUNTIME_TYPES:
        return f"no Resize of {dtype}"
    if node.words.get("exclude_outside") and not isinstance(kernel, Cubic) and not filtered:
        return "exclude_outside needs cubic, or antialias"
    if isinstance(kernel, Cubic) and not filtered and "int" in dtype:
        return f"no cubic Resize of {dtype}"
    if node.op.version < 10 and at is not None and min(at.scales) < 1:
        return "Upsample shrinks nothing"
    if isinstance(node.op.spec.target, Sizes) and 0 in node.op.spec.target.values:
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
        return not (rank == 2 or (rank == 4 and (not scaled & {0, 1} or (last and (filtered or not _shrinks(at))))))
    if rank in (4, 5):
        return bool(scaled & {*_OUTER_TWO[rank]}) and not last
    return rank not in (2, 3)


def _onnxruntime_fault(node: FoundNode, at: Geometry | None) -> Forecast | None:
    """Return what comes of a fault of onnxruntime, of those that docs/semantics.md lists."""
    spec, kernel = node.op.spec, node.op.spec.kernel
    if at is None:
        return None
    filtered = isinstance(kernel, Linear | Cubic) and kernel.antialias is not Antialias.OFF
    crops = isinstance(spec.coordinates, Crop)
    kept = [axis for axis in at.scaled if axis not in at.changing]
    last = len(at.lengths) == 4 and 1 in at.scaled and not {0, 3} & {*at.scaled}
    if filtered and node.op.dtype == "int8":
        return _differs("it makes negative int8 zero under antialias")
    if not at.changing and kept:
        return Forecast(spec=replace(spec, **_COPY), reason="it copies where no length changes")
    if last and (crops or (isinstance(kernel, Cubic) and kept)) and (filtered or isinstance(kernel, Cubic)):
        return _differs("it mixes up the axes of crops and cubics whose channels come last")
    if filtered and kept and not crops:
        return Forecast(spec=_without(spec, kept, at), reason="it copies an axis that keeps its length")
    if crops and _cropped(node, at):
        return _differs("it ignores the crop of an axis whose scale is 1")
    return None


_COPY: dict[str, Any] = {
    "axes": (),
    "target": Sizes(()),
    "coordinates": Coordinates.ASYMMETRIC,
    "aspect": Aspect.STRETCH,
}


def _keeps_aspect(node: FoundNode) -> bool:
    return bool(node.words.get("keep_aspect_ratio_policy", "stretch") != "stretch")


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


# OpenVINO's own ONNX frontend

_OPENVINO_TYPES = ("float32", "float16", "bfloat16", "float64", "int8", "uint8", "int32", "int64")
_OPENVINO_MODES = {"nearest": "nearest", "linear": "linear_onnx", "cubic": "cubic"}
_OPENVINO_LACKS = ("tf_crop_and_resize", "half_pixel_symmetric")


def openvino_frontend(node: FoundNode) -> Forecast:
    """Return what OpenVINO's own ONNX frontend and its CPU plugin do."""
    op, words = node.op, node.words
    coordinates = words.get("coordinate_transformation_mode", "half_pixel")
    if op.version > 10 and coordinates in _OPENVINO_LACKS:
        return _refused(f"the frontend knows no {coordinates}")
    if (op.dtype or "float32") not in _OPENVINO_TYPES:
        return _refused(f"Interpolate does not take {op.dtype}")
    if min(words.get("axes") or (0,)) < 0:
        return _refused("the frontend takes no negative axes")
    problem = plugin_problem(op, _resized(op), full=words.get("axes") is None)
    if problem:
        return problem
    try:
        context = Context(version=11, shape=op.shape)
        return Forecast(spec=openvino_resize.DIALECT.parse(_interpolate(node), context), reason=_dropped(node))
    except IrInterpError as error:
        return _refused(str(error))


def _resized(op: ResizeOp) -> set[int]:
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
    if _keeps_aspect(node):
        dropped.append("keep_aspect_ratio_policy")
    if node.op.version < 10 and isinstance(node.op.spec.kernel, Nearest):
        return "an Upsample becomes half_pixel with round_prefer_floor"
    return f"{' and '.join(dropped)} dropped" if dropped else ""


def plugin_problem(op: ResizeOp, axes: set[int], *, full: bool) -> Forecast | None:
    """Return what OpenVINO's CPU plugin does to axes that it has no kernel for.

    ``axes`` are those that are resized, ``full`` says that there is a target for every axis.
    """
    kernel, rank = op.spec.kernel, len(op.shape) if op.shape is not None else 0
    if isinstance(kernel, Linear) and rank > 5:
        return Forecast(kind=Kind.CRASHES, reason=f"a linear Interpolate of rank {rank} corrupts memory")
    if (rank == 4 or not isinstance(kernel, Cubic)) and _is_not_spatial(rank, axes, full):
        return _refused("the plugin resizes spatial dimensions only")
    if isinstance(kernel, Cubic) and _cubic_overruns(rank, axes, full):
        return Forecast(kind=Kind.CRASHES, reason=f"a cubic Interpolate of axes {sorted(axes)} corrupts memory")
    if isinstance(kernel, Cubic) and rank > 4 and op.dtype in ("int8", "uint8"):
        return _differs(f"the plugin wraps {op.dtype} around in a cubic Interpolate of rank {rank}")
    if rank > (4 if isinstance(kernel, Cubic) else 5) and op.dtype in ("int32", "int64"):
        return _refused(f"the plugin has no Interpolate of rank {rank} for {op.dtype}")
    return None


def _cubic_overruns(rank: int, axes: set[int], full: bool) -> bool:
    if rank == 3:
        return 0 in axes and (full or len(axes) > 1)
    return rank == 4 and (len(axes) > 2 or (full and min(axes, default=2) < 2))


def _is_not_spatial(rank: int, axes: set[int], full: bool) -> bool:
    if full:
        return min(axes, default=rank) < {4: 1, 5: 2}.get(rank, 0)
    return (rank == 4 and len(axes) > 2 and 0 in axes) or (rank == 5 and len(axes) > 3)


def openvino_converted(node: FoundNode) -> Forecast:
    """Return what OpenVINO does with what this program converts a node to."""
    from converters.openvino_nodes import one_op_model

    try:
        one_op_model(node.op)
    except (InexactError, SpecError) as refusal:
        return _refused(getattr(refusal, "reason", "") or str(refusal))
    return Forecast(spec=node.op.spec)


# TensorRT's ONNX importer

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


_UNKNOWN = {"scales": (1.0,)}  # stands in for a target of run time


def tensorrt_importer(node: FoundNode) -> Forecast:
    """Return what TensorRT's ONNX importer makes of a node, by its source; nothing of TensorRT was run."""
    words, op = node.words, node.op
    reason = _tensorrt_refuses(node)
    if reason:
        return _refused(reason)
    settings: dict[str, Any] = {"resize_mode": words.get("mode", "nearest").upper()}
    if op.version > 10:
        settings["nearest_rounding"] = _TENSORRT_ROUNDING[words.get("nearest_mode", "round_prefer_floor")]
        settings |= _TENSORRT_COORDINATES[words.get("coordinate_transformation_mode", "half_pixel")]
        settings["exclude_outside"] = bool(words.get("exclude_outside"))
    if "cubic_coeff_a" in words:
        settings["cubic_coeff"] = words["cubic_coeff_a"]
    target = _tensorrt_target(node)
    try:
        spec = tensorrt_resize.DIALECT.parse(settings | (target or _UNKNOWN), Context(version=10, shape=op.shape))
    except IrInterpError as error:
        return _refused(str(error))
    return Forecast(spec=spec if target else replace(spec, target=op.spec.target, axes=op.spec.axes))


def _tensorrt_refuses(node: FoundNode) -> str:
    words = node.words
    coordinates = words.get("coordinate_transformation_mode", "half_pixel")
    if words.get("antialias"):
        return "the importer takes no antialias"
    if _keeps_aspect(node):
        return "the importer takes no aspect policy"
    if node.op.version > 10 and coordinates not in _TENSORRT_COORDINATES:
        return f"the importer knows no {coordinates}"
    if (
        coordinates == "tf_half_pixel_for_nn"
        and words.get("nearest_mode", "round_prefer_floor") != "round_prefer_floor"
    ):
        return "the importer takes tf_half_pixel_for_nn with round_prefer_floor only"
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


# ONNX's reference implementation


def reference(node: FoundNode) -> Forecast:
    """Return what ONNX's ReferenceEvaluator does."""
    op, words = node.op, node.words
    if op.version in (7, 10):
        return _refused(f"it has no {'Upsample-7' if op.version == 7 else 'Resize-10'}")
    if op.version == 9:
        return _reference_upsample(node)
    at = geometry(node)
    if words.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn" and (at is None or at.scaled):
        return _refused("it knows no tf_half_pixel_for_nn")
    if min(words.get("axes") or (0,)) < 0:
        return _refused("it takes no negative axes")
    if op.dtype in ("bool", "str"):
        return _refused(f"it does not resize {op.dtype}")
    context = Context(version=op.version, shape=op.shape, semantics=Semantics.REFERENCE)
    spec = replace(onnx_resize.DIALECT.parse(words, context), arithmetic=Arithmetic.EXACT)
    if spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL and at is not None:
        return _reference_single(spec, at)
    return Forecast(spec=spec)


def _reference_upsample(node: FoundNode) -> Forecast:
    target = node.op.spec.target
    whole = isinstance(target, Scales) and all(float(scale).is_integer() for scale in target.values)
    if not isinstance(node.op.spec.kernel, Nearest) or not whole:
        return _refused("its Upsample takes nearest and whole scales only")
    return Forecast(spec=replace(node.op.spec, arithmetic=Arithmetic.EXACT))


def _reference_single(spec: ResizeSpec, at: Geometry) -> Forecast:
    """Return what comes of an axis with a single output: it lies at -1/2, or is not noticed under a fraction."""
    filtered = isinstance(spec.kernel, Cubic) or (
        isinstance(spec.kernel, Linear) and spec.kernel.antialias is not Antialias.OFF
    )
    single = [axis for axis in at.scaled if at.outputs[axis] == 1]
    stretched = spec.gives_sizes and spec.aspect is Aspect.STRETCH
    if single and not stretched and all(at.scales[axis] * at.lengths[axis] != 1 for axis in single):
        return Forecast(spec=replace(spec, coordinates=Coordinates.HALF_PIXEL), reason="it does not notice 1 output")
    return _differs("it puts a single output at -1/2") if single and filtered else Forecast(spec=spec)


# An Interpolate of an IR


def openvino_layer(op: ResizeOp) -> Forecast:
    """Return what OpenVINO's CPU plugin does with a layer of an IR."""
    if isinstance(op.spec.kernel, Area):
        return _refused("no runtime executes mode area")
    if (op.dtype or "float32") not in _OPENVINO_TYPES:
        return _refused(f"Interpolate does not take {op.dtype}")
    rank, axes = len(op.shape or ()), _resized(op)
    if op.spec.pads and axes != set(range(rank - len(axes), rank)):
        return _differs("the plugin lays pads around other axes, where those that it resizes are not the last")
    return plugin_problem(op, axes, full=op.spec.axes is None) or Forecast(spec=op.spec)


def onnxruntime_converted(op: ResizeOp) -> Forecast:
    """Return what onnxruntime does with what this program converts a layer to."""
    if isinstance(op.spec.kernel, Area):
        return _refused("ONNX has no mode area")
    if op.shape is None:
        return _refused("the rank of the input is unknown")
    return Forecast(spec=op.spec)


def tensorrt_layer(op: ResizeOp) -> Forecast:
    """Return what settings of a TensorRT layer make of a layer."""
    try:
        write(op.spec, tensorrt_resize.DIALECT, shape=op.shape, name=op.name)
    except (InexactError, SpecError) as refusal:
        return _refused(getattr(refusal, "reason", "") or str(refusal))
    return Forecast(spec=op.spec)


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerRuntime:
    """A runtime of layers of an IR."""

    title: str
    version: str
    forecast: Callable[[ResizeOp], Forecast]


LAYER_RUNTIMES: Mapping[str, LayerRuntime] = {
    "openvino": LayerRuntime(title="OpenVINO", version="2026.4", forecast=openvino_layer),
    "onnxruntime": LayerRuntime(title="onnxruntime, converted here", version="1.31", forecast=onnxruntime_converted),
    "tensorrt": LayerRuntime(title="TensorRT, converted here", version="10", forecast=tensorrt_layer),
}
RUNTIMES: Mapping[str, Runtime] = {
    "onnxruntime": Runtime(title="onnxruntime", version="1.31", forecast=onnxruntime),
    "openvino": Runtime(title="OpenVINO, own frontend", version="2026.4", forecast=openvino_frontend),
    "openvino-converted": Runtime(title="OpenVINO, converted here", version="2026.4", forecast=openvino_converted),
    "tensorrt": Runtime(title="TensorRT's importer", version="10.1, by its source", forecast=tensorrt_importer),
    "reference": Runtime(title="ONNX reference", version="1.23", forecast=reference),
}
