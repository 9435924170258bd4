"""Summary of a whole model: its ends, operator sets, operations, and size.

Then pipelines of files and classes: configurations, metadata of ONNX models, preprocessing in IRs, class names.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from pathlib import Path

import onnx

from ir_interp.errors import ReadError, SpecError
from ir_interp.files.kinds import FileKind
from ir_interp.ir.ir_files import Layer, Net, nets, tensor_name
from ir_interp.pipelines import huggingface, pipeline_source
from ir_interp.pipelines.pipeline import Pipeline
from ir_interp.pipelines.pipeline_source import of_file, with_backend
from ir_interp.pipelines.rules import Backend

from ..onnx.onnx_files import external_files, graphs, read_outline
from .model_description import Brief, Tensor, Weights, of_description, sizes
from .readers import counted, model_file, operations, reading


def brief(path: Path) -> Brief | None:
    """Return a summary of a model; None for files that hold only layers. Raises ReadError for unreadable files."""
    path = model_file(path)
    kind = FileKind.of(path)
    framework = reading(kind)
    if framework is not None:
        model = framework.describe(path)
        return replace(of_description(model, framework.parts(path)), operations=counted(model.operations))
    if kind is FileKind.ONNX:
        found = _of_onnx(path)
    elif kind is FileKind.IR:
        whole = next(nets(path))
        if whole.is_snippet:
            return None
        found = _of_ir(path, whole)
    else:
        return None
    return replace(found, operations=operations(path) or {})


def parts(path: Path) -> list[Path]:
    """Return the files of a model, including an IR's .bin and a model's external data."""
    kind = FileKind.of(path)
    framework = reading(kind)
    if framework is not None:
        return framework.parts(path)
    if kind is FileKind.ONNX:
        return [path, *sorted(external_files(path))]
    return [path, path.with_suffix(".bin")] if kind is FileKind.IR else [path]


def _of_onnx(path: Path) -> Brief:
    model = read_outline(path)
    all_graphs = list(graphs(model.graph))
    constants = {tensor.name for tensor in model.graph.initializer}
    weights = [tensor for graph in all_graphs for tensor in _weights(graph)]
    return Brief(
        format=f"ONNX, IR version {model.ir_version}",
        operator_sets=tuple(f"{opset.domain or 'ai.onnx'} {opset.version}" for opset in model.opset_import),
        inputs=tuple(_tensor(end) for end in model.graph.input if end.name not in constants),
        outputs=tuple(map(_tensor, model.graph.output)),
        weights=Weights(tensors=len(weights), bytes=sum(map(_bytes, weights))),
        files=sizes(path, external_files(path)),
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
        weights=Weights(tensors=len(weights), bytes=sum(_size(layer) for layer in weights)),
        files=sizes(path, [whole.binary] if weights else []),
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


_MODELS = {FileKind.ONNX: "the metadata of a model", FileKind.IR: "an IR"}


def pipeline_of_path(path: Path, backend: Backend | None) -> Pipeline:
    """Return the pipeline of a configuration file, of a model's metadata, or at the head of an IR.

    Raises ReadError, which names the file, for unsupported content.
    """
    kind = FileKind.of(path)
    if kind not in _MODELS:
        return of_file(path, backend)
    if backend is not None:
        raise SpecError(f"--backend has no effect on {_MODELS[kind]}")
    if kind is FileKind.IR:
        return pipeline_source.read_preprocessor(path)
    metadata = {entry.key: entry.value for entry in read_outline(path).metadata_props}
    try:
        return pipeline_source.read_ultralytics(metadata)
    except (ReadError, SpecError) as error:
        raise ReadError(str(error), path.name) from None


def pipeline_of_text(text: str) -> Pipeline:
    """Return the pipeline of a file or of a Hugging Face class, with a backend behind a colon if it needs one.

    ``preprocessor_config.json:pil``, ``CLIPImageProcessor:torchvision``.
    """
    name, backend = with_backend(text)
    if Path(name).suffix:
        return pipeline_of_path(Path(name), backend)
    return huggingface.read({"image_processor_type": name}, backend)
