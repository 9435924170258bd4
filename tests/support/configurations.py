"""Random resizes that the runtimes accept, and what is known to go wrong in them where they do not compute right."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from ir_interp.converters.dialects.onnx import DIALECT
from tests.support.runtimes import Array, interpolate_ir, onnx_model, onnxruntime_resize, openvino_resize

CUBIC_COEFFICIENTS = (-0.75, -0.5, -0.3)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
AWKWARD_SCALES = (0.1, 0.3, 0.6, 0.7, 1.1, 1.2, 1.3, 1.4, 1.7, 2.3, 2.6, 3.1)
PERIODS = {"int8": 127, "uint8": 251, "bfloat16": 251, "float16": 2039, "int16": 32_749, "uint16": 65_521}
LONGEST = 40  # of an axis that is resized
LARGEST = 200_000  # elements, of the input and of the output

ONNX_OPS = (("Upsample", 7), ("Upsample", 9), *(("Resize", opset) for opset in (10, 11, 13, 18, 19)))
ONNX_TYPES = ("float32", "float16", "uint8", "int8", "int32")  # those that onnxruntime resizes
NUMERIC_TYPES = (*ONNX_TYPES, "float64", "bfloat16", "int16", "int64", "uint16", "uint32", "uint64")
ONNX_COORDINATES = (  # onnxruntime takes each in every operator set
    *("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize"),
    *("tf_half_pixel_for_nn", "half_pixel_symmetric"),
)
OPENVINO_COORDINATES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_half_pixel_for_nn")
PILLOW_MODES = ("bilinear_pillow", "bicubic_pillow")
REPEATABLE_OPENVINO_BUGS = ("B1", "B5", "B8", "B9")

HALF = Fraction(1, 2)
TAKE: dict[str, Callable[[Fraction], int]] = {
    "round_prefer_floor": lambda x: math.ceil(x - HALF),
    "round_prefer_ceil": lambda x: math.floor(x + HALF),
    "floor": math.floor,
    "ceil": math.ceil,
}  # the source element that each rounding takes at a coordinate

Rng = np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class OnnxCase:
    """One Upsample or Resize node with its constant inputs; ``scales`` hold float32 values."""

    op: str
    opset: int
    shape: tuple[int, ...]
    dtype: str = "float32"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    scales: tuple[float, ...] | None = None
    sizes: tuple[int, ...] | None = None
    roi: tuple[float, ...] | None = None

    @property
    def mode(self) -> str:
        """The mode, which may be left to its default."""
        return str(self.attributes.get("mode", "nearest"))

    @property
    def axes(self) -> tuple[int, ...]:
        """The listed axes, counted from the first: every axis where none are listed."""
        rank = len(self.shape)
        return tuple(axis % rank for axis in self.attributes.get("axes", range(rank)))

    @property
    def has_words(self) -> bool:
        """Whether the page of its version has its words."""
        word = self.attributes.get("coordinate_transformation_mode")
        return word in (None, *DIALECT.choices(self.opset).get("coordinate_transformation_mode", ()))

    @property
    def crops(self) -> bool:
        """Whether the node reads its roi."""
        return bool(self.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize")

    @property
    def scales_mirrored(self) -> bool:
        """Whether scales would multiply a window that ends before it starts, were they to multiply windows."""
        starts, ends = np.reshape(self.roi or (0, 1), (2, -1))
        return self.crops and self.scales is not None and bool((ends < starts).any())

    def array(self, seed: int = 0) -> Array:
        """Return an input."""
        return input_array(self.shape, self.dtype, self.mode, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class IrCase:
    """One Interpolate-1, -4 or -11 layer; Interpolate-1 has its ``axes`` as written, though it reads them sorted."""

    version: int
    shape: tuple[int, ...]
    dtype: str = "float32"
    attributes: Mapping[str, Any] = field(default_factory=dict)
    axes: tuple[int, ...] | None = None
    sizes: tuple[int, ...] | None = None
    scales: tuple[float, ...] | None = None

    @property
    def mode(self) -> str:
        """The mode as written."""
        return str(self.attributes.get("mode", "nearest"))

    def array(self, seed: int = 0) -> Array:
        """Return an input."""
        return input_array(self.shape, self.dtype, self.mode, seed)


def input_array(shape: Sequence[int], dtype: str, mode: str, seed: int = 0) -> Array:
    """Return values that betray a wrong source element: for nearest distinct along each axis, else random."""
    kind = np.dtype(dtype)
    if mode == "nearest":
        # A prime above every length keeps elements of one row, column, ... apart even where the type wraps.
        if dtype == "bool":
            return np.random.default_rng([seed, *shape]).random(shape) < 0.5
        period = PERIODS.get(dtype, 16_777_213)
        return ((np.arange(math.prod(shape)) + seed) % period).astype(kind).reshape(shape)
    rng = np.random.default_rng([seed, *shape])
    if "float" in dtype:
        return rng.uniform(-4, 4, shape).astype(kind)
    limits = np.iinfo(np.uint8 if dtype.startswith("uint") else np.int8)
    return rng.integers(limits.min, limits.max, shape, endpoint=True).astype(kind)


def run_in_onnxruntime(case: OnnxCase, seed: int = 0) -> Array:
    """Run the case where it belongs; a job for ``runtimes.Child``."""
    return onnxruntime_resize(model_of(case), {"x": case.array(seed)})


def run_in_openvino(case: OnnxCase | IrCase, seed: int = 0) -> Array:
    """Run the case in OpenVINO's CPU plugin; a job for ``runtimes.Child``, since some cases corrupt memory."""
    return openvino_resize(model_of(case), {"x": case.array(seed)})


def model_of(case: OnnxCase | IrCase, *, constant: bool = True) -> Any:
    """Return the ONNX or the OpenVINO model of the case; an ONNX one may take sizes, scales and roi as inputs."""
    if isinstance(case, OnnxCase):
        given: dict[str, Any] = {"scales": case.scales, "sizes": case.sizes, "roi": case.roi}
        return onnx_model(case.op, case.opset, case.shape, case.dtype, case.attributes, constant=constant, **given)
    given = {"axes": case.axes, "sizes": case.sizes, "scales": case.scales}
    return interpolate_ir(case.version, case.shape, case.dtype, case.attributes, **given)


def _chance(rng: Rng, probability: float) -> bool:
    return bool(rng.random() < probability)


def _pick(rng: Rng, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
    chances = None if weights is None else np.array(weights) / sum(weights)
    return options[int(rng.choice(len(options), p=chances))]


def _shuffled(rng: Rng, values: Sequence[int]) -> tuple[int, ...]:
    return tuple(int(value) for value in rng.permutation(values))


def _lengths(rng: Rng, rank: int) -> tuple[int, ...]:
    """Return a shape whose last axes are long, but not so long that all ranks together make it huge."""
    longest = (LONGEST, LONGEST, LONGEST, 24, 10, 6)[rank - 1]
    batch = max(rank - 3, 0)
    return tuple(
        1 if _chance(rng, 0.05) else int(rng.integers(1, 4 if axis < batch else longest, endpoint=True))
        for axis in range(rank)
    )


def _target_length(rng: Rng, length: int, rank: int) -> int:
    """Return an output length: mostly unrelated to the input's, so that the ratio is awkward."""
    longest = (LONGEST, LONGEST, LONGEST, 24, 12, 8)[rank - 1]
    choice = rng.random()
    if choice < 0.05:
        return 1
    if choice < 0.2:
        return min(length * int(rng.integers(2, 4)), 2 * longest)
    return int(rng.integers(1, longest, endpoint=True))


def _scale(rng: Rng, smallest: float = 0.1) -> float:
    """Return a float32 scale: a round one, an awkward one, or any."""
    choice = rng.random()
    if choice < 0.3:
        scale = float(_pick(rng, (0.25, 0.5, 1.5, 2.0, 3.0)))
    elif choice < 0.7:
        scale = float(_pick(rng, AWKWARD_SCALES))
    else:
        scale = math.exp(rng.uniform(math.log(0.1), math.log(3.5)))
    return float(np.float32(max(scale, smallest)))


# ONNX


def random_onnx_case(rng: Rng) -> OnnxCase:
    """Return a case that onnxruntime should accept and, but for rounding, compute right."""
    while True:
        case = _draw_onnx_case(rng)
        lengths, _ = onnxruntime_geometry(case)
        if _fits(case.shape, lengths) and known_onnxruntime_bug(case) is None:
            return case


def random_node(rng: Rng) -> OnnxCase:
    """Return a case of any axes and any element type of numbers or truth, whether onnxruntime runs it or not."""
    while True:
        case = _draw_onnx_case(rng, anything=True)
        lengths, _ = onnxruntime_geometry(case)
        if _fits(case.shape, lengths):
            return case


def _fits(shape: Sequence[int], lengths: Sequence[int]) -> bool:
    return min(lengths) > 0 and max(math.prod(shape), math.prod(lengths)) <= LARGEST


def _draw_onnx_case(rng: Rng, *, anything: bool = False) -> OnnxCase:
    op, opset = _pick(rng, ONNX_OPS, (1, 1, 1.5, 3, 3, 5, 5))
    mode = _pick(rng, ("nearest", "linear", "cubic"), (2, 2, 1.5 * (opset >= 11)))
    attributes = _onnx_attributes(rng, opset, mode)
    antialias = "antialias" in attributes
    rank, resized = _any_layout(rng) if anything else _onnxruntime_layout(rng, mode)
    grows = op == "Upsample" or (mode == "cubic" and not antialias and _channel_last(rank, resized))
    if anything:
        dtype = _pick(rng, (*NUMERIC_TYPES, "bool") if mode == "nearest" else NUMERIC_TYPES)
    else:
        dtype = _pick(rng, ONNX_TYPES, (14, 1, *([0] * 3 if mode == "cubic" and not antialias else [1] * 3)))
    shape = _lengths(rng, rank)
    axes = _listed_axes(rng, rank, resized) if opset >= 18 and _chance(rng, 0.7) else None
    order = range(rank) if axes is None else [axis % rank for axis in axes]
    if axes is not None:
        attributes["axes"] = list(axes)
    targets: dict[str, Any] = {}
    if opset < 11 or _chance(rng, 0.5):
        smallest = 1.0 if grows else 0.1
        targets["scales"] = tuple(_scale(rng, smallest) if axis in resized else 1.0 for axis in order)
    else:
        lengths = [_target_length(rng, n, rank) if axis in resized else n for axis, n in enumerate(shape)]
        targets["sizes"] = tuple(max(lengths[axis], shape[axis] if grows else 1) for axis in order)
        if opset >= 18 and not grows and (mode == "nearest" or set(order) == set(resized)) and _chance(rng, 0.4):
            attributes["keep_aspect_ratio_policy"] = _pick(rng, ("not_larger", "not_smaller", "stretch"), (4, 4, 1))
    if attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        targets["roi"] = _roi(rng, [axis in resized for axis in order])
        attributes["extrapolation_value"] = _pick(rng, (0.0, 7.0, 100.0))
    return OnnxCase(op=op, opset=opset, shape=shape, dtype=dtype, attributes=attributes, **targets)


def _onnx_attributes(rng: Rng, opset: int, mode: str) -> dict[str, Any]:
    """Return what says how to resample; that which says where to comes with the target."""
    attributes: dict[str, Any] = {"mode": mode}
    if opset < 11:
        return attributes
    if _chance(rng, 0.9):
        attributes["coordinate_transformation_mode"] = _pick(rng, ONNX_COORDINATES)
    if mode == "nearest":
        attributes["nearest_mode"] = _pick(rng, ROUNDINGS)
        return attributes
    if opset >= 18 and _chance(rng, 0.5):
        attributes["antialias"] = 1
    if mode == "cubic" and _chance(rng, 0.8):
        attributes["cubic_coeff_a"] = _pick(rng, CUBIC_COEFFICIENTS)
    if (mode == "cubic" or "antialias" in attributes) and _chance(rng, 0.4):
        attributes["exclude_outside"] = 1
    return attributes


def _onnxruntime_layout(rng: Rng, mode: str) -> tuple[int, tuple[int, ...]]:
    """Return a rank and the axes to resize, such that onnxruntime has a kernel for them."""
    if mode == "nearest":
        return _any_layout(rng)
    ranks: dict[int, list[Sequence[int]]] = {2: [(0, 1)], 4: [(2, 3), (2, 3), (1, 2)]}
    if mode == "linear":
        ranks |= {3: [(0, 1, 2)], 5: [(2, 3, 4)]}
    rank = _pick(rng, sorted(ranks))
    return rank, _subset(rng, _pick(rng, ranks[rank]))


def _any_layout(rng: Rng) -> tuple[int, tuple[int, ...]]:
    rank = int(rng.integers(1, 7))
    return rank, _subset(rng, range(rank))


def _subset(rng: Rng, axes: Sequence[int]) -> tuple[int, ...]:
    """Return all of the axes, or some of them but at least one."""
    if _chance(rng, 0.6):
        return tuple(axes)
    chosen = rng.permutation(axes)[: int(rng.integers(1, len(axes), endpoint=True))]
    return tuple(sorted(int(axis) for axis in chosen))


def _listed_axes(rng: Rng, rank: int, resized: Sequence[int]) -> tuple[int, ...]:
    """Return the resized axes, at times with others that keep their length, out of order, or counted from the end."""
    others = [axis for axis in range(rank) if axis not in resized and _chance(rng, 0.15)]
    axes = (*resized, *others)
    if _chance(rng, 0.4):
        axes = _shuffled(rng, axes)
    return tuple(axis - rank if _chance(rng, 0.25) else axis for axis in axes)


def _roi(rng: Rng, resized: Sequence[bool]) -> tuple[float, ...]:
    """Return all starts, then all ends: windows that reach beyond the image, or run backwards."""
    windows = [(rng.uniform(-0.3, 0.6), rng.uniform(0.4, 1.3)) if chosen else (0.0, 1.0) for chosen in resized]
    if _chance(rng, 0.2):
        windows = [
            (end, start) if chosen else (start, end) for (start, end), chosen in zip(windows, resized, strict=True)
        ]
    edges = [start for start, _ in windows] + [end for _, end in windows]
    return tuple(float(np.float32(edge)) for edge in edges)


def onnxruntime_geometry(case: OnnxCase) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Return the output length and the scale of every axis, in onnxruntime's float32 arithmetic."""
    lengths, scales = list(case.shape), [1.0] * len(case.shape)
    if case.scales is not None:
        for axis, given in zip(case.axes, case.scales, strict=True):
            lengths[axis] = int(np.float32(given) * np.float32(case.shape[axis]))
            scales[axis] = given
        return tuple(lengths), tuple(scales)
    assert case.sizes is not None
    ratios = [np.float32(size) / np.float32(case.shape[axis]) for axis, size in zip(case.axes, case.sizes, strict=True)]
    policy = case.attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        ratios = [min(ratios) if policy == "not_larger" else max(ratios)] * len(ratios)
    for axis, size, ratio in zip(case.axes, case.sizes, ratios, strict=True):
        kept = int(np.floor(ratio * np.float32(case.shape[axis]) + np.float32(0.5)))
        lengths[axis], scales[axis] = size if policy == "stretch" else kept, float(ratio)
    return tuple(lengths), tuple(scales)


def known_onnxruntime_bug(case: OnnxCase) -> str | None:
    """Return the name of the first fault that onnxruntime 1.31 has in this case, if any.

    O4: crop ignored on an axis of scale 1. O5: input returned as it is since no length changes, whatever the scales.
    O6: under antialias, an axis that keeps its length copied whatever its scale. In a channel-last layout, O7: cubic
    crop of the wrong axes; O8: antialiased crop extrapolated in the wrong place; O9: cubic with a scale but no change
    of length. O11: under a keep_aspect_ratio_policy, an axis listed as negative keeps its length.
    """
    lengths, scales = onnxruntime_geometry(case)
    antialias = bool(case.attributes.get("antialias"))
    kept = [axis for axis, scale in enumerate(scales) if lengths[axis] == case.shape[axis] and scale != 1]
    last = _channel_last(len(case.shape), [axis for axis, scale in enumerate(scales) if scale != 1])
    faults = {
        "O4": case.crops and any(scales[axis] == 1 for axis in _cropped_axes(case)),
        "O5": lengths == case.shape and bool(kept),
        "O6": antialias and bool(kept),
        "O7": last and case.crops and case.mode == "cubic",
        "O8": last and case.crops and antialias,
        "O9": last and case.mode == "cubic" and bool(kept),
        "O11": _keeps_aspect(case) and min(case.attributes.get("axes", (0,))) < 0,
    }
    return next((name for name, present in faults.items() if present), None)


def _keeps_aspect(case: OnnxCase) -> bool:
    return bool(case.attributes.get("keep_aspect_ratio_policy", "stretch") != "stretch")


def _cropped_axes(case: OnnxCase) -> list[int]:
    roi = case.roi or ()
    windows = zip(case.axes, roi[: len(roi) // 2], roi[len(roi) // 2 :], strict=False)
    return [axis for axis, start, end in windows if (start, end) != (0, 1) and case.shape[axis] > 1]


def _channel_last(rank: int, resized: Sequence[int]) -> bool:
    """Tell whether onnxruntime takes the input for (batch, height, width, channel)."""
    return rank == 4 and 1 in resized and 0 not in resized and 3 not in resized


# OpenVINO


def random_ir_case(rng: Rng) -> IrCase:
    """Return a case that OpenVINO's CPU plugin runs safely; where it is wrong, it is so in a way that repeats."""
    while True:
        case = _draw_ir_case(rng)
        padded, lengths, _ = openvino_geometry(case)
        if _fits(padded, lengths) and known_openvino_bug(case) in (None, *REPEATABLE_OPENVINO_BUGS):
            return case


def _draw_ir_case(rng: Rng) -> IrCase:
    version = _pick(rng, (1, 4, 11))
    modes = ("nearest", "linear", "linear_onnx", "cubic", *PILLOW_MODES)
    mode = _pick(rng, modes, (3, 2, 2, 2, *(1.5 * (version == 11) for _ in PILLOW_MODES)))
    rank, resized = _openvino_layout(rng, mode)
    shape = _lengths(rng, rank)
    full = version != 1 and _full_form(rank, mode, resized) and _chance(rng, 0.4)
    axes = None if full else resized if _chance(rng, 0.7) or mode in PILLOW_MODES else _shuffled(rng, resized)
    order = range(rank) if axes is None else sorted(axes) if version == 1 else axes
    attributes = {"mode": mode} | (_ir1_attributes(rng) if version == 1 else _ir_attributes(rng, mode))
    if _trailing(rank, resized) and _chance(rng, 0.3):
        attributes |= _pads(rng, rank, resized)
    case: dict[str, Any] = {"version": version, "shape": shape, "attributes": attributes, "axes": axes}
    if version != 1 and _chance(rng, 0.5):
        case["scales"] = tuple(_scale(rng) if axis in resized else 1.0 for axis in order)
    else:
        case["sizes"] = tuple(
            _target_length(rng, shape[axis], rank) if axis in resized else shape[axis] for axis in order
        )
    return IrCase(dtype=_pick(rng, *_openvino_types(rank, mode)), **case)


def _openvino_layout(rng: Rng, mode: str) -> tuple[int, tuple[int, ...]]:
    """Return a rank and axes to resize that the plugin computes right."""
    if mode in PILLOW_MODES:
        pair = _pick(rng, ((2, (0, 1)), (3, (1, 2)), (4, (2, 3)), (4, (1, 2))))
        return int(pair[0]), tuple(pair[1])
    rank = int(rng.integers(1, {"nearest": 6, "cubic": 6}.get(mode, 5), endpoint=True))
    while True:
        first = int(rng.integers(rank))
        axes = tuple(range(first, int(rng.integers(first, rank)) + 1))
        if rank == 4 and _chance(rng, 0.2):
            axes = _subset(rng, range(4))
        if _plugin_resizes(rank, mode, axes):
            return rank, axes


def _plugin_resizes(rank: int, mode: str, axes: Sequence[int]) -> bool:
    if mode == "cubic":
        return len(axes) <= 2 and not (rank == 3 and 0 in axes and len(axes) > 1)
    return len(axes) <= (3, 3, 3, 2, 3, 3)[rank - 1] or (rank == 4 and tuple(axes) == (1, 2, 3))


def _full_form(rank: int, mode: str, resized: Sequence[int]) -> bool:
    """Tell whether the plugin also takes these axes as sizes or scales for every axis."""
    if rank == 3:
        return mode != "cubic" or 0 not in resized
    first = {4: 1, 5: 2}.get(rank, 0) if mode in ("nearest", "linear", "linear_onnx") else max(rank - 2, 0)
    return min(resized) >= first and (mode not in PILLOW_MODES or _trailing(rank, resized))


def _openvino_types(rank: int, mode: str) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the element types, and how often to draw each, of which ranks above 4 have only few."""
    if rank <= 4 or (rank == 5 and mode != "cubic"):
        return ("float32", "float16", "uint8", "int8", "int32", "int64"), (12, 1, 1, 1, 1, 1)
    if mode == "nearest":
        return ("float32", "float16", "uint8", "int8"), (12, 1, 1, 1)
    return ("float32", "float16"), (12, 1)


def _ir1_attributes(rng: Rng) -> dict[str, Any]:
    """Return those of Interpolate-1; all but its mode and axes may be absent, and ``align_corners`` is true then."""
    attributes: dict[str, Any] = {}
    if _chance(rng, 0.85):
        attributes["align_corners"] = _pick(rng, (False, True, 0, 1))
    if _chance(rng, 0.7):
        attributes["antialias"] = _chance(rng, 0.3)
    if _chance(rng, 0.7):
        attributes |= {"pads_begin": "0", "pads_end": "0"}
    return attributes


def _ir_attributes(rng: Rng, mode: str) -> dict[str, Any]:
    """Return those of Interpolate-4 and -11; here too any may be absent."""
    attributes: dict[str, Any] = {}
    if _chance(rng, 0.9):
        attributes["coordinate_transformation_mode"] = _pick(rng, OPENVINO_COORDINATES)
    if mode == "nearest" and _chance(rng, 0.9):
        attributes["nearest_mode"] = _pick(rng, (*ROUNDINGS, "simple"))
    if _chance(rng, 0.6):
        attributes["antialias"] = _chance(rng, 0.4)
    if mode.endswith("cubic") and _chance(rng, 0.7):
        attributes["cube_coeff"] = _pick(rng, CUBIC_COEFFICIENTS)
    if mode == "bicubic_pillow":
        attributes["cube_coeff"] = _pick(rng, CUBIC_COEFFICIENTS, (1, 8, 1))
    return attributes


def _trailing(rank: int, axes: Sequence[int]) -> bool:
    return set(axes) == set(range(rank - len(axes), rank))


def _pads(rng: Rng, rank: int, resized: Sequence[int]) -> dict[str, tuple[int, ...]]:
    def draw() -> tuple[int, ...]:
        return tuple(int(rng.integers(4)) if axis in resized else 0 for axis in range(rank))

    return {"pads_begin": draw(), "pads_end": draw()}


def openvino_geometry(case: IrCase) -> tuple[tuple[int, ...], tuple[int, ...], tuple[float, ...]]:
    """Return padded length, output length and scale of every axis, in float32 as OpenVINO computes them."""
    rank = len(case.shape)
    padded = [n + sum(pads) for n, *pads in zip(case.shape, *_ir_pads(case), strict=True)]
    lengths, scales = list(padded), [1.0] * rank
    axes = range(rank) if case.axes is None else sorted(set(case.axes)) if case.version == 1 else case.axes
    for position, axis in enumerate(axes):
        if case.scales is not None:
            scales[axis] = case.scales[position]
            lengths[axis] = int(np.float32(padded[axis]) * np.float32(scales[axis] + 1e-6))
        elif case.sizes is not None:
            lengths[axis] = case.sizes[position]
            scales[axis] = float(np.float32(lengths[axis]) / np.float32(padded[axis]))
    return tuple(padded), tuple(lengths), tuple(scales)


def _ir_pads(case: IrCase) -> tuple[list[int], list[int]]:
    """Return the pads of every dimension: a list too short is filled up with zeros."""
    rank, both = len(case.shape), []
    for name in ("pads_begin", "pads_end"):
        given = case.attributes.get(name, ())
        values = given.split(",") if isinstance(given, str) else given
        both.append(([int(value) for value in values if str(value).strip()] + [0] * rank)[:rank])
    return both[0], both[1]


def known_openvino_bug(case: IrCase) -> str | None:
    """Return the name of the first fault that OpenVINO 2026.4's CPU plugin has in this case, if any.

    Memory is corrupted by B7: ``linear_onnx`` of rank 6; B3: cubic over three axes of rank 3 or 4, of which lesser
    forms compute garbage (see ``_cubic_overruns``); B6: a pillow mode over axes 1 and 2 with pads. Merely wrong are
    B4: pads where the resized axes are not the last; B1, B2: antialias of ``linear`` ignored up to rank 4, and wrong
    in rank 5 where no axis shrinks; B5: ``cube_coeff`` ignored by bicubic_pillow; B8: a nearest index off by one, since
    the step of align_corners is rounded; B9: integers truncated in rank 5, or rounded after each pass of a pillow mode.
    """
    rank, mode = len(case.shape), case.mode
    padded, lengths, scales = openvino_geometry(case)
    changed = [axis for axis in range(rank) if lengths[axis] != padded[axis]]
    listed = changed if case.axes is None else list(case.axes)
    pads = tuple(padded) != case.shape
    pillow = mode in PILLOW_MODES
    weighted = mode == "linear" and (case.version != 1 or rank == 5)  # Interpolate-1 is linear_onnx in other ranks
    antialias = weighted and _ir_flag(case, "antialias", default=False)
    coefficient = float(case.attributes.get("cube_coeff", -0.75))
    faults = {
        "B7": mode == "linear_onnx" and rank >= 6,
        "B3": mode == "cubic" and _cubic_overruns(rank, listed, full=case.axes is None),
        "B6": pillow and pads and rank == 4 and set(listed) == {1, 2},
        "B4": pads and not _trailing(rank, listed),
        "B1": antialias and rank <= 4 and min(scales) < 1,
        "B2": antialias and rank == 5 and min(scales) >= 1 and max(scales) > 1,
        "B9": np.dtype(case.dtype).kind in "iu" and ((weighted and rank == 5) or (pillow and rank == 4)),
        "B5": mode == "bicubic_pillow" and rank <= 4 and coefficient != -0.5,
        "B8": mode == "nearest" and any(_step_slips(case, padded[axis], lengths[axis]) for axis in changed),
    }
    return next((name for name, present in faults.items() if present), None)


def _cubic_overruns(rank: int, axes: Sequence[int], *, full: bool) -> bool:
    """Tell whether the cubic kernel for images is given something else; by sizes for every axis it is so sooner."""
    if rank == 3:
        return 0 in axes and (full or len(axes) > 1)
    return rank == 4 and (len(axes) > 2 or (full and min(axes, default=2) < 2))


def _ir_flag(case: IrCase, name: str, *, default: bool) -> bool:
    return str(case.attributes.get(name, default)).lower() in ("1", "true")


def _step_slips(case: IrCase, length: int, target: int) -> bool:
    """Tell whether align_corners, as a multiple of a float32 step, falls on another element than the exact quotient."""
    corners = case.attributes.get("coordinate_transformation_mode") == "align_corners"
    if not (_ir_flag(case, "align_corners", default=True) if case.version == 1 else corners) or target == 1:
        return False
    simple = "ceil" if target < length else "floor"
    rounding = "simple" if case.version == 1 else case.attributes.get("nearest_mode", "round_prefer_floor")
    take = TAKE[simple if rounding == "simple" else rounding]
    step = np.float32(length - 1) / np.float32(target - 1)
    exact = (Fraction(index * (length - 1), target - 1) for index in range(target))
    rounded = (Fraction(float(np.float32(index) * step)) for index in range(target))
    return any(take(one) != min(take(other), length - 1) for one, other in zip(exact, rounded, strict=True))
