"""Exporters of TensorFlow, TFLite and Paddle models, in a process of their own: each writes a model of one resize."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array

from ..openvino.ir_save import save as save_ir
from ..runtimes.messages import reason
from ..runtimes.outcome import Kind
from ..runtimes.telemetry import openvino_silent
from ..sources.model_description import Resize
from .verdicts import Verdict

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
_OPSET = 18
_CAUSE = re.compile(r"\berror: (?P<text>'tf\.\w+' op .+)")  # among the lines of Python of a message of MLIR
_INPUTS = ("size", "scale", "translation")
"""The inputs of operations behind the image."""


def expected(array: Array, operation: Resize) -> Array:
    """Return what TensorFlow computes."""
    return np.array(_function(operation, array)(array))


def write(array: Array, setting: tuple[str, Resize | Path, Path]) -> Verdict | None:
    """Write a model by an exporter; return a refusal, if it is one.

    ``setting`` has the name of the exporter, an operation or the file of one, and the path to write.
    """
    name, source, path = setting
    try:
        WRITERS[name](source, array, path)
    except Exception as error:  # whatever an exporter raises
        cause = _CAUSE.search(str(error))
        return Verdict(kind=Kind.REFUSED, reason=cause["text"] if cause else reason(error))
    return None


def _function(operation: Resize, array: Array) -> Any:
    """Return an operation as a function of TensorFlow."""
    import tensorflow as tf

    call = getattr(tf.raw_ops, operation.type)
    size, *others = (np.array(array) for array in operation.inputs)
    values = (size.astype(np.int32), *(array.astype(np.float32) for array in others))
    known = dict(zip(_INPUTS, values, strict=False)) | operation.attributes
    signature = [tf.TensorSpec(array.shape, array.dtype, name="x")]
    return tf.function(lambda x: call(images=x, **known), input_signature=signature, autograph=False)


def _by_tf2onnx(operation: Resize, array: Array, path: Path) -> None:
    import tf2onnx

    function = _function(operation, array)
    tf2onnx.convert.from_function(
        function, input_signature=function.input_signature, opset=_OPSET, output_path=str(path)
    )


def _by_openvino(operation: Resize, array: Array, path: Path) -> None:
    import openvino
    from tensorflow.python.framework import convert_to_constants

    function = _function(operation, array).get_concrete_function()
    graph = path.with_suffix(".pb")
    constant = convert_to_constants.convert_variables_to_constants_v2(function)
    graph.write_bytes(constant.graph.as_graph_def().SerializeToString())
    with openvino_silent():
        save_ir(openvino.convert_model(graph), path)


def _by_litert(operation: Resize, array: Array, path: Path) -> None:
    import tensorflow as tf

    function = _function(operation, array)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], function)
    path.write_bytes(converter.convert())


def _tflite_by_tf2onnx(source: Path, array: Array, path: Path) -> None:
    import tf2onnx

    tf2onnx.convert.from_tflite(str(source), opset=_OPSET, output_path=str(path))


def _file_by_openvino(source: Path, array: Array, path: Path) -> None:
    import openvino

    with openvino_silent():
        save_ir(openvino.convert_model(source), path)


WRITERS: Mapping[str, Callable[[Any, Array, Path], None]] = {
    "tf2onnx": _by_tf2onnx,
    "openvino-tensorflow": _by_openvino,
    "tflite-converter": _by_litert,
    "tf2onnx-tflite": _tflite_by_tf2onnx,
    "openvino-tflite": _file_by_openvino,
    "openvino-paddle": _file_by_openvino,
}
