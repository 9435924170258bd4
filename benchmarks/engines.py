"""The engines that are timed, each as a function that is ready to run: models built, plans made."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from cases import Case
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[Array], Any]


class UnsupportedError(Exception):
    """The engine does not do this case."""


def ours(case: Case, threads: int) -> Run:
    """Return our executor in NumPy alone.

    It fills the same output again, as onnxruntime's arena and OpenVINO's requests do.
    """
    return _executor(case, threads, "0")


def fast(case: Case, threads: int) -> Run:
    """Return our executor with the loops of the extra ``fast``."""
    import numba

    assert numba is not None
    return _executor(case, threads, "1")


def _executor(case: Case, threads: int, compiled: str) -> Run:
    import ir_interp

    os.environ.update(IR_INTERP_THREADS=str(threads), IR_INTERP_COMPILED=compiled)
    spec = spec_of(case)
    y = np.empty(case.out_shape, case.dtype)
    return lambda x: ir_interp.resize(x, spec, out=y)


def spec_of(case: Case) -> Any:
    """Return the spec of a case: as ONNX has it, of a library's call, or of an image in exact arithmetic."""
    import ir_interp
    from ir_interp import Antialias, Area, Coordinates, Cubic, Linear, Nearest, ResizeSpec, Rounding, Sizes
    from ir_interp.converters.dialects.onnx import DIALECT
    from ir_interp.libraries import parse
    from ir_interp.translation.dialect import Context

    if case.like:
        return replace(parse(case.like), target=Sizes(case.sizes))
    if case.axes == (0, 1):
        antialias = Antialias.SHRINKING if case.antialias else Antialias.OFF
        kernels: dict[str, Any] = {
            "nearest": Nearest(rounding=Rounding.FLOOR),
            "area": Area(),
            "linear": Linear(antialias=antialias, exclude_outside=case.antialias),
            "cubic": Cubic(a=-0.5 if case.antialias else -0.75, antialias=antialias, exclude_outside=case.antialias),
        }
        return ResizeSpec(
            kernel=kernels[case.mode],
            coordinates=Coordinates(case.coordinates),
            axes=case.axes,
            target=ir_interp.Sizes(case.sizes),
        )
    attributes = {
        "mode": case.mode,
        "coordinate_transformation_mode": case.coordinates,
        "nearest_mode": "floor",
        "antialias": int(case.antialias),
        "axes": case.axes,
        "sizes": case.sizes,
    }
    return DIALECT.parse(attributes, Context(version=19, shape=case.shape))


def onnxruntime(case: Case, threads: int) -> Run:
    """Return onnxruntime's Resize on CPU."""
    if case.axes == (0, 1):
        raise UnsupportedError
    import onnxruntime as ort
    from onnx import TensorProto, helper, numpy_helper

    node = helper.make_node(
        "Resize",
        ["x", "", "", "sizes"],
        ["y"],
        mode=case.mode,
        coordinate_transformation_mode=case.coordinates,
        nearest_mode="floor",
        antialias=int(case.antialias),
        axes=list(case.axes),
    )
    element = helper.np_dtype_to_tensor_dtype(np.dtype(case.dtype))
    graph = helper.make_graph(
        [node],
        "resize",
        [helper.make_tensor_value_info("x", element, case.shape)],
        [helper.make_tensor_value_info("y", element, case.out_shape)],
        [numpy_helper.from_array(np.array(case.sizes, np.int64), "sizes")],
    )
    assert TensorProto is not None
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)])
    model.ir_version = 9
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise UnsupportedError from error
    return lambda x: session.run(None, {"x": x})[0]


def openvino(case: Case, threads: int) -> Run:
    """Return OpenVINO's Interpolate on CPU in float32; it ignores antialias but in the Pillow modes."""
    if case.axes == (0, 1):
        raise UnsupportedError
    import openvino as ov
    import openvino.opset13 as ops

    modes = {("linear", True): "bilinear_pillow", ("linear", False): "linear_onnx", ("nearest", False): "nearest"}
    mode = modes.get((case.mode, case.antialias), "bicubic_pillow" if case.antialias else "cubic")
    x = ops.parameter(case.shape, np.dtype(case.dtype))
    y = ops.interpolate(
        x,
        np.array(case.sizes),
        mode,
        "sizes",
        [0],
        [0],
        coordinate_transformation_mode=case.coordinates,
        nearest_mode="floor",
        axes=np.array(case.axes),
    )
    hints = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    request = ov.Core().compile_model(ov.Model([y], [x], "resize"), "CPU", hints).create_infer_request()
    return lambda x: request.infer([x], share_inputs=True, share_outputs=True)[0]


def torch(case: Case, threads: int) -> Run:
    """Return PyTorch's interpolate on CPU; channels-last images as a view of their own memory format."""
    import torch as pytorch

    if case.like:
        raise UnsupportedError
    if case.coordinates == "asymmetric" and case.mode not in ("nearest", "area"):
        raise UnsupportedError
    pytorch.set_num_threads(threads)
    linear = {2: "bilinear", 3: "trilinear"}[len(case.axes)]
    kind = {"linear": linear, "cubic": "bicubic"}.get(case.mode, case.mode)
    more: dict[str, Any] = {} if kind in ("nearest", "area") else {"align_corners": case.coordinates == "align_corners"}
    if case.antialias:
        more["antialias"] = True
    image = case.axes == (0, 1)
    last = case.axes == (1, 2) or image

    def run(x: Array) -> Any:
        tensor = pytorch.from_numpy(x[None] if image else x)
        tensor = tensor.permute(0, 3, 1, 2) if last else tensor
        y = pytorch.nn.functional.interpolate(tensor, size=case.sizes, mode=kind, **more)
        y = (y.permute(0, 2, 3, 1) if last else y).numpy()
        return y[0] if image else y

    with pytorch.no_grad():
        try:
            run(np.zeros(case.shape, case.dtype))
        except RuntimeError as error:
            raise UnsupportedError from error
    return run


_OPENCV = {"linear": "INTER_LINEAR", "cubic": "INTER_CUBIC", "nearest": "INTER_NEAREST", "area": "INTER_AREA"}


def opencv(case: Case, threads: int) -> Run:
    """Return OpenCV's resize of the planes one by one, or of images with channels last."""
    import cv2

    library, _, mode = case.like.partition(":")
    unlike = library not in ("", "opencv")
    if unlike or len(case.axes) != 2 or case.antialias or case.coordinates == "align_corners":
        raise UnsupportedError
    if case.dtype == "float16":
        raise UnsupportedError
    cv2.setNumThreads(threads)
    flag = getattr(cv2, _OPENCV[mode or case.mode])
    size = case.sizes[::-1]
    if case.axes == (0, 1):
        image = np.empty(case.out_shape, case.dtype)
        return lambda x: cv2.resize(x, size, dst=image, interpolation=flag)
    if case.axes == (1, 2):
        return lambda x: np.stack([cv2.resize(image, size, interpolation=flag) for image in x])

    def run(x: Array) -> Array:
        y = np.empty(case.out_shape, x.dtype)
        for source, target in zip(x.reshape(-1, *x.shape[2:]), y.reshape(-1, *y.shape[2:]), strict=True):
            cv2.resize(source, size, dst=target, interpolation=flag)
        return y

    return run


_PILLOW = {"linear": "BILINEAR", "cubic": "BICUBIC"}


def pillow(case: Case, threads: int) -> Run:
    """Return Pillow's resize of an image of bytes, which it takes and gives without a copy; on one thread, always."""
    from PIL import Image

    library, _, mode = case.like.partition(":")
    if case.axes != (0, 1) or case.dtype != "uint8" or library not in ("", "pillow"):
        raise UnsupportedError
    if not case.like and not case.antialias:
        raise UnsupportedError
    filtered = Image.Resampling[mode.upper() or _PILLOW[case.mode]]
    image = Image.new("RGB", case.shape[1::-1])
    seen: list[Array] = []

    def run(x: Array) -> Image.Image:
        nonlocal image
        if not seen or seen[0] is not x:  # only the resize itself is timed
            image, seen[:] = Image.fromarray(x), [x]
        return image.resize(case.sizes[::-1], filtered)

    return run


def agrees(case: Case, x: Array, theirs: Any) -> bool:
    """Say whether an engine computes what ours does: of integers within 1, of floats within a hundredth of the range.

    OpenCV weighs in 11 bits, and places of float32 are a few hundredths of a pixel off at the end of a long axis; one
    pixel in a thousand may be another where such a place decides between two.
    """
    import ir_interp

    ours = ir_interp.resize(x, spec_of(case)).astype(np.float64)
    apart = np.abs(np.asarray(theirs).astype(np.float64) - ours)
    allowed = 0 if case.like else 1 if x.dtype.kind in "iu" else 0.01
    return bool((apart > allowed).mean() <= (0 if case.like else 1e-3))


def copy(case: Case, threads: int) -> Run:
    """Return the floor: writing the output once."""
    y, z = np.ones(case.out_shape, case.dtype), np.empty(case.out_shape, case.dtype)
    return lambda x: np.copyto(z, y)


ENGINES: dict[str, Callable[[Case, int], Run]] = {
    "ours": ours,
    "fast": fast,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "torch": torch,
    "opencv": opencv,
    "pillow": pillow,
    "copy": copy,
}
