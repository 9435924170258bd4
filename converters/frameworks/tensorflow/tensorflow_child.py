"""TensorFlow's side of a model, in a process of its own: the model is loaded, described as a frozen graph, and run.

First, files that are not loaded. Operations that reach outside the graph are not run. In an HDF5 file of Keras, a
link, or a dataset of one, may name any other file, whose content would become weights.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np

from ir_interp.errors import ReadError, UnsupportedLayerError
from ir_interp.files.kinds import FileKind, bytes_of, opened
from ir_interp.files.memory import allow_files
from ir_interp.shapes import Array

from ...sources.model_description import Description, End, Resize
from . import FRAMEWORK, frozen_graph, reading
from .frozen_graph import checkpoint_of, creating_stored, nodes, store, stored
from .operations import LOADED, RESTORING, RUN, WRITING, first_other
from .reading import FROZEN, GRAPH, KERAS, RESIZES, format_of, is_saved_model, parts


def model_config(path: Path, name: str) -> str | bytes | None:
    """Return the configuration that a file holds beside its weights; None if it has none.

    Raises ReadError, under the ``name`` of the model, for weights that lie in another file.
    """
    import h5py

    with opened(path) as opened_file, h5py.File(opened_file, "r") as file:
        outside = file.visititems_links(_external_link) or file.visititems(_external_data)
        if outside is not None:
            raise ReadError(f"{outside!r} lies in another file, which is not read; expected all weights inside", name)
        config: str | bytes | None = file.attrs.get("model_config")
        return config


def _external_link(place: str, link: object) -> str | None:
    import h5py

    return place if isinstance(link, h5py.ExternalLink) else None


def _external_data(place: str, item: object) -> str | None:
    import h5py

    is_outside = isinstance(item, h5py.Dataset) and (item.external or item.is_virtual)
    return place if is_outside else None


os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "KERAS_BACKEND": "tensorflow"}
_SIGNATURE = "serving_default"
_LAYER = re.compile(r"calling (\w+)\.call\(\)")
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
_NO_OPERATIONS = ("Const", "Placeholder", "NoOp")


def run(arrays: Sequence[Array], path: str) -> dict[str, Array]:
    """Return the outputs of a model by name."""
    function, names = _function(path)
    tensors = [_tensorflow().constant(array) for array in arrays]
    results = function(**dict(zip(names, tensors, strict=True))) if names[0] else function(*tensors)
    outputs = [np.asarray(result) for result in _flat(results)]
    return dict(zip(_output_names(function, len(outputs)), outputs, strict=True))


def _tensorflow() -> ModuleType:
    return importlib.import_module("tensorflow")


def describe(path: str, folder: str) -> Description:
    """Return what a model holds; its frozen graph and large weights are written to a folder."""
    function, names = _function(path, folder)
    constant, definition, variables = frozen_graph.frozen(function)
    _check(nodes(definition), Path(path))
    Path(folder, FROZEN).write_bytes(definition.SerializeToString(deterministic=True))
    outputs = _output_names(function, len(constant.outputs))
    return Description(
        format=format_of(Path(path)),
        inputs=tuple(_end(tensor, tensor.op.name) for tensor in _placeholders(constant, names)),
        outputs=tuple(_end(tensor, name) for tensor, name in zip(constant.outputs, outputs, strict=True)),
        operations=tuple(node.op for node in nodes(definition) if node.op not in _NO_OPERATIONS),
        constants=tuple(
            frozen_graph.size(variables[node.name]) if node.name in variables else node.attr["value"].tensor.ByteSize()
            for node in nodes(definition)
            if node.op == "Const" or node.name in variables
        ),
        resizes=tuple(
            _resize(operation, constant) for operation in _operations(constant.graph) if operation.type in RESIZES
        ),
        weights={f"{name}:0": stored(variable, Path(folder)) for name, variable in variables.items()},
    )


def _placeholders(constant: Any, names: Sequence[str]) -> list[Any]:
    by_name = {tensor.op.name: tensor for tensor in constant.inputs}
    return [by_name[name] for name in names] if set(names) == set(by_name) else list(constant.inputs)


def _operations(graph: Any) -> Iterator[Any]:
    """Yield the operations of a graph, those of branches and loops included."""
    from tensorflow.python.framework.function_def_to_graph import function_def_to_graph

    library = {function.signature.name: function for function in graph.as_graph_def().library.function}
    for operation in graph.get_operations():
        yield operation
        for value in operation.node_def.attr.values():
            for called in (value.func, *value.list.func):
                if called.name in library:
                    yield from _operations(function_def_to_graph(library[called.name]))


def _check(nodes: Iterable[Any], path: Path, allowed: frozenset[str] = RUN) -> None:
    """Raise UnsupportedLayerError for an operation that may reach outside the graph."""
    types = (node.attr[_WAS].s.decode() if _WAS in node.attr else node.op for node in nodes)
    other = first_other(types, allowed)
    if other is not None:
        raise UnsupportedLayerError(
            f"operation {other} may have effects outside the graph; it is not run", FRAMEWORK.label(path)
        )


_WAS = "_ir_interp_was"
"""Attribute of an operation without effect: the type that it had, which no graph may run."""


def _function(path: str, folder: str = "") -> tuple[Any, list[str]]:
    """Return a model as a concrete function, and the names of its keywords; a single empty one if it takes none.

    A model that is not loaded yet has its large variables in files of a folder.
    """
    version = path, Path(path).stat().st_mtime_ns
    if version not in _LOADED:
        for oldest in list(_LOADED)[:-1]:
            del _LOADED[oldest]
        with TemporaryDirectory(ignore_cleanup_errors=True) as other:
            _LOADED[version] = _loaded(Path(path), Path(folder or other))
    return _LOADED[version]


_LOADED: dict[tuple[str, int], tuple[object, list[str]]] = {}
"""The two models that were loaded last."""


def _loaded(path: Path, folder: Path) -> tuple[object, list[str]]:
    allow_files(*parts(path))
    if is_saved_model(path):
        function, names = _of_saved_model(path, folder)
    elif FileKind.of(path) is GRAPH:
        function, names = _of_graph(path, folder), [""]
    else:
        function, names = _of_keras(path, folder), [""]
    _check(nodes(function.graph.as_graph_def()), path)
    return function, names


def _of_saved_model(path: Path, folder: Path) -> tuple[Any, list[str]]:
    from tensorflow.core.protobuf import saved_model_pb2

    saved_model = saved_model_pb2.SavedModel()
    saved_model.ParseFromString(bytes_of(path))
    for graph in saved_model.meta_graphs:
        functions = {function.signature.name for function in graph.graph_def.library.function}  # which nodes call
        _check(nodes(graph.graph_def), path, LOADED | functions)
    checkpoint, load = checkpoint_of(path.parent), _tensorflow().saved_model
    options = load.LoadOptions(experimental_skip_checkpoint=checkpoint is not None)
    with TemporaryDirectory(ignore_cleanup_errors=True) as place:
        _confine(saved_model, FRAMEWORK.label(path))
        Path(place, path.name).write_bytes(saved_model.SerializeToString())
        for beside in path.parent.iterdir():
            if beside.name != path.name:
                Path(place, beside.name).symlink_to(beside.absolute())
        model = load.load(place, options=options)
    if _SIGNATURE not in model.signatures:
        known = ", ".join(model.signatures) or "none"
        raise ReadError(f"its signatures are {known}; expected {_SIGNATURE}", FRAMEWORK.label(path))
    function = model.signatures[_SIGNATURE]
    function._owner = model  # its variables live as long as the model
    variables = function.graph.variables
    restored = ((variable, variable.read_value) for variable in variables)
    for variable, read in checkpoint.values(model, variables) if checkpoint else restored:
        store(variable, read(), folder)
    return function, sorted(function.structured_input_signature[1])


def _confine(saved_model: Any, label: str) -> None:
    """Change a SavedModel so that loading it writes no file, and reads no checkpoint but its own.

    TensorFlow runs what a SavedModel names as its restore and its initialisation, whatever that is. Nothing here saves
    a model, so operations that do become operations without effect. TensorFlow 2 restores a model itself, and never
    runs the functions that would. In a graph of TensorFlow 1, the file that a restore reads must be the one that the
    loader replaces.

    Raises UnsupportedLayerError for a graph of TensorFlow 1 that restores from another file.
    """
    is_of_2 = len(saved_model.meta_graphs) == 1 and saved_model.meta_graphs[0].HasField("object_graph_def")
    for graph in saved_model.meta_graphs:
        for node in nodes(graph.graph_def):
            if node.op in WRITING:
                controls = [name for name in node.input if name.startswith("^")]
                del node.input[:]
                node.input.extend(controls)
                node.attr.clear()
                node.attr[_WAS].s, node.op = node.op.encode(), "NoOp"
        if is_of_2:
            _drop_restoring(graph.graph_def.library)
            continue
        restored = {graph.saver_def.filename_tensor_name, graph.saver_def.filename_tensor_name.removesuffix(":0")}
        among = {id(node) for node in graph.graph_def.node}
        for node in nodes(graph.graph_def):
            if node.op == RESTORING and (id(node) not in among or node.input[0] not in restored):
                raise UnsupportedLayerError(
                    f"operation {node.name} of type {RESTORING} may read a file outside the model; it is not run", label
                )


def _drop_restoring(library: Any) -> None:
    """Remove functions that restore, and those that call them."""
    dropped = {each.signature.name for each in library.function if any(node.op == RESTORING for node in each.node_def)}
    while more := {each.signature.name for each in library.function if _calls(each, dropped)} - dropped:
        dropped |= more
    left = [each for each in library.function if each.signature.name not in dropped]
    if dropped:
        del library.function[:]
        library.function.extend(left)


def _calls(function: Any, names: set[str]) -> bool:
    attributes = [value for node in function.node_def for value in node.attr.values()]
    called = {each.name for value in attributes for each in (value.func, *value.list.func)}
    return not names.isdisjoint(called | {node.op for node in function.node_def})


def _of_graph(path: Path, folder: Path) -> object:
    definition, weights = frozen_graph.read(path, folder)
    read = {name.removeprefix("^").split(":")[0] for node in definition.node for name in node.input}
    variable = next((node.name for node in definition.node if node.op in _VARIABLES), None)
    if variable is not None:
        raise ReadError(f"variable {variable!r} has no value; expected a frozen graph, or a SavedModel", path.name)
    _check(nodes(definition), path)
    inputs = [node.name for node in definition.node if node.op == "Placeholder"]
    ends = [node.name for node in definition.node if node.name not in read and node.op not in _NO_OPERATIONS]
    wrapped = _tensorflow().compat.v1.wrap_function(
        partial(_import, definition, {name: weights[name] for name in weights.keys() & read}), []
    )
    operation = wrapped.graph.get_operation_by_name
    with wrapped.graph.as_default():
        outputs = [tensor for name in ends for tensor in _named_outputs(operation(name))]
    return wrapped.prune([operation(name).outputs[0] for name in inputs], outputs)


def _import(definition: Any, weights: dict[str, Any]) -> None:
    """Put a graph into the one that is built, with the values of variables in place of its weights."""
    scope = "weights"
    while any(node.name.startswith(scope) for node in definition.node):
        scope += "_"
    with _tensorflow().name_scope(scope):
        values = {f"{name}:0": variable.read_value() for name, variable in weights.items()}
    _tensorflow().compat.v1.import_graph_def(definition, values, name="")


def _named_outputs(operation: Any) -> list[object]:
    """Return the outputs of an operation, several as operations with its name and their numbers."""
    outputs = operation.outputs
    if len(outputs) < 2:
        return list(outputs)
    return [_tensorflow().identity(tensor, f"{operation.name}_{place}") for place, tensor in enumerate(outputs)]


def _of_keras(path: Path, folder: Path) -> object:
    tensorflow = _tensorflow()
    with TemporaryDirectory(dir=folder) as unpacked, creating_stored(folder):
        if FileKind.of(path) is KERAS:
            reading.unpack(path, Path(unpacked))
            for weights in Path(unpacked).rglob("*.h5"):
                model_config(weights, path.name)
        else:
            _check_h5(path)
        place = unpacked if FileKind.of(path) is KERAS else path
        model = tensorflow.keras.models.load_model(str(place), compile=False, safe_mode=True)
    if not getattr(model, "inputs", None):
        raise ReadError("its inputs are unknown; build it before it is saved", path.name)
    flat = tensorflow.keras.Model(model.inputs, model.outputs)
    specs = [tensorflow.TensorSpec(end.shape, end.dtype, end.name) for end in model.inputs]

    def call(*tensors: object) -> list[object]:
        return _flat(flat(list(tensors), training=False))

    try:
        function = tensorflow.function(call, input_signature=specs, autograph=False).get_concrete_function()
    except tensorflow.errors.OperatorNotAllowedInGraphError as error:  # of layers that ask whether a size is positive
        layer = "".join(_LAYER.findall(str(error))) or "a layer"
        problem = f"Keras cannot trace {layer} for any size; save the model with inputs of a static height and width"
        raise UnsupportedLayerError(problem, path.name) from error
    function._owner, function._names = flat, list(getattr(model, "output_names", ()))
    return function


def _check_h5(path: Path) -> None:
    import json

    config = model_config(path, path.name)
    if config is None:
        raise ReadError("it holds weights only; expected a model", path.name)
    reading.check(json.loads(config), path.name)


def _output_names(function: Any, count: int) -> list[str]:
    structured = function.structured_outputs
    names = sorted(structured) if isinstance(structured, dict) else list(getattr(function, "_names", ()))
    if len(names) != count or len(set(names)) != count:
        names = [tensor.op.name for tensor in function.outputs]
    return names


def _flat(results: object) -> list[object]:
    if isinstance(results, dict):
        return [results[name] for name in sorted(results)]  # the order in which TensorFlow flattens it
    return list(results) if isinstance(results, list | tuple) else [results]


def _end(tensor: Any, name: str) -> End:
    return End(tensor=tensor.name, name=name, dtype=tensor.dtype.name, shape=_shape(tensor))


def _shape(tensor: Any) -> tuple[int | None, ...] | None:
    return None if tensor.shape.rank is None else tuple(tensor.shape.as_list())


def _resize(operation: Any, graph: object) -> Resize:
    """Return a resize with its attributes, and inputs that are constants."""
    data, *others = operation.inputs
    values = [_constant(tensor, graph) for tensor in others]
    attributes = {name: operation.get_attr(name) for name in RESIZES[operation.type]}
    return Resize(
        type=operation.type,
        name=operation.name,
        dtype=data.dtype.name,
        shape=_shape(data),
        inputs=tuple(None if value is None else np.asarray(value).ravel().tolist() for value in values),
        attributes={name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()},
    )


def _constant(tensor: Any, graph: Any) -> Array | None:
    """Return the value of a constant, or of a quotient of sizes that two batches share; None for others."""
    from tensorflow.python.framework import tensor_util

    value: Array | None = tensor_util.constant_value(tensor)
    if value is not None or tensor.dtype.name != "float32" or tensor.graph is not graph.graph:
        return value
    function = graph.prune(graph.inputs, [tensor])
    try:
        first, second = (np.asarray(_flat(function(*_inputs(graph, length)))[0]) for length in (1, 3))
    except Exception:  # an image of this size may be too small
        return None
    return first if np.array_equal(first, second) else None


def _inputs(graph: Any, length: int) -> list[object]:
    tensorflow = _tensorflow()
    return [
        tensorflow.fill([size or length for size in end.shape], tensorflow.cast(length, end.dtype))
        for end in graph.inputs
    ]
