"""The frozen graph of a TensorFlow function, whose large variables are inputs: their values stay in files.

The system reads their pages, and drops them; TensorFlow's own conversion to constants holds them seven times.
Variables of SavedModels are restored one by one: TensorFlow restores all together, as often as a model lists them.
Frozen graphs are read node by node: parsing takes twice the bytes of a file, and TensorFlow copies them as often.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np

from ir_interp.files import memory
from ir_interp.files.kinds import opened
from ir_interp.files.memory import StoredArray, append, created, mapped
from ir_interp.files.writing import Data, wire_fields, wire_number
from ir_interp.shapes import Array

_KINDS = "biufc"
"""The kinds of element types that NumPy has. TensorFlow keeps others, such as bfloat16, in memory."""


def is_stored(variable: object) -> bool:
    """Return whether the value of a variable is in a file."""
    return hasattr(variable, "_stored")


def stored(variable: Any, folder: Path) -> StoredArray:
    """Return the value of a stored variable, in a file of a folder."""
    array: StoredArray = variable._stored
    return array if array.path.parent == folder else append(np.asarray(variable), folder / "weights")


def store(variable: Any, value: Any, folder: Path) -> None:
    """Give a variable its value; that of a large one goes into a new file of a folder, as all later ones do.

    Raises ValueError for a value of another shape or type.
    """
    from tensorflow.experimental import dlpack

    array = np.asarray(value)
    if array.dtype.kind not in _KINDS or array.nbytes < memory.LARGE:
        variable.assign(value)
        return
    path = folder / uuid4().hex
    mapped = created(path, array.dtype, array.shape)
    mapped[...] = array
    variable.assign(dlpack.from_dlpack(mapped.__dlpack__()))  # which copies nothing
    variable._stored = StoredArray(path=path, offset=0, dtype=str(array.dtype), shape=array.shape)
    variable.assign = lambda value: mapped.__setitem__(..., value)


@contextmanager
def creating_stored(folder: Path) -> Iterator[None]:
    """Let the large variables that TensorFlow creates here have their values in files of a folder."""
    import tensorflow

    def create(next_creator: Any, **settings: Any) -> object:
        variable = next_creator(**settings)
        if tensorflow.executing_eagerly():
            store(variable, variable.read_value(), folder)
        return variable

    with tensorflow.variable_creator_scope(create):
        yield


_OBJECTS, _VALUE, _SETTINGS = "_CHECKPOINTABLE_OBJECT_GRAPH", "VARIABLE_VALUE", "OBJECT_CONFIG_JSON"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint of variables only: its prefix, and the key of each variable by the number of its object."""

    prefix: str
    keys: dict[int, str]

    def values(self, model: object, variables: list[object]) -> Iterator[tuple[object, Callable[[], object]]]:
        """Yield some variables of a model, each with the function that reads its value."""
        import tensorflow

        reader, chosen = tensorflow.train.load_checkpoint(self.prefix), {id(variable) for variable in variables}
        for number, thing in tensorflow.train.CheckpointView(self.prefix).match(model).items():
            if id(thing) in chosen:
                yield thing, partial(reader.get_tensor, self.keys[number])


def checkpoint_of(folder: Path) -> Checkpoint | None:
    """Return the checkpoint of a SavedModel; None if it is of TensorFlow 1, or holds more than variables."""
    import tensorflow
    from tensorflow.core.protobuf import trackable_object_graph_pb2

    prefix = folder / "variables" / "variables"
    if not prefix.with_suffix(".index").is_file():
        return None
    reader = tensorflow.train.load_checkpoint(str(prefix))
    if not reader.has_tensor(_OBJECTS):
        return None
    objects = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(_OBJECTS))
    entries = [
        (number, entry)
        for number, thing in enumerate(objects.nodes)
        for entry in thing.attributes
        if entry.name != _SETTINGS
    ]
    if any(entry.name != _VALUE for _, entry in entries):
        return None
    return Checkpoint(prefix=str(prefix), keys={number: entry.checkpoint_key for number, entry in entries})


def frozen(function: Any) -> tuple[Any, Any, dict[str, object]]:
    """Return a function with constants in place of variables, its graph, and its stored variables by name.

    A stored variable is an input of this name in the graph, and a constant without its value in the function.
    """
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    handles = {id(variable.handle): variable for variable in function.graph.variables if is_stored(variable)}
    stored = {inner.op.name: handles[id(outer)] for outer, inner in function.graph.captures if id(outer) in handles}
    with _without_values(function, handles):
        result = convert_variables_to_constants_v2(function, lower_control_flow=False)
    definition = result.graph.as_graph_def()
    for node in definition.node:
        if node.name in stored:
            _into_input(node)
    return result, definition, stored


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class _StandIn:
    """Stands for a variable whose value the conversion does not copy."""

    handle: object
    value: Array

    def numpy(self) -> Array:
        return self.value


@contextmanager
def _without_values(function: Any, stored: Mapping[int, object]) -> Iterator[None]:
    """Let TensorFlow write a single element in place of the values of stored variables."""
    from tensorflow.python.framework import convert_to_constants, tensor_util

    def constant(values: Any, dtype: object, shape: object) -> object:
        is_single = values.size > 1 and not any(values.strides)
        return tensor_util.make_tensor_proto(values.flat[0] if is_single else values, dtype, shape)

    variables = function.graph.variables
    stand_ins = [
        _StandIn(variable.handle, _unknown(variable)) if id(variable.handle) in stored else variable
        for variable in variables
    ]
    function.graph.variables = stand_ins
    convert_to_constants.tensor_util = SimpleNamespace(**vars(tensor_util) | {"make_tensor_proto": constant})
    try:
        yield
    finally:
        convert_to_constants.tensor_util = tensor_util
        function.graph.variables = variables


def _unknown(variable: Any) -> Array:
    """Return an array of the shape of a variable that holds a single element: NaN, or 0 for integers."""
    dtype = np.dtype(variable.dtype.as_numpy_dtype)
    return np.broadcast_to(np.array(0 if dtype.kind in "biu" else np.nan).astype(dtype), variable.shape.as_list())


def _into_input(node: Any) -> None:
    """Turn a constant into an input of the same type and shape."""
    node.op = "Placeholder"
    node.attr["shape"].shape.CopyFrom(node.attr["value"].tensor.tensor_shape)
    del node.attr["value"]


def nodes(definition: Any) -> Iterator[Any]:
    """Yield the nodes of a graph, those of functions included."""
    yield from definition.node
    for function in definition.library.function:
        yield from function.node_def


def size(variable: Any) -> int:
    """Return the bytes of a variable."""
    return int(variable.shape.num_elements() * variable.dtype.size)


def read(path: Path, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Return the graph of a file, and variables in place of its large constants, by their names.

    The values are in files of a folder. In the graph, the constants are operations without outputs.
    """
    from tensorflow.core.framework import graph_pb2

    with opened(path) as file, creating_stored(folder):
        data = mapped(file)
        try:
            return _read(data)
        except (IndexError, ValueError):  # of a broken message, whose error the parser names
            return graph_pb2.GraphDef.FromString(data[:]), {}


def _read(data: Data) -> tuple[object, dict[str, object]]:
    from tensorflow.core.framework import graph_pb2, node_def_pb2

    definition, variables = graph_pb2.GraphDef(), {}
    for number, start, value, end in wire_fields(data, 0, len(data)):
        if number == wire_number(definition, "node") and end - value >= memory.LARGE:
            node = node_def_pb2.NodeDef.FromString(data[value:end])
            variable = _variable(node)
            if variable is not None:
                variables[node.name] = variable
                node = node_def_pb2.NodeDef(name=node.name, op="NoOp", input=node.input)
            definition.node.append(node)
        else:
            definition.MergeFromString(data[start:end])
    return definition, variables


def _variable(node: Any) -> object:
    """Return a large constant as a variable; None for other nodes, and for text."""
    import tensorflow

    if node.op != "Const" or tensorflow.as_dtype(node.attr["dtype"].type) == tensorflow.string:
        return None
    value = tensorflow.make_ndarray(node.attr["value"].tensor)
    return tensorflow.Variable(value) if value.nbytes >= memory.LARGE else None
