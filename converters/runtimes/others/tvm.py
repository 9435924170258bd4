"""TVM, by the ONNX frontend of Relax: it resizes by the ratio of lengths (0.27)."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Coordinates, Nearest, Sizes

from ..image_runtimes import BY_RATIO, FLOOR, NO_ANTIALIAS, image_outcome, is_longer_in_singles
from ..node_geometry import geometry
from ..outcome import Outcome, differs, refused
from . import OtherRuntime

_OF_SCALES = 7  # the version of Upsample whose scales are an attribute
_RESIZE_WITH_SIZES = 11
_LEAVES_OUT = 13  # since this operator set exporters leave out scales; before, they give empty ones


def outcome(op: ResizeOp, may_change: Set[int]) -> Outcome:
    """Return what comes of a node."""
    reason = _refusal(op)
    if reason:
        return refused(reason)
    at = geometry(op)
    if op.version == _OF_SCALES and isinstance(op.spec.kernel, Nearest) and (at is None or at.changing):
        return differs("its Upsample-7 rounds the places of nearest, where others take the floor")
    found = image_outcome(op, may_change, (FLOOR, BY_RATIO, NO_ANTIALIAS))
    is_longer = found.spec is not None and op.version == _OF_SCALES and is_longer_in_singles(op)
    return differs("it multiplies lengths and scales exactly") if is_longer else found


def _refusal(op: ResizeOp) -> str:
    at = geometry(op)
    if op.version < _RESIZE_WITH_SIZES and op.version != _OF_SCALES:
        return "its importer takes no Upsample-9, and no Resize-10"
    if op.spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC:
        return "it has no half_pixel_symmetric"
    if isinstance(op.spec.target, Sizes) and op.version < _LEAVES_OUT:
        return "it refuses empty scales beside sizes"
    if op.spec.coordinates is Coordinates.ALIGN_CORNERS and at and 1 in at.outputs[2:]:
        return "it divides by 0 where align_corners makes a length of 1"
    return ""


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import onnx
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    built = tvm.compile(from_onnx(onnx.load(model), keep_params_in_input=False), target="llvm")
    machine = relax.VirtualMachine(built, tvm.cpu())
    made: Any = machine["main"](tvm.runtime.tensor(x))
    return np.asarray((made if hasattr(made, "numpy") else made[0]).numpy())


RUNTIME = OtherRuntime(
    name="tvm",
    title="TVM",
    version="0.27",
    package="tvm",
    distribution="apache-tvm",
    also=("onnx",),
    outcome=outcome,
    run=_run,
)
