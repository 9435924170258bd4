"""TensorRT: the element types that it takes, and the settings of ``IResizeLayer`` by its ONNX importer, by release.

Sources: the importer's public code (onnx-tensorrt, the files that ``IMPORTERS`` names), the operator page "Resize" and
the class ``IResizeLayer`` of TensorRT 10, and the answers of TensorRT-RTX 1.5.0, 1.6.1 and 1.7.1, whose importer and
builder need no GPU (``tests/sweeps/tensorrt.py``). No engine was run.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from ir_interp.plan.integer_sums import sums_integers
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.specs import Aspect, AtRunTime, Cubic, ResizeSpec, Scales, Sizes
from ir_interp.translation.dialect import Attributes, Context

from .outcome import Outcome, Surroundings, refused, unknown
from .runtime import Accepted, Runtime


@dataclass(frozen=True, slots=True, kw_only=True)
class Importer:
    """The properties of a release's importer for Resize, and their source (commits of onnx-tensorrt).

    ``untaken`` are the element types that it refuses. One that does not ``read_opset_18`` silently ignores antialias
    and the aspect policy, and reads sizes and scales of ``axes`` as those of every axis. One that
    ``reads_sizes`` does so under tf_half_pixel_for_nn, too. One that does not ``take_empty_scales`` fails on those that
    operator sets 11 and 12 need beside sizes. ``takes_functions`` is whether its source is known to read local
    functions.
    """

    source: str
    untaken: tuple[str, ...] = ("bool", "uint8")
    has_cubic: bool = True
    reads_opset_18: bool = True
    reads_sizes: bool = False
    takes_empty_scales: bool = True
    takes_functions: bool = False


IMPORTERS: Mapping[str, Importer] = MappingProxyType(
    {
        "8.2": Importer(
            source="builtin_op_importers.cpp at 009d6541",
            untaken=("bool", "int32", "uint8", "bfloat16"),
            has_cubic=False,
            reads_opset_18=False,
            reads_sizes=True,
        ),
        "8.6": Importer(
            source="builtin_op_importers.cpp at 48bd0559",
            untaken=("bool", "uint8", "bfloat16"),
            reads_opset_18=False,
        ),
        "9.2": Importer(source="builtin_op_static_checkers.cpp at 2cb1f39f", reads_opset_18=False),
        "10.1": Importer(source="onnxOpImporters.cpp, onnxOpCheckers.cpp of release 10.1"),
        "10.6": Importer(source="onnxOpImporters.cpp, onnxOpCheckers.cpp at 0137504e"),
        "10.11": Importer(source="a comment of NVIDIA in NVIDIA/TensorRT issue 4476", takes_empty_scales=False),
        "10.15": Importer(source="onnxOpImporters.cpp at dd0a3a9f", takes_functions=True),
    }
)
"""Releases whose importer was read; a release between two equal ones equals them."""
NEWEST = IMPORTERS["10.15"]


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the outcome of a node whose model the importer refuses for the DequantizeLinear in front of it."""
    levels = around.levels
    if levels is None or (levels.dtype != "uint8" and levels.are_symmetric):
        return None
    if levels.dtype != "uint8" and levels.are_symmetric is None:
        return unknown("a DequantizeLinear with a computed zero point")
    what = "of uint8" if levels.dtype == "uint8" else "with a zero point other than 0"
    return refused(f"the importer refuses a DequantizeLinear {what}")


RUNTIME = Runtime(
    name="tensorrt",
    title="TensorRT",
    version="10.15",
    source="its source",
    reader="{}'s importer",
    is_asked=True,
    takes_functions=NEWEST.takes_functions,
    among=among,
    accepts=Accepted(),
)
"""Its dialect reads the layers that the importer makes: ``converters/predictions.py`` adds the outcome of a node."""
LAYER_TYPES = ("float16", "float32", "bfloat16", "int8")
"""The element types of ONNX's Resize that an IResizeLayer accepts, as the builder lists them."""

NETWORK_TYPES = ("float32", "float16", "bfloat16", "int32", "int64")
"""The element types that the layers of a decomposed resize compute in."""

INNERMOST = {"NEAREST": 8, "LINEAR": 3, "CUBIC": 2}
"""The number of last axes that a mode resizes, by the class ``IResizeLayer`` and NVIDIA's own examples."""

INNERMOST_BY_PAGE = {"NEAREST": 3, "LINEAR": 3, "CUBIC": 2}
"""The same by the operator page."""

MAX_RANK = 8
MAX_VOLUME = 2**31
"""The largest number of elements of an input or output."""


def volume_refusal(shape: PartialShape, what: str) -> str:
    """Return why a tensor is too large, if it is; dynamic dimensions are not counted."""
    known = [size for size in shape if size is not None]
    too_large = len(known) == len(shape) and math.prod(known) > MAX_VOLUME
    return f"the {what} has {math.prod(known)} elements; TensorRT takes {MAX_VOLUME}" if too_large else ""


NOTE = "TensorRT by its importer's source, not run"

_TF = "tf_half_pixel_for_nn"
_WITH_EMPTY_SCALES = (11, 12)  # versions of Resize
_ROUNDINGS = {"floor": "FLOOR", "ceil": "CEIL", "round_prefer_floor": "HALF_DOWN", "round_prefer_ceil": "HALF_UP"}
_COORDINATES = {
    "half_pixel": {"coordinate_transformation": "HALF_PIXEL"},
    "asymmetric": {"coordinate_transformation": "ASYMMETRIC"},
    "align_corners": {"coordinate_transformation": "ALIGN_CORNERS"},
    "pytorch_half_pixel": {"coordinate_transformation": "HALF_PIXEL", "selector_for_single_pixel": "UPPER"},
    _TF: {"coordinate_transformation": "HALF_PIXEL", "nearest_rounding": "CEIL"},
}


def layer_settings(op: ResizeOp) -> dict[str, Any]:
    """Return the settings that the importer makes for an accepted node, except the target."""
    attributes = op.attributes
    settings: dict[str, Any] = {"resize_mode": attributes.get("mode", "nearest").upper()}
    # Before opset 11 nodes have no further attributes, and the importer leaves the settings of a new layer.
    if op.version <= 10:
        return settings
    coordinates = attributes.get("coordinate_transformation_mode", "half_pixel")
    settings["nearest_rounding"] = _ROUNDINGS[attributes.get("nearest_mode", "round_prefer_floor")]
    settings |= _COORDINATES[coordinates]
    if coordinates == _TF:  # where it reads no further attributes
        return settings
    coefficient = {"cubic_coeff": attributes["cubic_coeff_a"]} if "cubic_coeff_a" in attributes else {}
    return settings | {"exclude_outside": bool(attributes.get("exclude_outside")), **coefficient}


def importer_refusal(op: ResizeOp, importer: Importer = NEWEST) -> str:
    """Return why the importer refuses a node; empty if it accepts it."""
    coordinates = op.attributes.get("coordinate_transformation_mode", "half_pixel")
    newer = _refusal_of_opset_18(op) if importer.reads_opset_18 else _refusal_of_axes(op)
    if newer:
        return newer
    if op.attributes.get("mode") == "cubic" and not importer.has_cubic:
        return "the importer does not support cubic"
    if op.version > 10 and coordinates not in _COORDINATES:
        return f"the importer does not support {coordinates}"
    if coordinates == _TF:
        if op.attributes.get("nearest_mode", "round_prefer_floor") != "round_prefer_floor":
            return "the importer supports tf_half_pixel_for_nn with round_prefer_floor only"
        if "sizes" in op.attributes and not importer.reads_sizes:
            return "the importer does not support sizes under tf_half_pixel_for_nn"
    if op.version in _WITH_EMPTY_SCALES and op.spec.gives_sizes and not importer.takes_empty_scales:
        return "it fails on the empty scales that operator sets 11 and 12 need beside sizes"
    if op.dtype in importer.untaken:
        return f"the importer does not resize {op.dtype}"
    return ""


def _refusal_of_opset_18(op: ResizeOp) -> str:
    if op.attributes.get("antialias"):
        return "the importer does not support antialias"
    if op.spec.aspect is not Aspect.STRETCH:
        return "the importer does not support aspect policies"
    if op.spec.target is AtRunTime.SCALES and op.spec.axes is not None:
        return "the importer does not support scales at run time for some axes"
    return _refusal_of_kept_axes(op)


def _refusal_of_kept_axes(op: ResizeOp) -> str:
    """Return why the importer refuses sizes of some axes: it takes the others from the input, if they are static."""
    if not isinstance(op.spec.target, Sizes) or op.spec.axes is None or op.shape is None:
        return ""
    listed = resolve_axes(op.spec.axes, len(op.shape))
    kept = [axis for axis, size in enumerate(op.shape) if size is None and axis not in listed]
    return f"the importer refuses sizes of some axes while axis {kept[0]} is dynamic; list all axes" if kept else ""


def refusal_of_computed_scales(op: ResizeOp) -> str:
    """Return why the importer refuses a node whose scales are computed by nodes, even from constants."""
    if op.spec.axes is None or (op.shape is not None and tuple(op.spec.axes) == tuple(range(len(op.shape)))):
        return ""
    return "the importer does not support computed scales for some axes"


def _refusal_of_axes(op: ResizeOp) -> str:
    """Return why a release without ``axes`` refuses those of a node: there are no entries for the others."""
    axes, rank = op.spec.axes, len(op.shape or ())
    if axes is None or (rank and tuple(axes) == tuple(range(rank))):
        return ""
    return "the importer ignores axes, and needs sizes and scales for every axis"


def left_out(op: ResizeOp, importer: Importer) -> str:
    """Return the attributes that a release ignores in an accepted node; empty if it reads all."""
    dropped = [name for name in ("antialias",) if op.attributes.get(name)]
    dropped += ["keep_aspect_ratio_policy"] if op.spec.aspect is not Aspect.STRETCH else []
    return f"{' and '.join(dropped)} dropped" if dropped and not importer.reads_opset_18 else ""


def is_open_cubic(op: ResizeOp) -> bool:
    """Return whether a node is a cubic that the builder takes, although no page has other axes than the last two.

    The importer tests the axes for constant scales only, and counts those that the node lists, not those of the input.
    """
    if not isinstance(op.spec.kernel, Cubic) or (op.dtype or "float32") not in (*LAYER_TYPES, "float64"):
        return False
    target = op.spec.target
    if not isinstance(target, Scales) or op.shape is None:
        return isinstance(target, Sizes)
    scales = dict(zip(resolve_axes(op.spec.axes, len(op.shape)), target.values, strict=True))
    tested = range(len(target.values) - INNERMOST["CUBIC"])
    return all(scales.get(axis, 1.0) == 1 for axis in tested)


def unknown_sums(spec: ResizeSpec, dtype: str | None) -> str:
    """Return the unknown rounding of integer sums, which no page specifies; empty if none are summed."""
    return f"no rule covers how TensorRT rounds sums of {dtype}" if sums_integers(spec, dtype) else ""


def network_refusal(op: ResizeOp) -> str:
    """Return why no layers of a network compute in the element type of a resize; empty if some do."""
    return "" if (op.dtype or "float32") in NETWORK_TYPES else f"TensorRT does not compute in {op.dtype}"


# Limits of TensorRT's deep learning accelerator (DLA) for an ``IResizeLayer``; the rest runs on the GPU, if allowed.
#
# Source: the class ``IResizeLayer`` of the Python API and the page "DLA Supported Layers and Restrictions" of TensorRT
# 10; TensorRT itself was not run.

COMBINATIONS = {
    "NEAREST": (
        ("ASYMMETRIC", "FORMULA", "FLOOR"),
        ("HALF_PIXEL", "FORMULA", "HALF_DOWN"),
        ("HALF_PIXEL", "FORMULA", "HALF_UP"),
    ),
    "LINEAR": (("HALF_PIXEL", "FORMULA"), ("HALF_PIXEL", "UPPER")),
}
"""Coordinates, selector and, for NEAREST, rounding of each mode; CUBIC is not supported."""

LARGEST_SCALES = {"NEAREST": 32, "LINEAR": 4}
"""The largest integral scale of height and width."""

LARGEST_BATCH, LARGEST_LENGTH = 4096, 8192
_SETTINGS = ("coordinate_transformation", "selector_for_single_pixel", "nearest_rounding")


def remarks(attributes: Attributes, context: Context) -> tuple[tuple[str, str], ...]:
    """Return IRI031 with every reason why a layer cannot run on DLA, as far as its settings and shapes show."""
    obstacles = "; ".join(_obstacles(attributes, context))
    return (("IRI031", f"would not run on DLA: {obstacles}"),) if obstacles else ()


def _obstacles(attributes: Attributes, context: Context) -> Iterator[str]:
    mode = attributes["resize_mode"]
    if mode not in COMBINATIONS:
        yield f"it takes no {mode}"
        return
    combinations = COMBINATIONS[mode]
    chosen = tuple(attributes[setting] for setting in _SETTINGS[: len(combinations[0])])
    if chosen not in combinations:
        yield f"{mode} with {', '.join(chosen)}"
    target = attributes.get("scales") or attributes.get("shape")
    if target is None:
        yield "its output sizes are an input at run time"
    elif len(target) != 4:
        yield f"rank {len(target)}; it takes 4"
    else:
        scales = _scales(attributes, context)
        if any(scale not in (1, None) for scale in scales[:2]):
            yield "batch or channels are resized"
        largest = LARGEST_SCALES[mode]
        wrong = [
            scale for scale in scales[2:] if scale is not None and not (scale.denominator == 1 <= scale <= largest)
        ]
        if wrong:
            listed = ", ".join(f"{float(scale):.6g}" for scale in wrong)
            yield f"height or width by {listed}; {mode} takes integers from 1 to {largest}"
    yield from _length_obstacles(context.shape, "input")
    yield from _length_obstacles(attributes.get("shape"), "output")


def _scales(attributes: Attributes, context: Context) -> list[Fraction | None]:
    """Return output / input of every axis; None if a size is unknown."""
    if "scales" in attributes:
        return [Fraction(scale) for scale in attributes["scales"]]
    shape = context.shape or (None,) * 4
    return [
        Fraction(out, in_size) if in_size else None for out, in_size in zip(attributes["shape"], shape, strict=True)
    ]


def _length_obstacles(shape: PartialShape | None, what: str) -> Iterator[str]:
    for axis, size in enumerate(shape or ()):
        largest = LARGEST_LENGTH if axis else LARGEST_BATCH
        if size is not None and size > largest:
            yield f"axis {axis} of the {what} has size {size}; it takes up to {largest}"
