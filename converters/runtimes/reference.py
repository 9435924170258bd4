"""ONNX's reference implementation, ``onnx.reference``: the nodes that it accepts, and its results (1.23)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.resize_op import ResizeOp
from ir_interp.specs import Arithmetic, Aspect, Coordinates, Cubic, Length, Nearest, ResizeSpec, Scales

from .outcome import Geometry, Outcome, computes, differs, geometry, refused
from .runtime import Runner, Runtime


def outcome(op: ResizeOp) -> Outcome:
    """Return the outcome of a node. ``op.attributes`` are those of the node."""
    if op.version in (7, 10):
        return refused(f"{'Upsample-7' if op.version == 7 else 'Resize-10'} is not supported")
    if op.version == 9:
        return _upsample(op)
    at = geometry(op)
    if op.spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN and (at is None or at.scaled):
        return refused("tf_half_pixel_for_nn is not supported")
    if min(op.spec.axes or (0,)) < 0:
        return refused("negative axes are not supported")
    if op.dtype in ("bool", "str"):
        return refused(f"it does not resize {op.dtype}")
    # It multiplies by the scale in align_corners and crops (onnx issue 2462), in float64.
    spec = replace(op.spec, length=Length.FRACTIONAL, arithmetic=Arithmetic.EXACT)
    if spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL and at is not None:
        return _single_output(spec, at)
    return computes(spec)


def _upsample(op: ResizeOp) -> Outcome:
    target = op.spec.target
    whole = isinstance(target, Scales) and all(float(scale).is_integer() for scale in target.values)
    if not isinstance(op.spec.kernel, Nearest) or not whole:
        return refused("its Upsample supports nearest and integral scales only")
    return computes(replace(op.spec, arithmetic=Arithmetic.EXACT))


def _single_output(spec: ResizeSpec, at: Geometry) -> Outcome:
    """Return the outcome of an axis with a single output: it lies at -1/2, or is not noticed under a fraction."""
    filtered = isinstance(spec.kernel, Cubic) or spec.kernel.is_antialiased
    single = [axis for axis in at.scaled if at.outputs[axis] == 1]
    stretched = spec.gives_sizes and spec.aspect is Aspect.STRETCH
    if single and not stretched and all(at.scales[axis] * at.in_sizes[axis] != 1 for axis in single):
        return computes(replace(spec, coordinates=Coordinates.HALF_PIXEL), "it misses a single output")
    return differs("it puts a single output at -1/2") if single and filtered else computes(spec)


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import onnx
    import onnx.reference

    loaded = onnx.load(model)
    results: Any = onnx.reference.ReferenceEvaluator(loaded).run(None, {loaded.graph.input[0].name: x})
    return np.asarray(results[0])


RUNTIME = Runtime(
    name="reference",
    title="ONNX reference",
    version="1.23",
    is_asked=True,
    alone=outcome,
    takes_functions=True,
    runner=Runner(package="onnx", distribution="onnx", run=_run),
)
