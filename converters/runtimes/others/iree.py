"""IREE, by its importer of ONNX: it refuses what it does not have, and multiplies lengths exactly (3.13)."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.resize_op import ResizeOp
from ir_interp.spec import Coordinates, Cubic, Nearest

from ..image_runtimes import FLOOR, HALF_PIXEL_LINEAR, RESIZE_10, UPSAMPLE, divided, image_outcome, is_longer_in_singles
from ..outcome import Outcome, differs, refused, unknown
from . import OtherRuntime

_COEFFICIENT = -0.75
_OF_SCALES = 7  # the version of Upsample whose scales are an attribute
_SYMMETRIC = "half_pixel_symmetric with scales, which makes some outputs 0"
_OF_NEAREST = (Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC)


def outcome(op: ResizeOp, may_change: Set[int]) -> Outcome:
    """Return what comes of a node."""
    reason = _refusal(op)
    if reason:
        return unknown(reason) if reason is _SYMMETRIC else refused(reason)
    old = (FLOOR, HALF_PIXEL_LINEAR) if op.version in UPSAMPLE else ()
    found = image_outcome(op, may_change, old, divided)
    return differs("it multiplies lengths and scales exactly") if found.spec and is_longer_in_singles(op) else found


def _refusal(op: ResizeOp) -> str:
    kernel, coordinates = op.spec.kernel, op.spec.coordinates
    if op.version in (_OF_SCALES, RESIZE_10):
        return "it has no Upsample-7, and no Resize-10"
    if op.version in UPSAMPLE:
        return ""
    if coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN:
        return "it has no tf_half_pixel_for_nn"
    if isinstance(kernel, Nearest):
        return "" if coordinates in _OF_NEAREST else "its nearest has half_pixel and asymmetric only"
    if kernel.is_antialiased:
        return "it has no antialias"
    if coordinates is Coordinates.HALF_PIXEL_SYMMETRIC and op.spec.gives_scales:
        return _SYMMETRIC
    if isinstance(kernel, Cubic) and kernel.exclude_outside:
        return "it has no exclude_outside"
    if isinstance(kernel, Cubic) and kernel.a != _COEFFICIENT:
        return f"its cubic has the coefficient {_COEFFICIENT} only"
    return ""


def _run(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import iree.runtime
    import onnx
    from iree.compiler.extras import onnx_importer
    from iree.compiler.ir import Context
    from iree.compiler.tools import compile_str

    described = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(onnx.load(model), data_prop=True))
    module = described.create_module(context=Context()).operation
    onnx_importer.NodeImporter.define_function(described.main_graph, module).import_all()
    options = ["--iree-llvmcpu-target-cpu=generic"]
    built = compile_str(module.get_asm(), input_type="onnx", target_backends=["llvm-cpu"], extra_args=options)
    made = iree.runtime.load_vm_flatbuffer(built, driver="local-sync")
    name = next(each for each in made.vm_module.function_names if not each.startswith("_") and "$" not in each)
    results = made[name](x)
    return np.asarray((results if hasattr(results, "to_host") else results[0]).to_host())


RUNTIME = OtherRuntime(
    name="iree",
    title="IREE",
    version="3.13",
    package="iree.compiler",
    distribution="iree-base-compiler",
    also=("iree-base-runtime", "onnx"),
    outcome=outcome,
    run=_run,
)
