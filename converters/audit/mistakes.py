"""Likely exporter mistakes: resizes that run, but hardly mean what was intended.

First the value of a scale before it was rounded to half precision: the fraction that was intended. Then exporters,
release by release; the checks come last.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from ir_interp.ir.ir_files import Layer, Net
from ir_interp.plan.taps import plan, scaled_length
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.specs import Arithmetic, Coordinates, Cubic, Linear, Scales, Sizes

from ..onnx.resize_nodes import ResizeNode
from ..runtimes.outcome import PLAIN_COEFFICIENT, geometry

_SMALLEST = 2**-10  # of the scales that may have been written as a fraction
_SIMPLE = 16  # the largest denominator that distinguishes a fraction from a ratio of sizes; tenths and thirds need less
_HALF_A_LEVEL = 0.5 + 2**-16  # the farthest that rounding to a level moves a scale, and float32's own rounding
_SAME = 2**-21  # relative distance of a float32 scale from the fraction that it stands for


def rounded_to_half(scales: Sequence[float], in_sizes: PartialShape, *, is_certain: bool) -> list[int]:
    """Return the places of the scales that half precision has changed.

    ``in_sizes`` are the sizes that the scales multiply, None if unknown. ``is_certain`` means that the file proves the
    rounding. Otherwise the values must prove it: all of them fit half precision, and some lie beside a simple fraction.
    """
    if not is_certain and any(float(_half(scale)) != scale for scale in scales):
        return []
    places = enumerate(zip(scales, in_sizes, strict=True))
    return [place for place, (scale, in_size) in places if _is_rounded(scale, in_size, is_certain)]


def _is_rounded(scale: float, in_size: int | None, is_certain: bool) -> bool:
    fraction = before_half(scale)
    if fraction is None or float(_half(scale)) != scale or fraction == Fraction(scale):
        return False
    is_simple = fraction.denominator <= _SIMPLE
    is_ratio = in_size is not None and (Fraction(scale) * in_size).denominator == 1
    return (is_simple or not is_ratio) if is_certain else (is_simple and not is_ratio)


def _half(scale: float) -> np.float16:
    with np.errstate(over="ignore"):
        return np.float16(scale)


def before_half(scale: float) -> Fraction | None:
    """Return the fraction that a half-precision scale probably was: the simplest one that rounds to it.

    So 2.3008 was 2.3, and 0.6665 was 2/3. Returns None for a scale that is too small or too large to decide.
    """
    half = _half(scale)
    if half < _SMALLEST or not np.isfinite(half):
        return None
    return _simplest(scale, lambda fraction: np.float16(float(fraction)) == half)


def _simplest(scale: float, is_near: Callable[[Fraction], bool]) -> Fraction:
    # Every float is a fraction over a power of 2, so the search ends.
    tried = (Fraction(round(Fraction(scale) * below), below) for below in count(1))
    return next(fraction for fraction in tried if is_near(fraction))


def before_levels(scale: float, step: float) -> Fraction:
    """Return the fraction that a scale probably was before it became a level times ``step``: the simplest one.

    So 1.0039 was 1, as a level of 2 / 255.
    """
    return _simplest(scale, lambda fraction: abs(float(fraction) - scale) <= step * _HALF_A_LEVEL)


def unrounded(scale: float, in_size: int | None, arithmetic: Arithmetic) -> float:
    """Return, in float32, the scale that half precision rounded to ``scale``; see ``in_float32``."""
    fraction = before_half(scale)
    assert fraction is not None
    return in_float32(fraction, in_size, arithmetic)


def in_float32(fraction: Fraction, in_size: int | None, arithmetic: Arithmetic) -> float:
    """Return an intended scale in float32.

    For a known ``in_size`` it gives as many pixels in ``arithmetic`` as the fraction does in PyTorch, which multiplies
    in float64: 100 * 2.3 is 229 there. Float32 gives 230, so the next smaller number that gives 229 is returned.
    """
    nearest = np.float32(float(fraction))
    if in_size is None:
        return float(nearest)
    intended = size_in_double(fraction, in_size)
    while (rounded := scaled_length(Fraction(in_size), Fraction(float(nearest)), arithmetic)) != intended:
        nearest = np.nextafter(nearest, np.float32(np.inf if rounded < intended else 0))
    return float(nearest)


def size_in_double(fraction: Fraction, in_size: int) -> int:
    """Return floor(in_size * scale) in float64, as PyTorch computes it."""
    return math.floor(in_size * float(fraction))


def falls_short_in_double(scale: float, in_size: int, out_size: int) -> bool:
    """Return whether ``out_size`` is the float64 result for a fraction whose exact product is one more.

    ``scale`` may be some float32 steps away from that fraction, as ``unrounded`` returns it.
    """
    fraction = _simplest(scale, lambda near: abs(near / Fraction(scale) - 1) <= _SAME)
    return fraction * in_size == out_size + 1 and size_in_double(fraction, in_size) == out_size


# Exporters, release by release: how earlier ones wrote resizes that today's write otherwise.
#
# Each fact is a run of ``tests/sweeps/exporter_releases.py``. Between the listed releases nothing is known. A release
# that a change does not name wrote the resize as today's does.

RELEASES: Mapping[str, tuple[str, ...]] = {
    "onnxscript": ("0.2.0", "0.6.2", "0.7.0", "0.7.1", "0.7.2"),
    "tf2onnx": ("1.13", "1.14", "1.15", "1.16", "1.17"),
}
"""The releases that were run, by package.

torch.onnx (dynamo) takes its resizes from onnxscript, whatever the torch: 0.7.2 ran with 2.6 and 2.14, 0.2.0 with 2.6.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The ``verdicts`` of releases of a package on the resizes of an exporter to which a change applies."""

    exporter: str
    package: str
    applies: Callable[[ResizeOp], bool]
    verdicts: Mapping[str, str]


def _is_linear_to_one(op: ResizeOp) -> bool:
    is_plain = op.attributes.get("mode") == "bilinear" and not (op.attributes["antialias"] or _has_corners(op))
    return is_plain and isinstance(op.spec.target, Sizes) and 1 in op.spec.target.values


def _is_antialiased_to_sizes(op: ResizeOp) -> bool:
    return bool(op.attributes.get("antialias")) and not isinstance(op.spec.target, Scales)


def _copies_with_corners(op: ResizeOp) -> bool:
    return op.attributes.get("method") == "nearest" and _has_corners(op)


def _has_corners(op: ResizeOp) -> bool:
    return bool(op.attributes.get("align_corners"))


CHANGES = (
    Change(
        exporter="torch-dynamo",
        package="onnxscript",
        applies=_is_linear_to_one,
        verdicts=dict.fromkeys(("0.2.0", "0.6.2", "0.7.0"), "differs by 0.69"),
    ),
    Change(
        exporter="torch-dynamo",
        package="onnxscript",
        applies=_is_antialiased_to_sizes,
        verdicts={"0.2.0": "refused", **dict.fromkeys(("0.6.2", "0.7.0"), "differs by up to 0.05")},
    ),
    Change(
        exporter="tf2onnx",
        package="tf2onnx",
        applies=_copies_with_corners,
        verdicts={"1.13": "differs by 0.96"},
    ),
)


def earlier(exporter: str, op: ResizeOp) -> str:
    """Return how earlier releases wrote a resize that its framework reads as ``op``; empty if as today's."""
    texts = (
        f"{change.package} {release}: {verdict}"
        for change in CHANGES
        if change.exporter == exporter and change.applies(op)
        for release, verdict in change.verdicts.items()
    )
    return ", ".join(texts)


_ATTRIBUTE = 7  # the version whose scales are an attribute
_NEAR = 0.01  # of a pixel: a size that misses an integer by less was meant to be that integer


def of_resize(op: ResizeOp) -> Iterator[tuple[str, str]]:
    """Yield codes and messages for a resize of any file."""
    kernel = op.spec.kernel
    if op.dialect == "onnx" and isinstance(kernel, Linear | Cubic) and kernel.is_antialiased:
        if isinstance(kernel, Cubic) and kernel.a == PLAIN_COEFFICIENT:
            yield "IRI011", "antialias with cubic_coeff_a=-0.75; Pillow and PyTorch antialias with -0.5"
        if not kernel.exclude_outside:
            yield "IRI012", "antialias with exclude_outside=0; Pillow and PyTorch exclude out-of-bounds samples"
    single = ", ".join(map(str, single_outputs(op)))
    if op.dialect == "onnx" and single:
        yield (
            "IRI016",
            f"axis {single}: pytorch_half_pixel takes the first pixel for a single output, PyTorch the middle",
        )
    for axis in missed_sizes(op):
        assert isinstance(op.spec.target, Scales)
        product = f"{axis.in_size} * {op.spec.target.values[axis.place]:.7g}"
        yield "IRI013", f"axis {axis.axis}: {product} gives {axis.out_size}, just short of {axis.intended}"


def single_outputs(op: ResizeOp) -> list[int]:
    """Return the axes of several pixels with one output, where pytorch_half_pixel takes the first pixel."""
    spec, at = op.spec, geometry(op)
    if (
        at is None
        or spec.coordinates is not Coordinates.PYTORCH_HALF_PIXEL
        or not isinstance(spec.kernel, Linear | Cubic)
    ):
        return []
    return sorted(axis for axis in at.changing if at.outputs[axis] == 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Missed:
    """An axis, and its place in the list of scales, whose scale gives ``out_size``, just short of ``intended``."""

    axis: int
    place: int
    in_size: int
    out_size: int
    intended: int


def missed_sizes(op: ResizeOp) -> Iterator[Missed]:
    """Yield where a scale just misses an integral size: 3 * 0.6666 is 1, and 2 was meant."""
    if not isinstance(op.spec.target, Scales) or op.shape is None or op.spec.waits:  # for the windows of a crop
        return
    axes = resolve_axes(op.spec.axes, len(op.shape))
    for place, (axis, scale) in enumerate(zip(axes, op.spec.target.values, strict=True)):
        in_size = op.shape[axis]
        product = Fraction(scale) * (in_size or 0)
        rounded = round(product)
        if in_size and abs(rounded - product) < _NEAR:
            out_size = _out_size(op, axis)
            if out_size != rounded and not falls_short_in_double(scale, in_size, out_size):
                yield Missed(axis=axis, place=place, in_size=in_size, out_size=out_size, intended=rounded)


def _out_size(op: ResizeOp, axis: int) -> int:
    assert op.shape is not None
    return plan(op.spec, tuple(size or 1 for size in op.shape)).out_shape[axis]


def of_node(node: ResizeNode) -> Iterator[tuple[str, str]]:
    """Yield codes and messages for a node of an ONNX model."""
    yield from of_resize(node.op)
    yield from _rounded(node.op, rounded_scales(node))
    quantised = quantised_scales(node)
    if quantised:
        values = ", ".join(f"{old:.7g} was {new}" for old, new in quantised.values())
        yield "IRI018", f"scales are levels of a quantisation: {values}"
    if _was_converted(node):
        yield "IRI015", "as ONNX's version converter writes a Resize-10: half_pixel now, asymmetric before"


def quantised_scales(node: ResizeNode) -> dict[int, tuple[float, Fraction]]:
    """Return the scales that quantisation changed, by place, each with the fraction that it probably was."""
    op, target = node.op, node.op.spec.target
    producer = node.values.producer(node.tensor("scales")) if op.version > _ATTRIBUTE else None
    if not isinstance(target, Scales) or producer is None or producer.op_type != "DequantizeLinear":
        return {}
    step = node.values.value(producer.input[1])
    if step is None or step.size not in (1, len(target.values)):
        return {}
    pairs = enumerate(zip(target.values, np.broadcast_to(step.ravel(), len(target.values)), strict=True))
    intended = {place: (scale, before_levels(scale, float(size))) for place, (scale, size) in pairs}
    return {place: pair for place, pair in intended.items() if np.float32(float(pair[1])) != np.float32(pair[0])}


def _is_cast_from_half(node: ResizeNode) -> bool:
    """Return whether the scales are a half-precision constant behind a Cast."""
    if not isinstance(node.op.spec.target, Scales):
        return False
    producer = node.values.producer(node.tensor("scales")) if node.op.version > _ATTRIBUTE else None
    value = node.values.value(producer.input[0]) if producer is not None and producer.op_type == "Cast" else None
    return value is not None and value.dtype == np.float16


def _was_converted(node: ResizeNode) -> bool:
    """Return whether a node has the marks of ONNX's version converter: no attribute but mode, and a whole window."""
    stated = {attribute.name for attribute in node.node.attribute}
    if node.op.version < 11 or not stated <= {"mode"} or "scales" not in node.op.attributes:
        return False
    roi = list(node.op.attributes.get("roi") or ())
    return bool(roi) and roi == [0.0] * (len(roi) // 2) + [1.0] * (len(roi) // 2)


def of_layer(net: Net, layer: Layer, op: ResizeOp) -> Iterator[tuple[str, str]]:
    """Yield codes and messages for a layer of an IR."""
    yield from of_resize(op)
    yield from _rounded(op, _rounded_scales(op, is_certain=_is_compressed(net, layer)))


def _rounded(op: ResizeOp, places: Sequence[int]) -> Iterator[tuple[str, str]]:
    if places:
        assert isinstance(op.spec.target, Scales)
        scales = (op.spec.target.values[place] for place in places)
        values = ", ".join(f"{scale:.7g} was {before_half(scale)}" for scale in scales)
        yield "IRI014", f"scales were rounded to half precision: {values}"


def rounded_scales(node: ResizeNode) -> list[int]:
    """Return the places of a node's scales that were rounded to half precision."""
    return _rounded_scales(node.op, is_certain=_is_cast_from_half(node))


def _rounded_scales(op: ResizeOp, *, is_certain: bool) -> list[int]:
    if not isinstance(op.spec.target, Scales):
        return []
    return rounded_to_half(op.spec.target.values, scaled_lengths(op), is_certain=is_certain)


def scaled_lengths(op: ResizeOp) -> PartialShape:
    """Return the sizes that the scales of a resize multiply, None if unknown."""
    count = len(op.spec.target.values) if isinstance(op.spec.target, Scales) else 0
    if op.shape is None:
        return (None,) * count
    return tuple(op.shape[axis] for axis in resolve_axes(op.spec.axes, len(op.shape)))


def _is_compressed(net: Net, layer: Layer) -> bool:
    """Return whether the scales come from a half-precision constant."""
    for index in range(1, len(layer.inputs)):
        source = net.source(layer, index)
        while source is not None and source[0].type.lower() == "convert":
            source = net.source(source[0], 0)
        if source is not None and source[0].attributes.get("element_type", "").lower() == "f16":
            return True
    return False
