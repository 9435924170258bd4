"""Write a TFLite file of a single resize."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import InexactError
from ir_interp.resize_op import ResizeOp
from ir_interp.spec import AtRunTime
from ir_interp.translation.grades import Translation
from ir_interp.translation.translate import write

from ...dialects.tflite import DIALECT
from ...reports.conversion_report import Row, expressed
from .packing import packed
from .schema import DTYPES, schema
from .tflite_files import KINDS

_VERSION = 3  # of the file format
OF_OPERATOR = 3  # the version that has both flags, and 8-bit types
_CHANNELS_LAST = "TFLite resizes axes 1 and 2 of rank 4 only; move the channels of the model to the last axis"
_QUANTUM = 1 / 128  # of integers: the same for input and output, so that it makes no difference which


def write_resize(op: ResizeOp, output: Path) -> Row:
    """Write a file of only ``op``, from x to y. Raises InexactError if TFLite has no such resize."""
    name = op.name or op.where
    translation = _translated(op, name)
    dtype = op.dtype or "float32"
    if dtype not in DTYPES:
        raise InexactError(name, DIALECT.name, reason=f"TFLite has no tensors of {dtype}")
    if op.shape is None or isinstance(translation.spec.target, AtRunTime):
        raise InexactError(name, DIALECT.name, reason="its shape or its size is known only at run time")
    output.write_bytes(_packed(translation.attributes, op.shape, dtype))
    return Row(name=name, source=op, form=expressed(translation), grade=translation.grade, within=translation.within)


def _translated(op: ResizeOp, name: str) -> Translation:
    """Return a resize as an operator. Raises InexactError if there is none, with the way on if its axes are others."""
    try:
        return write(op.spec, DIALECT, shape=op.shape, dtype=op.dtype, name=name)
    except InexactError as error:
        if not any(difference.part == "axes" for difference in error.differences):
            raise
        raise InexactError(name, DIALECT.name, error.differences, reason=_CHANNELS_LAST, cause=error.cause) from None


def _packed(attributes: Any, shape: tuple[int | None, ...], dtype: str) -> bytes:
    of = schema()
    height, width = attributes["size"]
    out_shape = (shape[0], height, width, shape[3])
    size = np.array([height, width], "<i4")
    graph = of.SubGraphT()
    graph.tensors = [
        _tensor("x", shape, dtype, 0),
        _tensor("size", (2,), "int32", 1),
        _tensor("y", out_shape, dtype, 0),
    ]
    graph.inputs, graph.outputs, graph.name = [0], [2], "resize"
    operator = of.OperatorT()
    operator.opcodeIndex, operator.inputs, operator.outputs = 0, [0, 1], [2]
    set_options(operator, attributes)
    graph.operators = [operator]
    empty, sizes_buffer = of.BufferT(), of.BufferT()
    sizes_buffer.data = list(size.tobytes())
    model = of.ModelT()
    model.version, model.description = _VERSION, "ir_interp"
    code = operator_code(getattr(of.BuiltinOperator, attributes["op"]))
    model.operatorCodes, model.subgraphs, model.buffers = [code], [graph], [empty, sizes_buffer]
    return packed(model)


def operator_code(number: int) -> Any:
    """Return the code of an operator, of the version that has both flags."""
    code = schema().OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = number
    code.version = OF_OPERATOR
    return code


def set_options(operator: Any, attributes: Mapping[str, Any]) -> None:
    """Give an operator the options of a resize."""
    table = KINDS[attributes["op"]]
    options = getattr(schema(), f"{table}T")()
    options.alignCorners = bool(attributes["align_corners"])
    options.halfPixelCenters = bool(attributes["half_pixel_centers"])
    operator.builtinOptionsType, operator.builtinOptions = getattr(schema().BuiltinOptions, table), options


def _tensor(name: str, shape: tuple[int | None, ...], dtype: str, buffer: int) -> Any:
    of = schema()
    tensor = of.TensorT()
    tensor.name, tensor.buffer, tensor.type = name, buffer, getattr(of.TensorType, DTYPES[dtype])
    tensor.shape = [1 if length is None else length for length in shape]
    if None in shape:
        tensor.shapeSignature = [-1 if length is None else length for length in shape]
    if dtype in ("int8", "uint8", "int16"):
        tensor.quantization = of.QuantizationParametersT()
        tensor.quantization.scale, tensor.quantization.zeroPoint = [_QUANTUM], [0]
    return tensor
