"""onnxruntime's CUDA, DirectML, QNN and WebGPU providers: how they compute a Resize.

Nodes that a provider does not take are left to the CPU provider, which every session has. QNN's rules come from runs in
its simulator of the HTP, Qualcomm's NPU, which the package onnxruntime-qnn contains for x86 (2.7.0). WebGPU's rules
come from runs of onnxruntime-node (1.30) on SwiftShader, a Vulkan driver for the CPU. CUDA and DirectML were not run:
their rules follow the sources at github.com/microsoft/onnxruntime, at the commits that ``RUNTIMES`` names; DirectML
itself is closed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Set
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.formulas import AxisPlan, positions
from ir_interp.plan.integer_sums import SPATIAL_AXES
from ir_interp.plan.taps import plan
from ir_interp.resize_op import ResizeOp
from ir_interp.shapes import Array, static_shape
from ir_interp.specs import Arithmetic, Aspect, Coordinates, Crop, Cubic, Nearest, ResizeSpec, Rounding, Scales, Step
from ir_interp.translation.meaning import are_whole

from . import onnxruntime
from .image_runtimes import (
    NO_TIE,
    SHIFTS_UNRESIZED,
    Floats,
    crop_or_policy,
    of_type,
    read_outcome,
    rounds_down,
    ties_are_open,
    to_pixels,
)
from .outcome import (
    FLOOR,
    HALF_PIXEL_OF_10 as OF_10,
    RESIZE_10,
    UPSAMPLE,
    Levels,
    Outcome,
    Reading,
    changing_axes,
    crashes,
    differs,
    geometry,
    refused,
    resized,
    settled,
    unknown,
)
from .runtime import Accepted, Runner, Runtime

LEFT_TO_CPU = "left to the CPU provider"

_IMAGE = 4  # axes of a batch of images
_WEBGPU_RANKS = range(2, 6)
_CLOSE = 1e-5  # to the edge of a rounding: more than the 2.5 units in the last place that a GPU's division may lose
_LAST_AXES = "it resizes the last axes, whichever axes the scales name"


def left_to_cpu(op: ResizeOp, reason: str, release: str = "") -> Outcome:
    """Return the outcome of a node that a provider does not take, in the CPU provider of a release or the newest."""
    cpu = onnxruntime.RUNTIME.releases[release].outcome(op) if release else onnxruntime.outcome(op)
    return replace(cpu, reason="; ".join(filter(None, (f"{LEFT_TO_CPU}: {reason}", cpu.reason))))


def _uncovered(op: ResizeOp) -> str:
    if op.dtype != "float32":
        return of_type(op)
    return crop_or_policy(op) or ("" if op.shape is not None else "a Resize of an unknown rank")


def _as_on_cpu(output: Floats, axis: AxisPlan, before: np.float32, after: np.float32) -> Floats:
    """Return the source coordinate in onnxruntime's order of operations, which every provider copies."""
    at = positions(axis)
    return np.asarray(at.floor + at.fraction, dtype=np.float32)


def _turns_by_rounding(op: ResizeOp) -> bool:
    """Return whether a nearest pixel may depend on how a GPU rounds a division: by powers of 2 it is exact."""
    # GPUs divide with an error of some last places, and by a power of 2 without one.
    shape, kernel, target = static_shape(op.shape), op.spec.kernel, op.spec.target
    if not isinstance(kernel, Nearest):
        return False
    if shape is None or op.spec.waits:
        return not (isinstance(target, Scales) and all(map(_divides_exactly, target.values)))
    turn = 0.5 if kernel.rounding in (Rounding.ROUND_PREFER_CEIL, Rounding.ROUND_PREFER_FLOOR) else 0.0
    for axis in plan(op.spec, shape).axes:
        at = float(axis.step) * np.arange(axis.out_size) + float(axis.offset) - turn
        near = np.abs(at - np.rint(at)) < _CLOSE * np.maximum(1, np.abs(at))
        if near.any() and not _divides_exactly(float(axis.step)):
            return True
    return False


def _divides_exactly(step: float) -> bool:
    """Return whether a step, or its reciprocal, is a power of 2, or 0: of a single output."""
    return math.frexp(step)[0] in (0, 0.5)


_TURNS = "a nearest pixel that depends on the last bit of a quotient"


def _resizes_others(op: ResizeOp, may_change: Set[int] | None = None) -> bool:
    """Return whether a weighted resize runs along other axes than the last ones: images whose channels come last."""
    rank, axes = len(op.shape or ()), resized(op) if may_change is None else may_change
    return not isinstance(op.spec.kernel, Nearest) and not (rank in SPATIAL_AXES and axes <= SPATIAL_AXES[rank])


def _refusal_of_any(op: ResizeOp) -> str:
    """Return the refusals of the checks that all providers share."""
    at = geometry(op)
    return onnxruntime.refusal(op, at.scaled if at else None)


def _cuda(op: ResizeOp) -> Outcome:
    uncovered, refusal, kernel = _uncovered(op), _refusal_of_any(op), op.spec.kernel
    if uncovered or refusal:
        return unknown(uncovered) if uncovered else refused(refusal)
    if op.version in UPSAMPLE:
        return _cuda_upsample(op)
    if _resizes_others(op):
        return refused("no antialias of channels-last images") if kernel.is_antialiased else differs(_LAST_AXES)
    if kernel.is_antialiased and isinstance(kernel, Cubic):
        return differs("its antialiased cubic has one coefficient, and omits a part of a smaller image")
    if kernel.is_antialiased:  # its kernels take the CPU's steps, and copy an axis that keeps its size
        return onnxruntime.outcome(op)
    if op.spec.coordinates is Coordinates.HALF_PIXEL_SYMMETRIC:
        return unknown("half_pixel_symmetric, which is newer than the source")
    return read_outcome(op, (), _as_on_cpu)


def _cuda_upsample(op: ResizeOp) -> Outcome:
    is_linear, target = not isinstance(op.spec.kernel, Nearest), op.spec.target
    if is_linear and len(op.shape or ()) not in (2, _IMAGE):  # its kernels are for images alone
        return differs("a linear Upsample of this rank is not supported, and the output stays unwritten")
    if is_linear and _resizes_others(op):
        return differs(_LAST_AXES)
    if not isinstance(target, Scales):
        return unknown("an Upsample with scales at run time")
    is_whole = all(scale.is_integer() for scale in target.values)
    return read_outcome(op, (), _as_on_cpu) if is_whole else differs("its Upsample divides by the scale rounded up")


def _directml(op: ResizeOp) -> Outcome:
    kernel, shape, uncovered = op.spec.kernel, op.shape or (), _uncovered(op)
    if isinstance(kernel, Cubic):
        return left_to_cpu(op, "cubic is not supported")
    if op.attributes.get("exclude_outside"):
        return left_to_cpu(op, "exclude_outside is not supported")
    if uncovered or op.attributes.get("axes") is not None:
        return unknown(uncovered or "a Resize with axes")
    if sum(size != 1 for size in shape) > _IMAGE:  # axes of size 1 are left out
        return unknown("a Resize of more than 4 axes")
    at = geometry(op)
    if kernel.is_antialiased and (at is None or at.shrinks):
        return differs("its antialias halves an image until less than a factor of two remains")
    if op.spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN and _shifts_what_stays(op):
        return differs(SHIFTS_UNRESIZED)
    reading = OF_10 if op.version <= RESIZE_10 else _SINGLE_OUTPUT
    if _turns_by_rounding(replace(op, spec=reading.of(op.spec))):
        return unknown(_TURNS)
    return read_outcome(op, (reading,), _as_on_cpu)


def _shifts_what_stays(op: ResizeOp) -> bool:
    moving = resized(op)
    stays = (size for axis, size in enumerate(op.shape or ()) if axis not in moving)
    return not rounds_down(op.spec.kernel) and any(size != 1 for size in stays)


def _half_pixel(spec: ResizeSpec) -> ResizeSpec:
    is_pytorch = spec.coordinates is Coordinates.PYTORCH_HALF_PIXEL
    return replace(spec, coordinates=Coordinates.HALF_PIXEL) if is_pytorch else spec


_SINGLE_OUTPUT = Reading("its pytorch_half_pixel tests for a single input, not a single output", _half_pixel)
_OF_QNN = (Coordinates.HALF_PIXEL, Coordinates.PYTORCH_HALF_PIXEL, Coordinates.ALIGN_CORNERS, Coordinates.ASYMMETRIC)
FLOATS_OF_NPU = {"float32": 1e-4, "float16": 2e-2}
"""The element types that QNN resizes, and the differences that its sums of numbers up to 1 may have."""
_QNN_RANKS = range(3, 6)
_NOT_FINAL = "it fails to finalize its graph"
_DEPTH = 2  # an axis of volumes
_NO_IMAGES = (
    (Coordinates.HALF_PIXEL, Rounding.FLOOR),
    (Coordinates.ALIGN_CORNERS, Rounding.FLOOR),
    (Coordinates.ALIGN_CORNERS, Rounding.ROUND_PREFER_CEIL),
    (Coordinates.ASYMMETRIC, Rounding.FLOOR),
)  # the nearest of other ranks that QNN takes
_DOWN = (Rounding.FLOOR, Rounding.ROUND_PREFER_CEIL)  # roundings of asymmetric that QNN takes


def _qnn_sizes(spec: ResizeSpec) -> ResizeSpec:
    """Return a resize whose sizes are exact products, rounded down: 10 * 2.1 is 20, since 2.1 in float32 is less."""
    if isinstance(spec.target, Scales) and are_whole(spec.target):
        return spec
    return replace(spec, step=Step.RATIO, arithmetic=Arithmetic.EXACT) if spec.gives_scales else spec


def _qnn_nearest(spec: ResizeSpec) -> ResizeSpec:
    """Return the nearest resize of the HTP, which has one rounding for each of its coordinates."""
    if not isinstance(spec.kernel, Nearest):
        return spec
    if spec.coordinates in (Coordinates.HALF_PIXEL, Coordinates.ALIGN_CORNERS):
        return replace(spec, kernel=Nearest(rounding=Rounding.ROUND_PREFER_CEIL))
    return replace(spec, coordinates=Coordinates.ASYMMETRIC, kernel=Nearest(rounding=Rounding.FLOOR))


def _qnn_half_pixel(spec: ResizeSpec) -> ResizeSpec:
    return spec if isinstance(spec.kernel, Nearest) else _half_pixel(spec)


def _with_outside(spec: ResizeSpec) -> ResizeSpec:
    return replace(spec, kernel=replace(spec.kernel, exclude_outside=False)) if isinstance(spec.kernel, Cubic) else spec


_QNN_READINGS = (
    Reading("it rounds the exact product of size and scale down, and uses the ratio of sizes", _qnn_sizes),
    Reading("its nearest rounds half_pixel and align_corners half up, others down, as asymmetric", _qnn_nearest),
    Reading("its pytorch_half_pixel is half_pixel, for a single output too", _qnn_half_pixel),
    Reading("it ignores exclude_outside", _with_outside),
)


def _qnn(op: ResizeOp) -> Outcome:
    """Return the outcome in QNN's simulator of the HTP."""
    return _qnn_of_node(op, resized(op), op)


def _qnn_of_node(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    at, refusal = geometry(op), _refusal_of_qnn(stated)
    if at is None or refusal:
        return left_to_cpu(op, refusal)
    if op.dtype not in FLOATS_OF_NPU:
        return refused("it claims the node for its layout, and then does not support the element type")
    other = _of_other_rank(op, at.changing) if len(at.in_sizes) != _IMAGE else None
    if other:
        return other
    if op.spec.aspect is not Aspect.STRETCH:
        return unknown("an aspect policy")
    if op.spec.coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN:
        return refused(_NOT_FINAL) if op.dtype == "float32" else read_outcome(op, _QNN_READINGS[:1])
    before = (OF_10,) if op.version == RESIZE_10 else (FLOOR,) if op.version in UPSAMPLE else ()
    return read_outcome(op, (*before, *_QNN_READINGS))


def _of_other_rank(op: ResizeOp, changing: Set[int]) -> Outcome | None:
    """Return the outcome of a node of rank 3 or 5; None if it is as that of an image."""
    kernel, is_volume = op.spec.kernel, len(op.shape or ()) > _IMAGE
    if op.version <= RESIZE_10 or (is_volume and op.dtype != "float32"):
        return unknown(f"{op.dtype} of this rank")
    if isinstance(kernel, Cubic) and is_volume:
        return crashes("its cubic of rank 5 ends the process")
    if not isinstance(kernel, Nearest):
        return None
    if (op.spec.coordinates, kernel.rounding) == (Coordinates.ALIGN_CORNERS, Rounding.FLOOR):
        return refused("it claims the node for its layout, and then does not support the rounding")
    return refused(_NOT_FINAL) if is_volume and min(changing, default=_DEPTH) == _DEPTH else None


def of_levels_in_qnn(op: ResizeOp, levels: Levels, alone: Outcome) -> Outcome | None:
    """Return the outcome between quantisations of a node that QNN takes; None if it is that of the node ``alone``."""
    rank = len(op.shape or ())
    is_linear = not isinstance(op.spec.kernel, Nearest | Cubic)
    if levels.dtype == "int16" and not (is_linear and rank == _IMAGE):
        return refused("it claims the node for its layout, and then does not support int16")
    return read_outcome(op, _QNN_READINGS) if alone == refused(_NOT_FINAL) and rank > _IMAGE else None


def _refusal_of_qnn(op: ResizeOp) -> str:
    """Return why a node is not taken."""
    kernel, coordinates, at = op.spec.kernel, op.spec.coordinates, geometry(op)
    if at is None or len(at.in_sizes) not in _QNN_RANKS or not min(at.changing, default=2) > 1:
        return "it resizes the last axes of static tensors of rank 3 to 5 only"
    if op.version <= RESIZE_10:
        return ""
    if kernel.is_antialiased:
        return "antialias is not supported"
    if coordinates is Coordinates.TF_HALF_PIXEL_FOR_NN:
        is_floor = isinstance(kernel, Nearest) and kernel.rounding is Rounding.FLOOR and len(at.in_sizes) == _IMAGE
        return "" if is_floor else "its tf_half_pixel_for_nn supports nearest images with floor only"
    if coordinates not in _OF_QNN:
        return "crops and half_pixel_symmetric are not supported"
    if isinstance(kernel, Nearest) and len(at.in_sizes) != _IMAGE and (coordinates, kernel.rounding) not in _NO_IMAGES:
        return "its nearest of rank 3 and 5 supports one rounding for each coordinate only"
    if isinstance(kernel, Nearest) and coordinates is Coordinates.ASYMMETRIC and kernel.rounding not in _DOWN:
        return "its asymmetric nearest supports floor and round_prefer_ceil only"
    ratios = (abs(at.scales[axis] - at.outputs[axis] / at.in_sizes[axis]) for axis in at.scaled)
    if isinstance(kernel, Cubic) and max(ratios, default=0) > _CLOSE:  # its own bound, too
        return "its cubic supports only scales that are the ratio of sizes"
    return ""


def _webgpu(op: ResizeOp) -> Outcome:
    return _webgpu_of_node(op, resized(op), op)


def _webgpu_of_node(op: ResizeOp, may_change: Set[int], stated: ResizeOp) -> Outcome:
    """Return the outcome in WebGPU, which leaves all element types except floats to the CPU provider."""
    kernel, taken = op.spec.kernel, settled(op)
    if op.version in UPSAMPLE:
        return left_to_cpu(op, "Upsample is not supported", _OF_NODE)
    if "float" not in (op.dtype or "float32"):
        return left_to_cpu(op, f"it resizes no {op.dtype}", _OF_NODE)
    sure = changing_axes(taken, may_change)
    refusal = onnxruntime.refusal(taken, sure)
    is_crop = isinstance(op.spec.coordinates, Crop)
    if op.shape is None or (crop_or_policy(op) and not is_crop):
        return unknown(crop_or_policy(op) or "a Resize of an unknown rank")
    if kernel.is_antialiased:
        return refused("antialias fails at run time")
    if isinstance(kernel, Cubic) and op.dtype == "float16":
        return refused("its cubic of float16 fails at run time")
    if not refusal and len(op.shape) not in _WEBGPU_RANKS:
        refusal = "it supports ranks 2 to 5 only"
    if refusal:
        return refused(refusal, onnxruntime.condition_of_refusal(taken, sure))
    single = _single_pixels(op)
    if _resizes_others(op, sure - single):
        if is_crop:  # of which all pixels may lie outside
            return unknown("a crop of channels-last images")
        return differs(_LAST_AXES, "" if static_shape(op.shape) else "their sizes change")
    if is_crop:  # by the formulas of the CPU provider, and with its faults
        return onnxruntime.RUNTIME.releases[_OF_NODE].outcome(op)
    outcome = _webgpu_pixels(op)
    if _resizes_others(op, may_change - single):
        return replace(outcome, provided=f"axes {sorted(may_change - SPATIAL_AXES.get(len(op.shape), set()))} stay")
    return outcome


def _webgpu_pixels(op: ResizeOp) -> Outcome:
    """Return the outcome of a node that the shader computes: whole divisions are exact there, others need not be."""
    exact, by_reciprocal = (read_outcome(op, (), partial(_in_shader, each), _rounded_in_shader) for each in _QUOTIENTS)
    if exact != by_reciprocal:
        return unknown(_TURNS)
    return replace(exact, provided=NO_TIE) if ties_are_open(op) and _turns_by_rounding(op) else exact


_Quotient = Callable[[Floats, np.float32], Floats]
_QUOTIENTS: tuple[_Quotient, _Quotient] = (np.divide, lambda dividend, divisor: dividend * (np.float32(1) / divisor))
"""Division as SwiftShader computes it, and as llvmpipe does. WGSL allows both."""


def _in_shader(
    quotient: _Quotient, output: Floats, axis: AxisPlan, before: np.float32, after: np.float32
) -> NDArray[np.float32]:
    """Return the source coordinates as the shader computes them."""
    scale, last = np.float32(float(axis.scale)), axis.out_size - 1
    match axis.coordinates:
        case Coordinates.ALIGN_CORNERS:
            return _divided_by_parts(quotient, output, axis.in_size - 1, last) if last else np.zeros_like(output)
        case Coordinates.ASYMMETRIC if scale >= 1 and float(scale).is_integer():
            return _divided_by_parts(quotient, output, axis.in_size, axis.out_size)
        case Coordinates.PYTORCH_HALF_PIXEL if not last:
            return np.zeros_like(output)
        case Coordinates.HALF_PIXEL_SYMMETRIC:
            half, size = np.float32(axis.in_size / 2), np.float32(axis.in_size)
            part = quotient(np.asarray([axis.out_size], dtype=np.float32), np.float32(scale * size))
            start = half * (np.float32(1) - part)
            return start + quotient(output + before, scale) - after
    return quotient(output + before, scale) - after


def _divided_by_parts(quotient: _Quotient, output: Floats, size: int, length: int) -> Floats:
    """Return output * size / length, its whole part by integers."""
    whole, rest = np.divmod(output.astype(np.int64) * size, length)
    return whole.astype(np.float32) + quotient(rest.astype(np.float32), np.float32(length))


def _rounded_in_shader(at: Array, rounding: Rounding) -> Array:
    """Return the pixels of a nearest resize: what lies within 1e-6 of a half is one."""
    is_tie = np.abs((at - np.floor(at)) - np.float32(0.5)) <= _TIE
    return np.where(is_tie, to_pixels(np.floor(at) + np.float32(0.5), rounding), to_pixels(at, rounding))


def _single_pixels(op: ResizeOp) -> frozenset[int]:
    """Return the axes of one pixel in input and output, whatever their scale."""
    at = geometry(op)
    if at is None:
        return frozenset()
    return frozenset(axis for axis, sizes in enumerate(zip(at.in_sizes, at.outputs, strict=True)) if sizes == (1, 1))


_OF_NODE = "1.30"  # the release of onnxruntime-node
_TIE = np.float32(1e-6)
_NO_FLOAT16 = "requires f16 but the device does not support it"


def _run_qnn(model: str, x: Array) -> Array:
    import onnxruntime
    import onnxruntime_qnn

    if not any(device.ep_name == "qnn" for device in onnxruntime.get_ep_devices()):
        onnxruntime.register_execution_provider_library("qnn", onnxruntime_qnn.get_library_path())
    devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == "qnn"]
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_provider_for_devices(devices[:1], {"backend_type": "htp"})
    session = onnxruntime.InferenceSession(model, options)
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


def _run_webgpu(model: str, x: Array) -> Array:
    import json
    import os
    import subprocess
    from shutil import which

    script = """
        const fs = require("fs"), ort = require("onnxruntime-node"), [model, dims, type, file] = process.argv.slice(1);
        const kinds = {float32: Float32Array, int32: Int32Array, uint8: Uint8Array, int8: Int8Array};
        const kind = kinds[type] || globalThis.Float16Array || Uint16Array;
        (async () => {
          const options = {executionProviders: ["webgpu"], logSeverityLevel: 4};
          const session = await ort.InferenceSession.create(model, options);
          const bytes = fs.readFileSync(file), start = bytes.byteOffset;
          const x = new ort.Tensor(type, new kind(bytes.buffer.slice(start, start + bytes.length)), JSON.parse(dims));
          const y = (await session.run({[session.inputNames[0]]: x}))[session.outputNames[0]];
          fs.writeFileSync(file, Buffer.from(y.data.buffer, y.data.byteOffset, y.data.byteLength));
          console.log(JSON.stringify([y.dims, y.type]));
        })().catch(error => { console.error(String(error)); process.exit(1); });
    """
    # Without a GPU, Chromium's packages of Debian hold a Vulkan driver for the CPU, and the loader.
    own = {
        "VK_ICD_FILENAMES": "/usr/lib/chromium/vk_swiftshader_icd.json",
        "LD_LIBRARY_PATH": "/usr/lib/chromium",
        "NODE_PATH": "/usr/lib/node_modules:/usr/local/lib/node_modules",
    }
    x.tofile(f"{model}.bin")
    arguments = [model, json.dumps([*x.shape]), x.dtype.name, f"{model}.bin"]
    done = subprocess.run(
        [str(which("node")), "-e", script, "--", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**own, **os.environ},
    )
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"status {done.returncode}")
    dims, kind = json.loads(done.stdout.strip().splitlines()[-1])
    return np.fromfile(f"{model}.bin", kind).reshape(dims)


_provider = partial(Runtime, takes_functions=True)
RUNTIMES = (
    _provider(
        name="onnxruntime-cuda",
        title="onnxruntime CUDA, by source",
        source="cuda/tensor/upsample.cc at 9fbec457, resize_impl.cu at 6f22a1b6, upsample_impl.cu at 0fd6ff6f, "
        "resize_antialias_impl.cu at 0f85b225, and issue 25264",
        alone=_cuda,
    ),
    _provider(
        name="onnxruntime-directml",
        title="onnxruntime DirectML, by source",
        source="dml/.../DmlOperatorResize.cpp at 59e75cf6, and pull request 19071",
        alone=_directml,
    ),
    _provider(
        name="onnxruntime-qnn",
        title="onnxruntime QNN",
        version="2.7.0",
        alone=_qnn,
        of_node=_qnn_of_node,
        accepts=Accepted(left=LEFT_TO_CPU, gathers=False),
        runner=Runner(package="onnxruntime_qnn", distribution="onnxruntime-qnn", run=_run_qnn),
    ),
    _provider(
        name="onnxruntime-webgpu",
        title="onnxruntime WebGPU",
        version="1.30",
        alone=_webgpu,
        of_node=_webgpu_of_node,
        runner=Runner(
            package="onnxruntime-node",
            distribution="onnxruntime-node",
            run=_run_webgpu,
            in_node=True,
            lacks=_NO_FLOAT16,
        ),
    ),
)
