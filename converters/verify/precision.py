"""The same ONNX model in another precision: in float32 where it is half, or with its weights rounded to half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.kinds import FileKind

from ..runtimes.telemetry import openvino_silent

_RESIZES = ("Resize", "Upsample")
_TYPES = ("to", "dtype")  # attributes that name an element type


def is_half(path: Path) -> bool:
    """Say whether an ONNX model computes anything in half precision."""
    if FileKind.of(path) is not FileKind.ONNX:
        return False
    import onnx

    from ..onnx.files import read_file

    halves = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    model = read_file(path)
    return any(
        each.type.tensor_type.elem_type in halves for graph in _graphs(model.graph) for each in graph.input
    ) or any(tensor.data_type in halves for tensor, _ in _tensors(model.graph))


def in_float32(path: Path, folder: Path) -> Path:
    """Write a model into ``folder`` that computes in float32 what this one does in half precision; return where."""
    import onnx

    model, halves = onnx.load(str(path)), (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    for tensor, _ in list(_tensors(model.graph)):
        if tensor.data_type in halves:
            _replace(tensor, lambda array: array.astype(np.float32))
    for graph in _graphs(model.graph):
        del graph.value_info[:]
        for each in (*graph.input, *graph.output):
            if each.type.tensor_type.elem_type in halves:
                each.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name in _TYPES and attribute.i in halves:
                    attribute.i = onnx.TensorProto.FLOAT
    return _saved(model, folder / f"float32-{path.stem}.onnx")


def with_half_weights(path: Path, folder: Path) -> Path:
    """Write a model, ONNX or an IR, whose float32 weights, but for those of resizes, are halves; return where."""
    if FileKind.of(path) is FileKind.IR:
        return _compressed(path, folder / f"half-{path.stem}.xml")
    import onnx

    model = onnx.load(str(path))
    exact = {name for node in model.graph.node if node.op_type in _RESIZES for name in node.input[1:]}
    for tensor, name in list(_tensors(model.graph)):
        if tensor.data_type == onnx.TensorProto.FLOAT and name not in exact:
            _replace(tensor, _rounded)
    return _saved(model, folder / f"half-{path.stem}.onnx")


def _compressed(path: Path, written: Path) -> Path:
    """Write an IR with its weights in half precision, but for those from which OpenVINO computes shapes."""
    with openvino_silent():
        import openvino

    openvino.save_model(openvino.Core().read_model(path), written, compress_to_fp16=True)
    return written


def _rounded(array: Any) -> Any:
    """Return numbers as half precision holds them, those beyond its range as they are."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16).astype(np.float32)
    return np.where(np.isfinite(half), half, array)


def _saved(model: Any, path: Path) -> Path:
    import onnx

    onnx.save(model, str(path), save_as_external_data=model.ByteSize() > 2**30)
    return path


def _replace(tensor: Any, change: Callable[[Any], Any]) -> None:
    from onnx import numpy_helper

    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(change(numpy_helper.to_array(tensor)), order="C"), name))


def _graphs(graph: Any) -> Iterator[Any]:
    """Yield a graph and those inside of it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inside in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _graphs(inside)


def _tensors(graph: Any) -> Iterator[tuple[Any, str]]:
    """Yield every tensor that a graph holds, with the name under which nodes know it."""
    for each in _graphs(graph):
        yield from ((tensor, tensor.name) for tensor in each.initializer)
        for node in each.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t, node.output[0] if node.output else ""
