"""What ONNX's reference implementation makes of a node."""

from __future__ import annotations

from dataclasses import replace

from ir_interp.spec import (
    Arithmetic,
    Aspect,
    Coordinates,
    Cubic,
    Nearest,
    ResizeSpec,
    Scales,
)
from ir_interp.translation.dialect import Context, Semantics

from ..dialects.onnx import DIALECT
from ..onnx.resizes import FoundNode
from ..runtimes.outcome import Forecast, differs, refused
from .forecast import Geometry, geometry


def reference(node: FoundNode) -> Forecast:
    """Return what ONNX's ReferenceEvaluator does."""
    op, words = node.op, node.words
    if op.version in (7, 10):
        return refused(f"it has no {'Upsample-7' if op.version == 7 else 'Resize-10'}")
    if op.version == 9:
        return _reference_upsample(node)
    at = geometry(node)
    if words.get("coordinate_transformation_mode") == "tf_half_pixel_for_nn" and (at is None or at.scaled):
        return refused("it knows no tf_half_pixel_for_nn")
    if min(words.get("axes") or (0,)) < 0:
        return refused("it takes no negative axes")
    if op.dtype in ("bool", "str"):
        return refused(f"it does not resize {op.dtype}")
    context = Context(version=op.version, shape=op.shape, semantics=Semantics.REFERENCE)
    spec = replace(DIALECT.parse(words, context), arithmetic=Arithmetic.EXACT)
    if spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL and at is not None:
        return _reference_single(spec, at)
    return Forecast(spec=spec)


def _reference_upsample(node: FoundNode) -> Forecast:
    target = node.op.spec.target
    whole = isinstance(target, Scales) and all(float(scale).is_integer() for scale in target.values)
    if not isinstance(node.op.spec.kernel, Nearest) or not whole:
        return refused("its Upsample takes nearest and whole scales only")
    return Forecast(spec=replace(node.op.spec, arithmetic=Arithmetic.EXACT))


def _reference_single(spec: ResizeSpec, at: Geometry) -> Forecast:
    """Return what comes of an axis with a single output: it lies at -1/2, or is not noticed under a fraction."""
    filtered = isinstance(spec.kernel, Cubic) or spec.kernel.is_antialiased
    single = [axis for axis in at.scaled if at.outputs[axis] == 1]
    stretched = spec.gives_sizes and spec.aspect is Aspect.STRETCH
    if single and not stretched and all(at.scales[axis] * at.lengths[axis] != 1 for axis in single):
        return Forecast(spec=replace(spec, coordinates=Coordinates.HALF_PIXEL), reason="it does not notice 1 output")
    return differs("it puts a single output at -1/2") if single and filtered else Forecast(spec=spec)
