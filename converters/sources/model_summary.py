"""Summary of a whole model: its ends, operator sets, operations, and size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import TypedDict, cast

import onnx

from ir_interp.files.kinds import OF_TENSORFLOW, FileKind
from ir_interp.files.paths import is_file
from ir_interp.ir.net import Layer, Net, tensor_name
from ir_interp.ir.reading import nets

from ..onnx.node_walk import graphs
from ..onnx.onnx_files import external_files, read_file
from .model_description import Description
from .paddle import paddle_files
from .readers import operations, saved_model

Length = int | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """An input or an output. Dynamic dimensions are None, or their name; ``shape`` is None if the rank is unknown."""

    name: str
    dtype: str
    shape: tuple[Length, ...] | None

    def __str__(self) -> str:
        shape = "" if self.shape is None else "x".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.name}: {self.dtype} " + (shape or ("of any rank" if self.shape is None else "scalar"))


class WeightsRecord(TypedDict):
    """Constants of a model in JSON: how many tensors, and their bytes."""

    tensors: int
    bytes: int


class ModelRecord(TypedDict):
    """A model in brief, in JSON."""

    format: str
    operator_sets: list[str]
    inputs: list[Tensor]
    outputs: list[Tensor]
    operations: dict[str, int]
    weights: WeightsRecord
    files: dict[str, int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """A summary of a model. ``weights`` are constant tensors and their bytes; ``files`` its files, and their bytes.

    The size of a file is None if the file is missing.
    """

    format: str
    operator_sets: tuple[str, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    operations: dict[str, int]
    weights: tuple[int, int]
    files: dict[str, int | None]

    def record(self) -> ModelRecord:
        """Return all of it as plain values, for JSON."""
        tensors, size = self.weights
        return cast(ModelRecord, asdict(self) | {"weights": {"tensors": tensors, "bytes": size}})


def brief(path: Path) -> Brief | None:
    """Return a summary of a model; None for files that hold only layers. Raises ReadError for unreadable files."""
    path = saved_model(path)
    match FileKind.of(path):
        case FileKind.ONNX:
            return _of_onnx(path)
        case FileKind.IR:
            whole = next(nets(path))
            return None if whole.is_snippet else _of_ir(path, whole)
        case FileKind.TFLITE:
            return _of_tflite(path)
        case FileKind.PROGRAM:
            return _of_program(path)
        case kind if kind in OF_TENSORFLOW:
            return _of_tensorflow(path)
        case FileKind.PADDLE:
            return _of_paddle(path)
    return None


def parts(path: Path) -> list[Path]:
    """Return the files of a model, including an IR's .bin and a model's external data."""
    match FileKind.of(path):
        case FileKind.ONNX:
            return [path, *sorted(external_files(path))]
        case FileKind.IR:
            return [path, path.with_suffix(".bin")]
        case FileKind.PADDLE:
            return [path, paddle_files.weights(path)]
    return [path]


def _sizes(path: Path, others: Iterable[Path]) -> dict[str, int | None]:
    files = (path, *sorted(others))
    return {file.name: file.stat().st_size if is_file(file) else None for file in files}


def _of_onnx(path: Path) -> Brief:
    model = read_file(path)
    all_graphs = list(graphs(model.graph))
    constants = {tensor.name for tensor in model.graph.initializer}
    weights = [tensor for graph in all_graphs for tensor in _weights(graph)]
    return Brief(
        format=f"ONNX, IR version {model.ir_version}",
        operator_sets=tuple(f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import),
        inputs=tuple(_tensor(end) for end in model.graph.input if end.name not in constants),
        outputs=tuple(map(_tensor, model.graph.output)),
        operations=operations(path) or {},
        weights=(len(weights), sum(map(_bytes, weights))),
        files=_sizes(path, external_files(path)),
    )


def _weights(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    for node in graph.node:
        if node.op_type == "Constant":
            yield from (attribute.t for attribute in node.attribute if attribute.HasField("t"))


def _dtype(element: int) -> str:
    try:
        return str(onnx.helper.tensor_dtype_to_np_dtype(element))
    except (KeyError, ValueError):
        return f"type {element}"


def _bytes(tensor: onnx.TensorProto) -> int:
    try:
        bits = onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type).itemsize
    except (KeyError, ValueError):
        return 0
    return int(prod(tensor.dims) * bits)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    kind = value.type.WhichOneof("value") or "value"
    if kind != "tensor_type":
        return Tensor(name=value.name, dtype=kind.removesuffix("_type"), shape=None)
    tensor = value.type.tensor_type
    lengths = tuple(dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim)
    return Tensor(name=value.name, dtype=_dtype(tensor.elem_type), shape=lengths if tensor.HasField("shape") else None)


def _of_ir(path: Path, whole: Net) -> Brief:
    layers = [layer for net in nets(path) for layer in net.layers.values()]
    weights = [layer for layer in layers if layer.type.lower() == "const"]
    return Brief(
        format=f"OpenVINO IR v{whole.version}",
        operator_sets=tuple(f"opset{number}" for number in sorted({layer.version or 0 for layer in layers} - {0})),
        inputs=tuple(_end(whole, layer) for layer in whole.layers.values() if layer.type.lower() == "parameter"),
        outputs=tuple(_end(whole, layer) for layer in whole.layers.values() if layer.type.lower() == "result"),
        operations=operations(path) or {},
        weights=(len(weights), sum(_size(layer) for layer in weights)),
        files=_sizes(path, [whole.binary] if weights else []),
    )


def _size(layer: Layer) -> int:
    size = layer.attributes.get("size", "")
    return int(size) if size.isdecimal() else 0


def _end(whole: Net, layer: Layer) -> Tensor:
    """Return the tensor at an end of a net: the output of a parameter, or the input of a result."""
    source = (layer, layer.outputs[0]) if layer.outputs else whole.source(layer, 0)
    if source is None:
        return Tensor(name=layer.name, dtype="value", shape=None)
    owner, port = source
    is_open = owner.type.lower() == "parameter" and whole.has_dynamic_ranks and not port.shape
    return Tensor(name=tensor_name(owner, port), dtype=port.dtype or "value", shape=None if is_open else port.shape)


def _of_tflite(path: Path) -> Brief:
    from .tflite.tflite_files import read_file

    file = read_file(path)
    ends = (
        tuple(Tensor(name=end.name, dtype=end.dtype, shape=end.shape) for end in those if end is not None)
        for those in (file.inputs, file.outputs)
    )
    inputs, outputs = ends
    return Brief(
        format=f"TFLite, version {file.version}",
        operator_sets=(),
        inputs=inputs,
        outputs=outputs,
        operations=operations(path) or {},
        weights=(len(file.constants), sum(file.constants)),
        files=_sizes(path, ()),
    )


def _of_program(path: Path) -> Brief:
    from .programs.program_files import ends, read

    program = read(path)
    inputs, outputs = (
        tuple(Tensor(name=name, dtype=dtype, shape=shape) for name, dtype, shape in those) for those in ends(program)
    )
    weights = [
        *program.state_dict.values(),
        *(constant for constant in program.constants.values() if hasattr(constant, "nbytes")),
    ]
    return Brief(
        format="PyTorch exported program",
        operator_sets=(),
        inputs=inputs,
        outputs=outputs,
        operations=operations(path) or {},
        weights=(len(weights), sum(weight.nbytes for weight in weights)),
        files=_sizes(path, ()),
    )


def _of_tensorflow(path: Path) -> Brief:
    from .tensorflow.tensorflow_files import described, format_of

    variables = path.parent.glob("variables/variables.*") if path.name == "saved_model.pb" else ()
    return _of_description(described(path), format_of(path), path, variables)


def _of_paddle(path: Path) -> Brief:
    return _of_description(paddle_files.described(path), paddle_files.FORMAT, path, [paddle_files.weights(path)])


def _of_description(model: Description, title: str, path: Path, others: Iterable[Path]) -> Brief:
    """Return a summary of a model that its framework describes; ``others`` are files beside it."""
    inputs, outputs = (
        tuple(Tensor(name=end.name, dtype=end.dtype, shape=end.shape) for end in those)
        for those in (model.inputs, model.outputs)
    )
    return Brief(
        format=title,
        operator_sets=(),
        inputs=inputs,
        outputs=outputs,
        operations=operations(path) or {},
        weights=(len(model.constants), sum(model.constants)),
        files=_sizes(path, others),
    )
