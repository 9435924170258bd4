"""Detect ONNX models in half precision, and write the same models in float32."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ir_interp.errors import ReadError
from ir_interp.files.kinds import FileKind

from .node_walk import graphs, rename_read
from .onnx_files import inlined, read_model
from .values import values_of

HALVES = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
_TYPES = ("to", "dtype", "output_dtype", "stash_type", "softmax_precision")  # attributes that name an element type


def is_half(path: Path) -> bool:
    """Return whether an ONNX model computes anything in half precision."""
    if FileKind.of(path) is not FileKind.ONNX:
        return False
    model = read_model(path)
    inputs = (tensor for graph in graphs(model.graph) for tensor in graph.input)
    return any(tensor.type.tensor_type.elem_type in HALVES for tensor in inputs) or any(
        tensor.data_type in HALVES for tensor, _ in tensors(model.graph)
    )


def in_float32(path: Path, folder: Path, *, keeps_ends: bool = False) -> Path:
    """Write a model into ``folder`` that computes in float32 what this one does in half precision; return its path.

    Its inputs and outputs become float32, too; with ``keeps_ends`` they keep their types.
    """
    model = inlined(onnx.load(str(path)), path.name)
    for tensor, _ in list(tensors(model.graph)):
        if tensor.data_type in HALVES:
            try:
                replace(tensor, lambda array: array.astype(np.float32))
            except ReadError as error:
                raise error.under(path.name) from None
    for graph in graphs(model.graph):
        # They state the half-precision types; inference finds the new ones.
        del graph.value_info[:]
        for value in (*graph.input, *graph.output):
            is_end = keeps_ends and graph is model.graph
            if value.type.tensor_type.elem_type in HALVES and not is_end:
                value.type.tensor_type.elem_type = onnx.TensorProto.FLOAT
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.name in _TYPES and attribute.i in HALVES:
                    attribute.i = onnx.TensorProto.FLOAT
    if keeps_ends:
        _cast_ends(model.graph)
    return saved(model, folder / f"float32-{path.stem}.onnx")


def _cast_ends(graph: onnx.GraphProto) -> None:
    """Let a graph compute in float32 between inputs and outputs in half precision."""
    outputs = {tensor.name: tensor.type.tensor_type.elem_type for tensor in graph.output}
    producers = {name: node for node in graph.node for name in node.output}
    first, last = [], []
    for tensor in graph.input:
        if tensor.type.tensor_type.elem_type in HALVES:
            precise = f"{tensor.name}/float32"
            rename_read(graph, tensor.name, precise)
            first.append(helper.make_node("Cast", [tensor.name], [precise], name=precise, to=onnx.TensorProto.FLOAT))
    for name, element in outputs.items():
        if element in HALVES and name in producers:
            precise = f"{name}/float32"
            rename_read(graph, name, precise)
            producers[name].output[:] = [precise if result == name else result for result in producers[name].output]
            last.append(helper.make_node("Cast", [precise], [name], name=precise, to=element))
    for value, name in zip(graph.output, outputs, strict=True):
        value.name = name
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)


def saved(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model, beside its weights if it is large; return its path."""
    # Protobuf holds less than 2 GiB.
    onnx.save(model, str(path), save_as_external_data=model.ByteSize() > 2**30)
    return path


def replace(tensor: onnx.TensorProto, change: Callable[[Any], Any]) -> None:
    """Change the values of a tensor."""
    name = tensor.name
    tensor.CopyFrom(numpy_helper.from_array(np.asarray(change(values_of(tensor)), order="C"), name))


def tensors(graph: onnx.GraphProto) -> Iterator[tuple[onnx.TensorProto, str]]:
    """Yield every tensor that a graph holds, with the name that nodes refer to."""
    for nested in graphs(graph):
        yield from ((tensor, tensor.name) for tensor in nested.initializer)
        for node in nested.node:
            for attribute in node.attribute:
                if attribute.HasField("t"):
                    yield attribute.t, node.output[0] if node.output else ""
