"""The IR that stands for a TFLite file; a single resize is read as a layer, which needs no frontend.

First, files that are written: a single resize, and a whole file whose resizes get other settings; everything else
stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import InexactError, ReadError, closest
from ir_interp.files.kinds import MODELS, FileKind
from ir_interp.options.model_options import ConvertOptions
from ir_interp.options.shared_options import NCHW
from ir_interp.resize_op import ResizeOp
from ir_interp.specs import AtRunTime
from ir_interp.translation.dialect import Semantics
from ir_interp.translation.translate import Translation, write

from ...dialects.tflite import DIALECT
from ...intermediate import Intermediate, as_ir
from ...reports import FormPolicy, Row, expressed
from . import tflite_files
from .tflite_files import DTYPES, KINDS, load, packed, read_file, schema, unpacked, write as write_model

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


def operator_code(number: int) -> tflite_files.OperatorCode:
    """Return the code of an operator, of the version that has both flags."""
    code: tflite_files.OperatorCode = schema().OperatorCodeT()
    code.builtinCode = code.deprecatedBuiltinCode = number
    code.version = OF_OPERATOR
    return code


def set_options(operator: tflite_files.OperatorTable, attributes: Mapping[str, Any]) -> None:
    """Give an operator the options of a resize."""
    table = KINDS[attributes["op"]]
    options = getattr(schema(), f"{table}T")()
    options.alignCorners = bool(attributes["align_corners"])
    options.halfPixelCenters = bool(attributes["half_pixel_centers"])
    operator.builtinOptionsType, operator.builtinOptions = getattr(schema().BuiltinOptions, table), options


def _tensor(name: str, shape: tuple[int | None, ...], dtype: str, buffer: int) -> object:
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


def rewrite(layers: Sequence[ResizeOp], model: Path, output: Path) -> tuple[Row, ...]:
    """Write ``model`` with the settings of ``layers``, which name resizes by their outputs.

    Raises ReadError for a name that no resize has, an ExceptionGroup of InexactError if TFLite cannot express one, or
    if its output size would change, on which the operators behind it depend.
    """
    there = {op.name: op for op in load(model, Semantics.RUNTIME)}
    for layer in layers:
        if layer.name not in there:
            raise ReadError(f"no resize named {layer.name!r}; {closest(layer.name, there)}", model.name)
    settings, rows, refusals = {}, [], []
    for layer in layers:
        try:
            settings[layer.name], row = _settings(layer, there[layer.name])
            rows.append(row)
        except InexactError as error:
            refusals.append(error)
    if refusals:
        raise ExceptionGroup(f"{len(refusals)} of {len(layers)} resizes have no exact form in tflite", refusals)
    write_model(_changed(model, settings), output)
    return tuple(rows)


def _settings(layer: ResizeOp, there: ResizeOp) -> tuple[dict[str, object], Row]:
    layer_form = write(layer.spec, DIALECT, shape=there.shape, dtype=there.dtype, name=layer.name)
    if layer_form.spec.target != there.spec.target:
        raise InexactError(layer.name, DIALECT.name, reason="it gives another size, on which other operators depend")
    return dict(layer_form.attributes), Row(
        name=layer.name, source=there, form=expressed(layer_form), grade=layer_form.grade
    )


def _changed(path: Path, settings: dict[str, dict[str, object]]) -> tflite_files.Model:
    model = unpacked(path)
    for operator, name in _operators(model):
        if name in settings:
            _set(model, operator, settings[name])
    return model


def _operators(model: tflite_files.Model) -> Iterator[tuple[tflite_files.OperatorTable, str]]:
    """Yield every resize and the name of its output."""
    of = schema()
    kinds = {getattr(of.BuiltinOperator, kind) for kind in KINDS}
    for graph in model.subgraphs:
        for operator in graph.operators if graph.operators is not None else ():
            code = model.operatorCodes[operator.opcodeIndex]
            if max(code.builtinCode, code.deprecatedBuiltinCode) in kinds:
                yield operator, tflite_files.name_of(graph.tensors[operator.outputs[0]])


def _set(model: tflite_files.Model, operator: tflite_files.OperatorTable, attributes: dict[str, Any]) -> None:
    operator.opcodeIndex = _code(model, getattr(schema().BuiltinOperator, attributes["op"]))
    set_options(operator, attributes)


def _code(model: tflite_files.Model, number: int) -> int:
    """Return the index of an operator's code, added if the model has none of the version that has both flags."""
    for place, code in enumerate(model.operatorCodes):
        if max(code.builtinCode, code.deprecatedBuiltinCode) == number and code.version >= OF_OPERATOR:
            return place
    model.operatorCodes.append(operator_code(number))
    return len(model.operatorCodes) - 1


def intermediate(
    source: Path, destination: Path, policy: FormPolicy, options: ConvertOptions
) -> AbstractContextManager[Intermediate | None]:
    """Yield the IR of a file that becomes a model; None for a single resize whose channels stay."""
    from .frontend import build
    from .litert_proof import proof_of

    moves_channels = options.layout == NCHW
    if not _is_whole(source, destination, moves_channels=moves_channels):
        return nullcontext()
    proof = proof_of(source, moves_channels)
    return as_ir(
        lambda folder: build(source, folder, policy),
        destination,
        source.name,
        moves_channels=moves_channels,
        proof=proof,
    )


def _is_whole(source: Path, destination: Path, *, moves_channels: bool) -> bool:
    """Return whether a file becomes a model: it is more than a single resize, or its channels move."""
    if FileKind.of(destination) not in MODELS:
        return False
    file = read_file(source)
    is_single = [operator.outputs for operator in file.operators] == [file.outputs]
    return moves_channels or not (is_single and file.operators[0].type in KINDS)
