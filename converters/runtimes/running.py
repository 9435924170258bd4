"""The runners of all runtimes that can be installed."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import litert
from .others import others
from .runner import Run, Runner

__all__ = ["ALL", "RUNNERS", "Run"]


def _in_onnxruntime(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4  # fatal errors only: scripts print results
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return np.asarray(session.run(None, {session.get_inputs()[0].name: x})[0])


def _in_openvino(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import openvino

    # By default, it computes in bfloat16 where the processor can.
    # One thread takes other paths than several, which are the default.
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 2, "NUM_STREAMS": 1}
    compiled = openvino.Core().compile_model(model, "CPU", settings)
    results = compiled([x])
    return np.array(results[compiled.output(0)])


def _in_reference(model: str, x: NDArray[Any]) -> NDArray[Any]:
    import onnx
    import onnx.reference

    loaded = onnx.load(model)
    results: Any = onnx.reference.ReferenceEvaluator(loaded).run(None, {loaded.graph.input[0].name: x})
    return np.asarray(results[0])


RUNNERS: Mapping[str, Runner] = MappingProxyType(
    {
        "onnxruntime": Runner(package="onnxruntime", distribution="onnxruntime", run=_in_onnxruntime),
        "openvino": Runner(package="openvino", distribution="openvino", run=_in_openvino),
        "reference": Runner(package="onnx", distribution="onnx", run=_in_reference),
        **others(),
    }
)
"""Runners of ONNX models, by the names that audits use; TensorRT is missing: not every machine can install it."""
ALL = MappingProxyType({**RUNNERS, "litert": litert.RUNNER})
"""The same with those of TFLite files."""
