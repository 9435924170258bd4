"""What tends to be an exporter's mistake: resizes that run, and hardly mean what was wanted."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from ir_interp.ir.model import Layer, Net
from ir_interp.op import ResizeOp
from ir_interp.plan.geometry import plan
from ir_interp.shapes import resolve_axes
from ir_interp.spec import Cubic, Linear, Scales

from ..onnx.resizes import FoundNode

_NEAR = 0.01  # of a pixel: a length that misses a whole number by less was meant to be that


def of_resize(op: ResizeOp) -> Iterator[tuple[str, str]]:
    """Yield codes and messages for a resize of any file."""
    kernel = op.spec.kernel
    if op.dialect == "onnx" and isinstance(kernel, Linear | Cubic) and kernel.is_antialiased:
        if isinstance(kernel, Cubic) and kernel.a == -0.75:
            yield "IRI011", "antialias with cubic_coeff_a=-0.75; Pillow and PyTorch antialias with -0.5"
        if not kernel.exclude_outside:
            yield "IRI012", "antialias with exclude_outside=0; Pillow and PyTorch leave out taps outside the image"
    yield from _missed_lengths(op)


def _missed_lengths(op: ResizeOp) -> Iterator[tuple[str, str]]:
    """Yield where a scale just misses a whole length: 3 * 0.6666 is 1, and 2 was meant."""
    if not isinstance(op.spec.target, Scales) or op.shape is None:
        return
    for axis, scale in zip(resolve_axes(op.spec.axes, len(op.shape)), op.spec.target.values, strict=True):
        length = op.shape[axis]
        wanted = round(length * Fraction(scale)) if length else 0
        if length and abs(wanted - length * Fraction(scale)) < _NEAR:
            made = _length(op, axis)
            if made != wanted:
                yield "IRI013", f"axis {axis}: {length} * {scale:.7g} gives {made}, hardly missing {wanted}"


def _length(op: ResizeOp, axis: int) -> int:
    assert op.shape is not None
    return plan(op.spec, tuple(length or 1 for length in op.shape)).out_shape[axis]


def of_node(node: FoundNode) -> Iterator[tuple[str, str]]:
    """Yield codes and messages for a node of an ONNX model."""
    yield from of_resize(node.op)
    if _was_converted(node):
        yield "IRI015", "as ONNX's version converter leaves a Resize-10: half_pixel now, asymmetric before"


def _was_converted(node: FoundNode) -> bool:
    """Say whether a node bears the marks of ONNX's version converter: no attribute but mode, and a whole window."""
    stated = {attribute.name for attribute in node.node.attribute}
    if node.op.version < 11 or not stated <= {"mode"} or "scales" not in node.op.attributes:
        return False
    roi = list(node.op.attributes.get("roi") or ())
    return bool(roi) and roi == [0.0] * (len(roi) // 2) + [1.0] * (len(roi) // 2)


def of_layer(net: Net, layer: Layer, op: ResizeOp) -> Iterator[tuple[str, str]]:
    """Yield codes and messages for a layer of an IR."""
    yield from of_resize(op)
    if isinstance(op.spec.target, Scales) and _is_compressed(net, layer):
        rounded = [scale for scale in op.spec.target.values if _is_awkward(scale)]
        if rounded:
            yield "IRI014", f"scales {', '.join(f'{scale:.7g}' for scale in rounded)} were stored in half precision"


def _is_compressed(net: Net, layer: Layer) -> bool:
    """Say whether the scales come from a constant in half precision."""
    for index in range(1, len(layer.inputs)):
        found = net.source(layer, index)
        while found is not None and found[0].type.lower() == "convert":
            found = net.source(found[0], 0)
        if found is not None and found[0].attributes.get("element_type", "").lower() == "f16":
            return True
    return False


def _is_awkward(scale: float) -> bool:
    """Say whether a scale looks like a decimal that half precision rounded: 2.3008 for 2.3."""
    return float(np.float32(f"{scale:.4g}")) != scale
