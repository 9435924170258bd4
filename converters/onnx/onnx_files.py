"""Read ONNX files, without their external weights; first, the walk through the nodes of a graph and its subgraphs.

Outlines are models without their larger weights, which stay in the file: each refers to its own bytes there. Parsing
takes twice the bytes of a file, and a runtime that gets a changed copy of the model a third time as many. External
weights of a model that is written anew are shared in the folder of its source, and copied into any other.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import reprlib
import shutil
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

import onnx
import onnx.checker
import onnx.inliner
import onnx.shape_inference
from google.protobuf.message import DecodeError
from onnx.external_data_helper import ExternalDataInfo, set_external_data, uses_external_data

from ir_interp.errors import ReadError, closest
from ir_interp.files.kinds import opened
from ir_interp.files.memory import allow_files, mapped
from ir_interp.files.snapshots import copy_file
from ir_interp.files.writing import (
    Data,
    OutputError,
    exists,
    field_start,
    is_file,
    is_link,
    is_possible,
    real,
    wire_fields,
    wire_number,
)

from ..runtimes.outcome import Functions


def place(prefix: str, index: int, node: onnx.NodeProto) -> str:
    """Return the place of a node, in the form that messages use."""
    return f"{prefix}node[{index} {json.dumps(node.name, ensure_ascii=False)}]"


def subgraphs(attribute: onnx.AttributeProto) -> list[onnx.GraphProto]:
    """Return the graphs that an attribute holds."""
    return [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else list(attribute.graphs)


def graphs(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """Yield a graph and those inside its nodes."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for inner in subgraphs(attribute):
                yield from graphs(inner)


def needed(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """Return the nodes on which the outputs depend."""
    read, sources = set(outputs), []
    for node in reversed(nodes):
        if read.intersection(node.output):
            read.update(name for inner in with_inner([node]) for name in inner.input)
            sources.append(node)
    return sources[::-1]


def merged(nodes: Sequence[onnx.NodeProto], outputs: Iterable[str]) -> list[onnx.NodeProto]:
    """Return nodes without duplicates, which do the same to the same tensors; ``outputs`` keep their names.

    Quantisation stays with each of its readers, since runtimes look for it there.
    """
    distinct, first, instead, named = [], dict[bytes, onnx.NodeProto](), dict[str, str](), set(outputs)
    for node in nodes:
        for inner in with_inner([node]):
            inner.input[:] = [instead.get(name, name) for name in inner.input]
        alike = onnx.NodeProto(op_type=node.op_type, input=node.input, attribute=node.attribute)
        # Names differ between equal nodes, so the key has none but those of the inputs.
        key = bytes([len(node.output)]) + alike.SerializeToString(deterministic=True)
        before = first.setdefault(key, node)
        if (
            before is node
            or node.op_type in _APART
            or named.intersection(node.output)
            or any(map(subgraphs, node.attribute))
        ):
            distinct.append(node)
        else:
            instead.update(zip(node.output, before.output, strict=True))
    return distinct


_APART = ("QuantizeLinear", "DequantizeLinear")


def with_inner(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """Yield nodes, and those of the subgraphs inside them, which may also read tensors from outside."""
    for node in nodes:
        yield node
        for attribute in node.attribute:
            yield from with_inner(attribute.g.node)


def rename_read(graph: onnx.GraphProto, old: str, new: str) -> None:
    """Let a graph and its subgraphs read another tensor, and return it wherever they returned the old one."""
    for nested in graphs(graph):
        if nested is not graph and old in defined(nested):
            continue  # a separate tensor
        for node in nested.node:
            if old in node.input:
                node.input[:] = [new if name == old else name for name in node.input]
        for value in nested.output:
            value.name = new if value.name == old else value.name


def defined(graph: onnx.GraphProto) -> Iterator[str]:
    """Yield the names that a graph gives to tensors, except those of its subgraphs."""
    yield from (value.name for value in (*graph.input, *graph.initializer))
    yield from (name for node in graph.node for name in node.output)


_LARGE = 2**20
"""Bytes of the smallest tensor that stays in the file. Readers take the values of smaller ones, such as sizes."""

_OF_TENSOR = 2**7  # fields; a message of more is read as a whole
_GRAPH = wire_number(onnx.ModelProto, "graph")
_INITIALIZER = wire_number(onnx.GraphProto, "initializer")
_RAW = wire_number(onnx.TensorProto, "raw_data")
_ELSEWHERE = {wire_number(onnx.TensorProto, name) for name in ("external_data", "data_location")}


def outline(file: BufferedReader, name: str) -> bytes:
    """Return a model as bytes, in which the larger initializers are external data of the file itself, of this name.

    Bytes that are no model are returned unchanged.
    """
    data = mapped(file)
    if len(data) >= _LARGE:
        with suppress(IndexError, ValueError):  # of a broken message, which the parser will report
            return b"".join(_outlined_model(data, name))
    return data[:]


def _outlined_model(data: Data, name: str) -> Iterator[bytes]:
    for number, start, value, end in wire_fields(data, 0, len(data)):
        if number == _GRAPH:
            graph = b"".join(_outlined_graph(data, value, end, name))
            yield field_start(onnx.ModelProto, "graph", len(graph)) + graph
        else:
            yield data[start:end]


def _outlined_graph(data: Data, start: int, end: int, name: str) -> Iterator[bytes]:
    for number, first, value, last in wire_fields(data, start, end):
        if number == _INITIALIZER and last - value >= _LARGE:
            tensor = _outlined_tensor(data, value, last, name)
            yield field_start(onnx.GraphProto, "initializer", len(tensor)) + tensor
        else:
            yield data[first:last]


def _outlined_tensor(data: Data, start: int, end: int, name: str) -> bytes:
    known = list(wire_fields(data, start, end, _OF_TENSOR))
    raw = [field for field in known if field[0] == _RAW]
    if len(raw) != 1 or any(number in _ELSEWHERE for number, *_ in known):
        return data[start:end]
    ((_, first, value, last),) = raw
    reference = onnx.TensorProto(raw_data=b"")
    set_external_data(reference, name, value, last - value)
    reference.ClearField("raw_data")
    # Fields of a message may come in any order.
    described: bytes = reference.SerializeToString(deterministic=True)
    return data[start:first] + data[last:end] + described


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
    without = _inlined(lambda: onnx.inliner.inline_local_functions(model), where)
    # Attributes of a function that refer to those of its node have values only now.
    _check_nodes(without.graph, f"{where}:")
    return without


def with_inlined(model: onnx.ModelProto, functions: Iterable[tuple[str, str]], where: str) -> onnx.ModelProto:
    """Return a copy of a model in which some functions, by domain and name, are inlined. Raises as ``inlined``."""
    return _inlined(lambda: onnx.inliner.inline_selected_functions(model, sorted(functions)), where)


def _inlined(inline: Callable[[], onnx.ModelProto], where: str) -> onnx.ModelProto:
    try:
        return inline()
    except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
        problem = str(error).strip().splitlines()[0]
        raise ReadError(f"its functions cannot be inlined: {_PLACE_IN_SOURCE.sub('', problem)}", where) from None


def functions_of(model: onnx.ModelProto) -> Functions:
    """Return which local functions of its own a model, not yet inlined, calls."""
    names = {(function.domain, function.name) for function in model.functions}
    nodes = (node for graph in graphs(model.graph) for node in graph.node) if names else ()
    if not any((node.domain, node.op_type) in names for node in nodes):
        return Functions.NONE
    leaves_out = any("" in node.input for function in model.functions for node in with_inner(function.node))
    return Functions.LEAVING_OUT if leaves_out else Functions.COMPLETE


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


def invalid(model: onnx.ModelProto | Path, *, full: bool = True) -> str:
    """Return the first problem that ONNX's checker finds in a model or a file; empty if it is valid.

    ``full`` infers shapes, too. For numbers that protobuf has no name for, the checker raises ValueError.
    """
    try:
        onnx.checker.check_model(model, full_check=full)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, ValueError, RuntimeError) as error:
        return str(error).strip().splitlines()[0]
    return ""


def load_weights(model: onnx.ModelProto, path: Path) -> onnx.ModelProto:
    """Return a model of a file with its external weights.

    Raises ReadError if these are missing, outside its folder, or cannot be read.
    """
    files_inside(path)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Ignoring unknown external data key")  # those that are prepacked
            for tensor in _tensors(model):
                if uses_external_data(tensor):
                    _load(tensor, path.parent)
    except OSError as error:
        raise ReadError(f"its weights cannot be read: {error.strerror}: {error.filename}", path.name) from error
    except ValueError as error:
        raise ReadError(f"its weights cannot be read: {error}", path.name) from error
    return model


def _load(tensor: onnx.TensorProto, folder: Path) -> None:
    """Give a tensor its elements from the file that holds them. Raises ValueError if the file ends before them."""
    info = ExternalDataInfo(tensor)
    with opened(folder / info.location) as file:
        size, start = os.fstat(file.fileno()).st_size, info.offset or 0
        length = max(0, size - start) if info.length is None else info.length
        if start + length > size:
            problem = f"{info.location} has {size} bytes; expected at least {start + length} for tensor {tensor.name!r}"
            raise ValueError(problem)
        file.seek(start)
        tensor.raw_data = file.read(length)
    tensor.ClearField("data_location")
    tensor.ClearField("external_data")


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


@contextmanager
def weights_beside(source: Path, output: Path, temporary: Path) -> Iterator[None]:
    """Lay copies of a model's external weights beside ``temporary``, which is to become ``output``.

    The result refers to them by the same relative paths as its source. In the folder of the source it shares the
    files, so the copies go at the end; in another folder they stay, and become part of the output. Raises ReadError
    where the weights lie outside the source's folder, OutputError where a copy would replace a file of another model.
    """
    weights = files_inside(source)
    is_shared = real(output.parent) == real(source.parent)
    if not is_shared:
        _check_copies(weights, source, output)
    for path in weights:
        copy = temporary.parent / path.relative_to(source.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy_file(path, copy)
    yield
    if is_shared:
        _clear(temporary)


def files_inside(source: Path) -> Set[Path]:
    """Return the files of a model's external data, to be copied to another folder under the same relative paths.

    Raises ReadError for one that is missing, or outside the model's folder: a ``..`` that returns to this folder would
    leave another one.
    """
    weights, folder = external_files(source), real(source.parent)
    for path in weights:
        is_below = path.is_relative_to(source.parent) and ".." not in path.relative_to(source.parent).parts
        if not (is_below and real(path).is_relative_to(folder)):
            problem = f"its external data lie outside its folder: {path}"
            raise ReadError(f"{problem}; expected a file in {source.parent}; export the model again", source.name)
        if not is_file(path):
            problem = f"its external data are missing: {path}; expected this file beside the model"
            raise ReadError(f"{problem}; copy it there, or export the model again", source.name)
    return weights


def _check_copies(weights: Set[Path], source: Path, output: Path) -> None:
    """Raise OutputError where a copy would replace other weights than those of the output that it belongs to."""
    replaced = {real(path) for path in external_files(output)} if is_file(output) else set()
    for path in weights:
        copy = output.parent / path.relative_to(source.parent)
        # Contents are compared: files of the same size and time may differ.
        is_free = not exists(copy) or real(copy) in replaced or (is_file(copy) and filecmp.cmp(path, copy, False))
        if not is_free:
            problem = f"{copy} is there with other contents, and {source.name} needs its weights under this name"
            raise OutputError(f"{problem}; write the result into another folder")


def _clear(temporary: Path) -> None:
    for path in temporary.parent.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path != temporary:
            path.unlink()
