"""Likely exporter mistakes: resizes that run, but hardly mean what was intended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ir_interp.ir.net import Layer, Net
from ir_interp.plan.axes.geometry import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import PartialShape, resolve_axes
from ir_interp.spec import Coordinates, Cubic, Linear, Scales

from ..onnx.resize_nodes import ResizeNode
from ..runtimes.node_geometry import geometry
from ..runtimes.shared_readings import PLAIN_COEFFICIENT
from .intended_scales import before_half, before_levels, falls_short_in_double, rounded_to_half

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
