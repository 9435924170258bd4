"""Exporters of TensorFlow, in a process that has it: each writes a model of one operation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.array_types import Array

from ...audit.framework_exporters import OPSET
from ...openvino.ir_save import save as save_ir
from ...runtimes.telemetry import openvino_silent
from ...sources.model_description import Resize

_INPUTS = ("size", "scale", "translation")
"""The inputs of operations behind the image."""


def expected(array: Array, operation: Resize) -> Array:
    """Return what TensorFlow computes."""
    return np.array(_function(operation, array)(array))


def _function(operation: Resize, array: Array) -> Any:
    """Return an operation as a function of TensorFlow."""
    import tensorflow as tf

    call = getattr(tf.raw_ops, operation.type)
    size, *others = (np.array(value) for value in operation.inputs)
    values = (size.astype(np.int32), *(value.astype(np.float32) for value in others))
    known = dict(zip(_INPUTS, values, strict=False)) | operation.attributes
    signature = [tf.TensorSpec(array.shape, array.dtype, name="x")]
    return tf.function(lambda x: call(images=x, **known), input_signature=signature, autograph=False)


def by_tf2onnx(operation: Resize, array: Array, path: Path) -> None:
    """Write the ONNX model that tf2onnx makes of an operation."""
    import tf2onnx

    function = _function(operation, array)
    tf2onnx.convert.from_function(
        function, input_signature=function.input_signature, opset=OPSET, output_path=str(path)
    )


def by_openvino(operation: Resize, array: Array, path: Path) -> None:
    """Write the IR that OpenVINO's frontend makes of an operation."""
    import openvino
    from tensorflow.python.framework import convert_to_constants

    function = _function(operation, array).get_concrete_function()
    graph = path.with_suffix(".pb")
    constant = convert_to_constants.convert_variables_to_constants_v2(function)
    graph.write_bytes(constant.graph.as_graph_def().SerializeToString())
    with openvino_silent():
        save_ir(openvino.convert_model(graph), path)


def by_litert(operation: Resize, array: Array, path: Path) -> None:
    """Write the TFLite file that LiteRT's converter makes of an operation."""
    import tensorflow as tf

    function = _function(operation, array)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], function)
    path.write_bytes(converter.convert())
