"""The reading of TFLite files: they run in LiteRT, in a process of its own, as a file may crash it.

Twins are models that compute what a file does, but show more of it: for proofs of its conversion, and for how far
LiteRT's own kernels differ.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.memory import allow_files, append
from ir_interp.files.writing import scratch
from ir_interp.shapes import Array

from ...sources.model_description import Description, End, Process
from ...sources.readers import Reading
from . import FRAMEWORK, tflite_files
from .tflite_files import File, Tensor, is_quantised, known, load, read_file, schema, unpacked, write_apart

_PROCESS = Process(framework=FRAMEWORK, child="reading")


def outputs(path: Path, arrays: Sequence[Array], *, by_reference: bool = False) -> list[Array]:
    """Return the outputs of a file on ``arrays``, in the order of its inputs.

    ``by_reference`` selects LiteRT's reference kernels in place of those for this processor. Raises IrInterpError if
    LiteRT is missing, refuses the file or the inputs, dies or hangs.
    """
    FRAMEWORK.check_installed(path.name)
    setting = (str(path.absolute()), by_reference)
    return list(_PROCESS.answer("run", [np.asarray(array) for array in arrays], setting, path.name))


def run(arrays: Sequence[Array], setting: tuple[str, bool]) -> list[Array]:
    """Return the outputs of a file in this process."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    path, by_reference = setting
    allow_files(Path(path))
    kernels = OpResolverType.BUILTIN_REF if by_reference else OpResolverType.AUTO
    net = Interpreter(model_path=path, num_threads=1, experimental_op_resolver_type=kernels)
    places = [detail["index"] for detail in net.get_input_details()]
    if len(places) != len(arrays):
        raise ValueError(f"{len(arrays)} inputs are given; it has {len(places)}")
    for detail, array in zip(net.get_input_details(), arrays, strict=True):
        if tuple(detail["shape"]) != array.shape:
            net.resize_tensor_input(detail["index"], array.shape, strict=True)
    net.allocate_tensors()
    for place, array in zip(places, arrays, strict=True):
        net.set_tensor(place, array)
    net.invoke()
    return [np.array(net.get_tensor(detail["index"])) for detail in net.get_output_details()]


def reason(error: Exception) -> str:
    """Return LiteRT's message, whose lines belong together."""
    return " ".join(str(error).split()) or type(error).__name__


# Types of tensors whose values LiteRT rounds to levels.
_ROUNDED = ("INT8", "UINT8", "INT16")
_IN_LEVELS: dict[str, type[np.integer[Any]]] = {
    "INT4": np.int8,  # two to a byte
    "INT8": np.int8,
    "UINT8": np.uint8,
    "INT16": np.int16,
    "INT32": np.int32,  # of biases
    "INT64": np.int64,  # of biases beside levels of 16 bits
}
_MAIN = 0  # the graph that is no branch and no body of a loop


def in_float32(path: Path, folder: Path) -> Path:
    """Return a file with float32 weights where LiteRT multiplies floats by levels; ``path`` if it does not.

    It rounds these floats to 8 bits as well, by the range that they have in each run.
    """
    model = unpacked(path)
    weights = {id(tensor): tensor for graph in model.subgraphs for tensor in _hybrid_weights(model, graph)}
    for tensor in weights.values():
        _make_real(model, tensor, folder)
    return _written(model, folder / path.name) if weights else path


def _hybrid_weights(model: tflite_files.Model, graph: tflite_files.Graph) -> Iterator[tflite_files.TensorTable]:
    of = schema()
    for operator in _operators(graph):
        data = [graph.tensors[place] for place in operator.inputs if place >= 0]
        if any(tensor.type == of.TensorType.FLOAT32 and not _is_constant(model, tensor) for tensor in data):
            kinds = (of.TensorType.INT4, of.TensorType.INT8)
            yield from (tensor for tensor in data if tensor.type in kinds and _is_constant(model, tensor))


def _make_real(model: tflite_files.Model, tensor: tflite_files.TensorTable, folder: Path) -> None:
    """Give a constant in levels a buffer of its real values, which is in a file."""
    real = append(_real(tensor, np.asarray(model.buffers[tensor.buffer].data)), folder / "reals")
    tensor.type, tensor.quantization, tensor.buffer = schema().TensorType.FLOAT32, None, len(model.buffers)
    model.buffers.append(schema().BufferT())
    model.buffers[-1].data = real.mapped().view(np.uint8)


def _real(tensor: tflite_files.TensorTable, content: Array) -> NDArray[np.float32]:
    """Return the real values of a constant in levels, flat."""
    dtype, table = _levels_of(tensor), tensor.quantization
    assert dtype is not None
    assert table is not None
    assert table.scale is not None
    assert table.zeroPoint is not None
    scales, zeros = np.atleast_1d(table.scale), np.atleast_1d(table.zeroPoint)
    levels = _unpacked(content, tensor.shape) if tensor.type == schema().TensorType.INT4 else content.view(dtype)
    levels = np.atleast_1d(levels.reshape(tensor.shape))
    along = [1] * levels.ndim
    if len(scales) > 1:
        along[table.quantizedDimension] = len(scales)
    # The difference is exact, so that the product with the scale is the only rounding, as in LiteRT.
    real = levels.astype(np.float32)
    real -= zeros.astype(np.float32).reshape(along if len(zeros) > 1 else [1])
    real *= scales.astype(np.float32).reshape(along)
    return real.ravel()


def _unpacked(content: Array, shape: Sequence[int]) -> NDArray[np.int8]:
    """Return signed numbers of 4 bits, of which the first of a byte is in its lower half."""
    halves = np.stack([content << 4, content & 0xF0], axis=-1).ravel()[: np.prod(shape)]
    return halves.view(np.int8) >> 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A tensor that an operator computes, and its quantisation, if it is rounded.

    ``label`` is its name in the file, ``name`` that in a twin, which is unique.
    """

    place: int
    name: str
    label: str
    operator: str
    scale: float | None
    zero: int


def values(path: Path) -> list[Value]:
    """Return what the operators of a file compute from its inputs, as floats or rounded to levels.

    Raises ReadError for a file with branches or loops, which twins do not show.
    """
    model = unpacked(path)
    if len(model.subgraphs) > 1:
        raise ReadError("it quantises, and has branches or loops; its operators cannot be proven one by one", path.name)
    names = {number: name for name, number in vars(schema().BuiltinOperator).items() if name.isupper()}
    graph = model.subgraphs[_MAIN]
    return [
        _value(graph, place, names.get(_number(model, operator), "custom operator"))
        for operator in _computing(model, graph)
        for place in operator.outputs
        if _is_shown(graph.tensors[place])
    ]


def _value(graph: tflite_files.Graph, place: int, operator: str) -> Value:
    tensor = graph.tensors[place]
    levels = tensor.quantization if tensor.type != schema().TensorType.FLOAT32 else None
    return Value(
        place=place,
        name=f"t{place}",
        label=tflite_files.name_of(tensor),
        operator=operator,
        scale=None if levels is None or levels.scale is None else float(np.float32(levels.scale[0])),
        zero=0 if levels is None or levels.zeroPoint is None else int(levels.zeroPoint[0]),
    )


def showing(path: Path, shown: Sequence[Value], folder: Path) -> Path:
    """Return a file whose outputs are these values, in order."""
    model = unpacked(path)
    model.subgraphs[_MAIN].outputs = [end.place for end in shown]
    model.signatureDefs = None
    return _written(model, folder / path.name)


def apart(path: Path, shown: Sequence[Value], shapes: Mapping[str, tuple[int, ...]], folder: Path) -> Path:
    """Return a file in which each operator reads inputs of the model, in place of what others compute.

    Its outputs are ``shown``; its inputs are those of the file, which have ``shapes`` by name, then ``shown``.
    """
    return _written(_apart(path, shown, shapes), folder / "operators.tflite")


def apart_in_float32(path: Path, shown: Sequence[Value], shapes: Mapping[str, tuple[int, ...]], folder: Path) -> Path:
    """Return the same file with real values in float32 in place of all levels, which no operator rounds then.

    Raises ReadError for constants of other levels than 4, 8, 16, 32 or 64 bits.
    """
    model, of = _apart(path, shown, shapes), schema()
    graph = model.subgraphs[_MAIN]
    for tensor in graph.tensors:
        if tensor.quantization is not None and tensor.quantization.scale is not None:
            if _is_constant(model, tensor):
                if _levels_of(tensor) is None:
                    raise ReadError(
                        f"constant {tflite_files.name_of(tensor)!r} has levels of a type that is not read", path.name
                    )
                _make_real(model, tensor, folder)
            tensor.type, tensor.quantization = of.TensorType.FLOAT32, None
    copies = of.OperatorCodeT()
    copies.builtinCode = copies.deprecatedBuiltinCode = of.BuiltinOperator.CAST
    copies.version = 1
    model.operatorCodes.append(copies)
    for operator in _operators(graph):
        if _number(model, operator) in (of.BuiltinOperator.QUANTIZE, of.BuiltinOperator.DEQUANTIZE):
            operator.opcodeIndex = len(model.operatorCodes) - 1
            operator.builtinOptionsType, operator.builtinOptions = of.BuiltinOptions.NONE, None
    return _written(model, folder / "floats.tflite")


def _levels_of(tensor: tflite_files.TensorTable) -> type[np.integer[Any]] | None:
    """Return the NumPy type of a tensor of levels; None if it is none of those that are read."""
    numbers: dict[object, type[np.integer[Any]]] = {
        getattr(schema().TensorType, name): dtype for name, dtype in _IN_LEVELS.items()
    }
    return numbers.get(tensor.type)


def _apart(path: Path, shown: Sequence[Value], shapes: Mapping[str, tuple[int, ...]]) -> tflite_files.Model:
    model = unpacked(path)
    graph, places = model.subgraphs[_MAIN], {}
    for tensor in graph.tensors:
        if tflite_files.name_of(tensor) in shapes:
            tensor.shape, tensor.shapeSignature = list(shapes[tflite_files.name_of(tensor)]), None
    for end in shown:
        tensor = copy.copy(graph.tensors[end.place])
        tensor.shape, tensor.shapeSignature = list(shapes[end.name]), None
        tensor.name, graph.tensors[end.place].name = f"{end.name} given", end.name
        places[end.place] = len(graph.tensors)
        graph.tensors.append(tensor)
    for operator in _operators(graph):
        operator.inputs = [places.get(place, place) for place in operator.inputs]
    graph.inputs = [*graph.inputs, *places.values()]
    graph.outputs = [end.place for end in shown]
    model.signatureDefs = None
    return model


def _written(model: tflite_files.Model, path: Path) -> Path:
    write_apart(model, path)
    return path


def _computing(model: tflite_files.Model, graph: tflite_files.Graph) -> Iterator[tflite_files.OperatorTable]:
    """Yield the operators that do not only unpack constants, such as weights in half precision."""
    for operator in _operators(graph):
        tensors = [graph.tensors[place] for place in operator.inputs if place >= 0]
        if not all(_is_constant(model, tensor) for tensor in tensors):
            yield operator


def _operators(graph: tflite_files.Graph) -> Sequence[tflite_files.OperatorTable]:
    return graph.operators if graph.operators is not None else ()


def _number(model: tflite_files.Model, operator: tflite_files.OperatorTable) -> int:
    code = model.operatorCodes[operator.opcodeIndex]
    return int(max(code.builtinCode, code.deprecatedBuiltinCode))


def _is_constant(model: tflite_files.Model, tensor: tflite_files.TensorTable) -> bool:
    data = model.buffers[tensor.buffer].data
    return data is not None and len(data) > 0


def _is_shown(tensor: tflite_files.TensorTable) -> bool:
    of = schema().TensorType
    is_rounded = tensor.type in [getattr(of, name) for name in _ROUNDED]
    return tensor.type == of.FLOAT32 or (is_rounded and _has_one_scale(tensor))


def _has_one_scale(tensor: tflite_files.TensorTable) -> bool:
    scales = tensor.quantization.scale if tensor.quantization is not None else None
    return scales is not None and len(scales) == 1


def function(path: Path) -> Callable[..., list[Array]]:
    """Return a file as a function of arrays. Raises ReadError for one that cannot be read.

    Weights of 8 bits between floats are taken in float32: LiteRT rounds these floats to 8 bits, too, by a range that
    depends on the processor's kernels.
    """
    read_file(path)
    return lambda *arrays: _outputs(path, arrays)


def _outputs(path: Path, arrays: tuple[Array, ...]) -> list[Array]:
    with scratch() as folder:
        return outputs(in_float32(path, folder), arrays)


def slack(path: Path) -> Callable[..., list[float]] | None:
    """Return how far each output may differ on inputs; None for a model that is not rounded to levels.

    A level of the output, and as much as LiteRT's own kernels differ.
    """
    file = read_file(path)
    if not is_quantised(file):
        return None

    def on(*arrays: Array) -> list[float]:
        usual = outputs(path, arrays)
        try:
            both = usual, outputs(path, arrays, by_reference=True)
        except IrInterpError:  # for operators without a reference kernel
            both = usual, usual
        return [
            level + float(np.abs(mine.astype(np.float64) - theirs).max(initial=0))
            for level, mine, theirs in zip(_levels(file), *both, strict=True)
        ]

    return on


def _levels(file: File) -> list[float]:
    """Return the distance of two levels of each output."""
    sources = {
        id(end): operator.inputs[0]
        for operator in file.operators
        if operator.type == "DEQUANTIZE"
        for end in operator.outputs
    }
    return [_level(end, sources.get(id(end))) for end in file.outputs if end is not None]


def _level(end: Tensor, source: Tensor | None) -> float:
    if end.quantisation.scales:
        return 1.0
    return float(source.quantisation.scales[0]) if source is not None and source.quantisation.scales else 0.0


def _described(path: Path) -> Description:
    file = read_file(path)
    inputs, outputs = (
        tuple(End(name=end.name, dtype=end.dtype, shape=end.shape) for end in those if end is not None)
        for those in (file.inputs, file.outputs)
    )
    return Description(
        format=f"TFLite, version {file.version}",
        inputs=inputs,
        outputs=outputs,
        operations=tuple(operator.type for operator in file.operators),
        constants=file.constants,
    )


READING = Reading(
    load=load,
    describe=_described,
    function=function,
    slack=slack,
    known=known,
)
