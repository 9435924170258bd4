"""The engines that are timed, each as a function that is ready to run: models built, plans made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from cases import Case
from numpy.typing import NDArray

Array = NDArray[Any]
Run = Callable[[Array], Any]


class UnsupportedError(Exception):
    """The engine does not do this case."""


def ours(case: Case, threads: int) -> Run:
    """Return our executor, which fills the same output again, as onnxruntime's arena and OpenVINO's requests do."""
    import ir_interp
    from ir_interp.converters.dialects.onnx import DIALECT
    from ir_interp.translation.dialect import Context

    attributes = {
        "mode": case.mode,
        "coordinate_transformation_mode": case.coordinates,
        "nearest_mode": "floor",
        "antialias": int(case.antialias),
        "axes": case.axes,
        "sizes": case.sizes,
    }
    spec = DIALECT.parse(attributes, Context(version=19, shape=case.shape))
    y = np.empty(case.out_shape, case.dtype)
    return lambda x: ir_interp.resize(x, spec, out=y)


def onnxruntime(case: Case, threads: int) -> Run:
    """Return onnxruntime's Resize on CPU."""
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

    if case.coordinates == "asymmetric" and case.mode != "nearest":
        raise UnsupportedError
    pytorch.set_num_threads(threads)
    kind = {"linear": {2: "bilinear", 3: "trilinear"}[len(case.axes)], "cubic": "bicubic", "nearest": "nearest"}[
        case.mode
    ]
    more: dict[str, Any] = {} if kind == "nearest" else {"align_corners": case.coordinates == "align_corners"}
    if case.antialias:
        more["antialias"] = True
    last = case.axes == (1, 2)

    def run(x: Array) -> Any:
        tensor = pytorch.from_numpy(x)
        tensor = tensor.permute(0, 3, 1, 2) if last else tensor
        y = pytorch.nn.functional.interpolate(tensor, size=case.sizes, mode=kind, **more)
        return (y.permute(0, 2, 3, 1) if last else y).numpy()

    with pytorch.no_grad():
        try:
            run(np.zeros(case.shape, case.dtype))
        except RuntimeError as error:
            raise UnsupportedError from error
    return run


def opencv(case: Case, threads: int) -> Run:
    """Return OpenCV's resize of the planes one by one, or of an image with channels last."""
    import cv2

    if len(case.axes) != 2 or case.antialias or case.coordinates == "align_corners" or case.dtype == "float16":
        raise UnsupportedError
    cv2.setNumThreads(threads)
    flag = {"linear": cv2.INTER_LINEAR, "cubic": cv2.INTER_CUBIC, "nearest": cv2.INTER_NEAREST}[case.mode]
    size = case.sizes[::-1]
    if case.axes == (1, 2):
        return lambda x: np.stack([cv2.resize(image, size, interpolation=flag) for image in x])

    def run(x: Array) -> Array:
        y = np.empty(case.out_shape, x.dtype)
        for source, target in zip(x.reshape(-1, *x.shape[2:]), y.reshape(-1, *y.shape[2:]), strict=True):
            cv2.resize(source, size, dst=target, interpolation=flag)
        return y

    return run


def copy(case: Case, threads: int) -> Run:
    """Return the floor: writing the output once."""
    y, z = np.ones(case.out_shape, case.dtype), np.empty(case.out_shape, case.dtype)
    return lambda x: np.copyto(z, y)


ENGINES: dict[str, Callable[[Case, int], Run]] = {
    "ours": ours,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "torch": torch,
    "opencv": opencv,
    "copy": copy,
}
