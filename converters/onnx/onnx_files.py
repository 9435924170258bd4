"""Read ONNX files, without their external weights."""

from __future__ import annotations

import re
import reprlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from io import BufferedReader
from pathlib import Path

import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError

from ir_interp.errors import ReadError, closest
from ir_interp.files.memory import allow_files
from ir_interp.files.paths import exists, is_file, is_link, is_possible
from ir_interp.files.sources import opened

from .node_walk import graphs, place, subgraphs
from .outlines import outline

_EXTERNAL_KEYS = ("location", "offset", "length", "checksum", "basepath")  # onnx.proto, TensorProto.external_data
_PREPACKED = "prepacked"  # keys of onnxruntime's, for copies of a weight in the order of its own kernels
_LAST_OPSET = 1000  # future versions included; readers go through all versions up to that of a model
_PLACE_IN_SOURCE = re.compile(r"^\S+\.(cc|h):\d+: ")  # of ONNX


def read_model(path: Path) -> onnx.ModelProto:
    """Return a model to look at, its local functions inlined; see ``read_outline``."""
    return inlined(read_outline(path), path.name)


def inlined(model: onnx.ModelProto, where: str) -> onnx.ModelProto:
    """Return a model without local functions: the same, or a copy in which they are inlined.

    Raises ReadError if that is impossible: recursive functions, nodes with more inputs than their function has.
    """
    if not model.functions:
        return model
    try:
        without = onnx.inliner.inline_local_functions(model)
    except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
        problem = str(error).strip().splitlines()[0]
        raise ReadError(f"its functions cannot be inlined: {_PLACE_IN_SOURCE.sub('', problem)}", where) from None
    # Attributes of a function that refer to those of its node have values only now.
    _check_nodes(without.graph, f"{where}:")
    return without


def calls_functions(model: onnx.ModelProto) -> bool:
    """Return whether a model, not yet inlined, calls local functions of its own."""
    names = {(function.domain, function.name) for function in model.functions}
    nodes = (node for graph in graphs(model.graph) for node in graph.node) if names else ()
    return any((node.domain, node.op_type) in names for node in nodes)


def read_outline(path: Path) -> onnx.ModelProto:
    """Return a model to look at: its larger weights are external data, of the file itself if they are in it.

    Raises ReadError as ``read_file`` does.
    """
    # No runtime follows a link to external data, so the weights of a linked file are read.
    return read_file(path) if is_link(path) else _parsed(path, lambda file: outline(file, path.name))


def read_file(path: Path) -> onnx.ModelProto:
    """Return a model to change and write: without its external weights, and with all others.

    Raises ReadError if the file is not a model.
    """
    return _parsed(path, BufferedReader.read)


def _parsed(path: Path, content: Callable[[BufferedReader], bytes]) -> onnx.ModelProto:
    try:
        with opened(path) as file:
            model: onnx.ModelProto = onnx.load_model_from_string(content(file))
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror}", str(path)) from error
    except DecodeError as error:
        raise ReadError(f"not an ONNX model, or truncated: {error}", path.name) from error
    check_model(model, path.name)
    return model


def check_model(model: onnx.ModelProto, where: str) -> None:
    """Raise ReadError if a model lacks a required part, or a node holds something that no reader understands."""
    if not model.opset_import or not model.HasField("graph"):
        raise ReadError("not an ONNX model: it has no graph or specifies no operator set", where)
    _check_texts((opset.domain for opset in model.opset_import), f"{where}:opset_import")
    _check_texts((model.producer_name, model.producer_version, model.domain), f"{where}:producer")
    _check_texts((text for entry in model.metadata_props for text in (entry.key, entry.value)), f"{where}:metadata")
    external = (entry for tensor in _tensors(model) for entry in tensor.external_data)
    for pair in external:
        _check_texts((pair.key, pair.value), f"{where}:external_data")
        if pair.key not in _EXTERNAL_KEYS and not pair.key.startswith(_PREPACKED):
            raise ReadError(f"unknown key {pair.key!r}; {closest(pair.key, _EXTERNAL_KEYS)}", f"{where}:external_data")
    for function in model.functions:
        _check_texts((function.name, function.domain, *function.input, *function.output), f"{where}:function")
        _check_node_texts(function.node, f"{where}:function/")
    _check_nodes(model.graph, f"{where}:")


def _check_texts(texts: Iterable[str | bytes], where: str) -> None:
    """Raise ReadError for texts that are not UTF-8, which protobuf returns as bytes."""
    for text in texts:
        if isinstance(text, bytes):
            raise ReadError(f"{text!r} is not UTF-8 text", where)


def _check_node_texts(nodes: Iterable[onnx.NodeProto], prefix: str) -> None:
    for index, node in enumerate(nodes):
        names = (attribute.name for attribute in node.attribute)
        _check_texts(
            (node.name, node.op_type, node.domain, *node.input, *node.output, *names), f"{prefix}node[{index}]"
        )


def _check_nodes(graph: onnx.GraphProto, prefix: str) -> None:
    """Check the texts of a graph, and the attributes of all nodes, including subgraphs."""
    _check_texts((graph.name,), f"{prefix}graph")
    _check_node_texts(graph.node, prefix)
    for value in (*graph.input, *graph.output, *graph.value_info):
        symbols = (dimension.dim_param for dimension in value.type.tensor_type.shape.dim)
        _check_texts((value.name, *symbols), f"{prefix}value")
    for tensor in graph.initializer:
        _check_texts((tensor.name,), f"{prefix}initializer")
    for index, node in enumerate(graph.node):
        for attribute in node.attribute:
            problem = _problem(attribute)
            if problem:
                raise ReadError(problem, f"{place(prefix, index, node)}@{attribute.name}")
            for inner in subgraphs(attribute):
                _check_nodes(inner, f"{place(prefix, index, node)}/{attribute.name}/")


def _problem(attribute: onnx.AttributeProto) -> str:
    if attribute.ref_attr_name:
        return f"refers to an attribute {attribute.ref_attr_name!r} of a function, but is not part of one"
    return "" if attribute.type else "has no type"


def load_weights(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """Return a model of a file with its external weights. Raises ReadError if these cannot be read."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Ignoring unknown external data key")  # those that are prepacked
            onnx.load_external_data_for_model(model, str(path.absolute().parent))
    except (OSError, ValueError, onnx.checker.ValidationError) as error:
        raise ReadError(f"its weights cannot be read: {str(error).splitlines()[0]}", path.name) from error
    return model


def external_files(path: Path) -> set[Path]:
    """Return the files that hold a model's external data, wherever in the model they are referenced.

    Raises ReadError for an impossible name, and for a path that exists but is not a file. Whether they lie inside the
    model's folder is not checked.
    """
    files = external_files_of(read_outline(path), path.parent) - {path}
    for file in files:
        if not is_possible(file):
            raise ReadError(f"its external data have an invalid file name: {reprlib.repr(file.name)}", path.name)
        if exists(file) and not is_file(file):
            raise ReadError(f"its external data are not a regular file: {file}", path.name)
    allow_files(path, *files)
    return files


def external_files_of(model: onnx.ModelProto, folder: Path) -> set[Path]:
    """Return the files in a model's folder that hold its external data."""
    entries = (entry for tensor in _tensors(model) for entry in tensor.external_data)
    return {folder / entry.value for entry in entries if entry.key == "location"}


def _tensors(model: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    yield from _of_graph(model.graph)
    for training in model.training_info:
        yield from _of_graph(training.initialization)
        yield from _of_graph(training.algorithm)
    for function in model.functions:
        yield from _of_attributes(function.attribute_proto)
        yield from _of_nodes(function.node)


def _of_graph(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from _of_sparse(graph.sparse_initializer)
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        yield from _of_attributes(node.attribute)


def _of_attributes(attributes: Iterable[onnx.AttributeProto]) -> Iterator[onnx.TensorProto]:
    for attribute in attributes:
        yield from (attribute.t, *attribute.tensors)
        yield from _of_sparse((attribute.sparse_tensor, *attribute.sparse_tensors))
        for graph in (attribute.g, *attribute.graphs):
            yield from _of_graph(graph)


def _of_sparse(tensors: Iterable[onnx.SparseTensorProto]) -> Iterator[onnx.TensorProto]:
    for tensor in tensors:
        yield from (tensor.values, tensor.indices)


def default_opset(model: onnx.ModelProto, where: str) -> int:
    """Return the version of ONNX's own operator set that a model uses."""
    for entry in model.opset_import:
        if entry.domain in ("", "ai.onnx"):
            if entry.version > _LAST_OPSET:
                raise ReadError(f"there is no operator set {entry.version} of ONNX", where)
            return int(entry.version)
    raise ReadError("specifies no version of ONNX's own operator set", where)
