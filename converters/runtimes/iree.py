"""IREE, by its importer of ONNX: it refuses unsupported nodes, and multiplies sizes exactly (3.13)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

import numpy as np

from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array
from ir_interp.specs import Coordinates, Crop, Cubic, Kernel, Linear, Nearest, Scales

from .image_runtimes import ALL_TYPES, HEIGHT_AND_WIDTH, divided, image_outcome, is_longer_in_singles
from .outcome import (
    FLOOR,
    HALF_PIXEL_LINEAR,
    PLAIN_COEFFICIENT,
    RESIZE_10,
    UPSAMPLE,
    UPSAMPLE_7,
    Outcome,
    Surroundings,
    changing_axes,
    differs,
    geometry,
    refused,
    settled,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

_IMAGES_ONLY = "it resizes height and width only"
_OF_NEAREST = (Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC)


def outcome(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node."""
    reason = _refusal(stated, may_change)
    # The importer reads the node as in the file; sizes of run time are known to the shape of ``op`` alone.
    if not reason and op.version not in UPSAMPLE and changing_axes(op, may_change) - HEIGHT_AND_WIDTH:
        reason = _IMAGES_ONLY  # as it finds at run time
    if reason:
        return refused(reason)
    if is_longer_in_singles(stated):
        return differs("it multiplies sizes and scales exactly")
    old = (FLOOR, HALF_PIXEL_LINEAR) if op.version in UPSAMPLE else ()
    result = image_outcome(op, may_change, old, divided, dtypes=ALL_TYPES)
    return result if result.spec is None or not _is_centred_by_scales(op) else _centred(op, result)


def with_computed_scales(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome of a node whose scales nodes compute: no inferred size reveals other axes of an Upsample."""
    if op.version in UPSAMPLE and stated.shape is not None:
        height_and_width = (n if axis in HEIGHT_AND_WIDTH else None for axis, n in enumerate(stated.shape))
        stated = replace(stated, shape=tuple(height_and_width))
    return outcome(op, may_change, stated)


def _is_centred_by_scales(op: ResizeOp) -> bool:
    is_symmetric = op.spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC
    return is_symmetric and op.spec.gives_scales and isinstance(op.spec.kernel, Linear)


def _centred(op: ResizeOp, result: Outcome) -> Outcome:
    """Return the outcome of half_pixel_symmetric: if a size is rounded, a pixel may be weighted twice."""
    at = geometry(settled(op))
    if at is None:
        return replace(result, provided="no size is rounded")
    # half_pixel_symmetric centres the exact size, so that only a rounded one is off.
    if any(np.float32(at.in_sizes[axis] * at.scales[axis]) % 1 for axis in at.changing):
        return unknown("half_pixel_symmetric with scales that round a size, where it counts a pixel twice")
    return result


def _is_stated(op: ResizeOp, axis: int) -> bool:
    """Return whether a scale gives another size for a static dimension."""
    in_size = op.shape[axis] if op.shape else None
    values = op.spec.target.values if isinstance(op.spec.target, Scales) else ()
    return in_size is not None and int(in_size * values[axis]) != in_size


def _refusal(op: ResizeOp, may_change: Set[int]) -> str:
    kernel, coordinates = op.spec.kernel, op.spec.coordinates
    if op.version in (UPSAMPLE_7, RESIZE_10):
        return "Upsample-7 and Resize-10 are not supported"
    if op.attributes.get("axes") is not None:
        return "axes are not supported"
    others = changing_axes(op, may_change) - HEIGHT_AND_WIDTH
    if op.version in UPSAMPLE:
        others = {axis for axis in others if _is_stated(op, axis)}
    if others:
        return _IMAGES_ONLY
    if op.dtype != "float32" and not isinstance(kernel, Nearest):
        return f"sums of {op.dtype} are not supported"
    return "" if op.version in UPSAMPLE else _attribute_refusal(op, kernel, coordinates)


def _attribute_refusal(op: ResizeOp, kernel: Kernel, coordinates: Coordinates | Crop) -> str:
    if isinstance(coordinates, Crop):
        return "crops are not supported"
    if coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN:
        return "tf_half_pixel_for_nn is not supported"
    if isinstance(kernel, Nearest):
        return "" if coordinates in _OF_NEAREST else "its nearest has half_pixel and asymmetric only"
    if kernel.is_antialiased:
        return "antialias is not supported"
    if isinstance(kernel, Cubic) and kernel.exclude_outside:
        return "exclude_outside is not supported"
    if isinstance(kernel, Cubic) and kernel.a != PLAIN_COEFFICIENT:
        return f"its cubic has the coefficient {PLAIN_COEFFICIENT} only"
    return ""


def among(op: ResizeOp, around: Surroundings) -> Outcome | None:
    """Return the refusal of a node in a Scan, or in a Loop that stacks results; other Loops depend on their types."""
    loops = [body for body in around.bodies if body.operator == "Loop"]
    if loops:
        return refused("its Loop stacks no results") if loops[0].stacks else unknown("a Loop that stacks no results")
    return around.refused_in({"Scan"})


def _run(model: str, x: Array) -> Array:
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
    loaded = iree.runtime.load_vm_flatbuffer(built, driver="local-sync")
    name = next(
        function for function in loaded.vm_module.function_names if not function.startswith("_") and "$" not in function
    )
    results = loaded[name](x)
    host = np.array((results if hasattr(results, "to_host") else results[0]).to_host())  # its memory goes with it
    return host.view(x.dtype) if host.itemsize == x.itemsize else host  # its integers have no sign


RUNTIME = Runtime(
    name="iree",
    title="IREE",
    version="3.13",
    of_node=outcome,
    with_computed_scales=with_computed_scales,
    accepts=Accepted(least_opset=13),  # no Slice before, and no Concat before 11
    runner=Runner(
        package="iree.compiler", distribution="iree-base-compiler", run=_run, also=("iree-base-runtime", "onnx")
    ),
    takes_functions=False,
    among=among,
)
