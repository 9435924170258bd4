"""Exporters of TensorFlow models: each resize is exported alone, and runs beside TensorFlow.

A process that has TensorFlow answers: it computes an operation, and each exporter writes a model of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ir_interp.files.kinds import FileKind
from ir_interp.shapes import Array

from ...audit.framework_exporters import NOT_TRIED, OPSET, Writer, all_are, ask, asked, random_image
from ...audit.verdicts import Verdict
from ...openvino.ir_save import save as save_ir
from ...runtimes.outcome import Kind
from ...sources.model_description import Resize
from ...workers import Died, Late
from .reading import described

if TYPE_CHECKING:
    from tensorflow.types.experimental import PolymorphicFunction

_CHILD = __name__
EXPORTERS: Mapping[str, Writer] = {
    "tf2onnx": Writer(title="tf2onnx", package="tf2onnx", kind=FileKind.ONNX, writer=f"{_CHILD}:by_tf2onnx"),
    "openvino-tensorflow": Writer(
        title="OpenVINO's TensorFlow frontend", package="openvino", kind=FileKind.IR, writer=f"{_CHILD}:by_openvino"
    ),
    "tflite-converter": Writer(
        title="LiteRT's converter", package="ai_edge_litert", kind=FileKind.TFLITE, writer=f"{_CHILD}:by_litert"
    ),
}


def verdicts(path: Path) -> Iterator[dict[str, Verdict]]:
    """Yield the verdicts of all exporters on each resize of a model."""
    yield from map(of_operation, described(path).resizes)


def of_operation(operation: Resize) -> dict[str, Verdict]:
    """Return the verdict of each installed exporter on an operation of TensorFlow, by running it on random values."""
    if operation.shape is None or None in operation.inputs:
        return all_are(NOT_TRIED, EXPORTERS)
    array = random_image(operation.shape, operation.dtype)
    expected = ask(f"{_CHILD}:expected", array, operation)
    if isinstance(expected, Died | Late):
        return all_are(Verdict(kind=Kind.CRASHES, reason=f"TensorFlow: {expected}"), EXPORTERS)
    return asked(EXPORTERS, operation, array, expected)


_INPUTS = ("size", "scale", "translation")
"""The inputs of operations behind the image."""


def expected(array: Array, operation: Resize) -> Array:
    """Return what TensorFlow computes."""
    return np.array(_function(operation, array)(array))


def _function(operation: Resize, array: Array) -> PolymorphicFunction:
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
    save_ir(openvino.convert_model(graph), path)


def by_litert(operation: Resize, array: Array, path: Path) -> None:
    """Write the TFLite file that LiteRT's converter makes of an operation."""
    import tensorflow as tf

    function = _function(operation, array)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([function.get_concrete_function()], function)
    path.write_bytes(converter.convert())
