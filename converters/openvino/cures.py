"""Changes to an ONNX model that OpenVINO's frontend refuses, after which it accepts it: each with the message it cures.

A cure keeps the model's results, and the names of its inputs and outputs. Constructs that the frontend reads wrongly
and silently are changed before it sees the model: ``fill_empties``.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import helper

from ..onnx.node_walk import defined, graphs, needed, rename_read, with_inner
from ..onnx.resize_nodes import OPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Cure:
    """A message of the frontend, and the change to the model that cures it."""

    message: str
    apply: Callable[[onnx.ModelProto], None]


def cure_for(problem: str) -> Cure | None:
    """Return the cure of a problem, if there is one."""
    return next((cure for cure in CURES if cure.message in problem), None)


# Loops


def simplify_loops(model: onnx.ModelProto) -> None:
    """Lift unchanged carried values out of every Loop, and drop unused ones.

    The frontend counts a variable twice if a body returns it unchanged, and ignores one named like a tensor outside.
    """
    fresh = _Names(model.graph)
    for graph in list(graphs(model.graph)):
        # From the last: insertions then move no node that is still to be visited.
        for place in reversed(range(len(graph.node))):
            if graph.node[place].op_type == "Loop":
                for node in reversed(list(_simplify(graph.node[place], graph, fresh))):
                    graph.node.insert(place + 1, node)


class _Names:
    """Unused tensor names of a model."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        self.taken = {name for inner in graphs(graph) for name in defined(inner)}

    def __call__(self, name: str) -> str:
        number = 1
        while f"{name}_{number}" in self.taken:
            number += 1
        self.taken.add(f"{name}_{number}")
        return f"{name}_{number}"


def _simplify(loop: onnx.NodeProto, around: onnx.GraphProto, fresh: _Names) -> Iterator[onnx.NodeProto]:
    """Change a Loop; yield the nodes that copy its values that need no computation."""
    body = next(attribute.g for attribute in loop.attribute if attribute.name == "body")
    used = {value.name for value in around.output} | {name for node in with_inner(around.node) for name in node.input}
    places, carried = [], len(loop.input) - 2
    for place in range(carried):
        entry, result = body.input[2 + place].name, body.output[1 + place].name
        start, final = loop.input[2 + place], loop.output[place] if place < len(loop.output) else ""
        # The value never changes: the body may read the one from outside.
        if _source(body, result) == entry:
            rename_read(body, entry, start)
            if final in used:
                yield helper.make_node("Identity", [start], [final], name=fresh(final))
        # A value that only computes itself is never seen.
        elif final in used or entry in _read(body, without=result):
            places.append(place)
    finals = [loop.output[place] if place < len(loop.output) else "" for place in places]
    _replace(loop.output, [*finals, *loop.output[carried:]])
    _replace(loop.input, [*loop.input[:2], *(loop.input[2 + place] for place in places)])
    _replace(body.output, [body.output[0], *(body.output[1 + place] for place in places), *body.output[1 + carried :]])
    _replace(body.input, [*body.input[:2], *(body.input[2 + place] for place in places)])
    _replace(body.node, needed(body.node, [value.name for value in body.output]))
    _tell_apart(body, fresh)


def _source(body: onnx.GraphProto, name: str) -> str:
    """Return the tensor that a tensor is a copy of."""
    sources = {node.output[0]: node.input[0] for node in body.node if node.op_type == "Identity"}
    while name in sources:
        name = sources[name]
    return name


def _read(body: onnx.GraphProto, without: str) -> set[str]:
    """Return the tensors that the outputs of a body depend on, except one of them."""
    read = {value.name for value in body.output if value.name != without}
    return read | {name for node in with_inner(needed(body.node, read)) for name in node.input}


def _tell_apart(body: onnx.GraphProto, fresh: _Names) -> None:
    """Give the inputs of a body unique names, and produce each of its outputs by a separate node."""
    for value in body.input:
        name = fresh(value.name)
        rename_read(body, value.name, name)
        value.name = name
    outputs = {name for node in body.node for name in node.output}
    for value in body.output:
        if value.name in outputs:
            outputs.remove(value.name)
            continue
        name = fresh(value.name)
        body.node.append(helper.make_node("Identity", [value.name], [name], name=name))
        value.name = name


def _replace(entries: Any, others: Iterable[Any]) -> None:
    """Replace the entries of a repeated field."""
    copies = [copy.deepcopy(other) for other in others]  # deleting an entry invalidates it
    del entries[:]
    entries.extend(copies)


# Constants without elements


def has_empties(model: onnx.ModelProto) -> bool:
    """Return whether a model holds a constant without elements."""
    return any(
        any(map(_is_empty, graph.initializer)) or any(_constant_is_empty(node) for node in graph.node)
        for graph in graphs(model.graph)
    )


def fill_empties(model: onnx.ModelProto) -> None:
    """Let nodes produce the constants without elements, which the frontend would turn into a 0.

    Those that only resizes read stay: they are omitted inputs.
    """
    fresh = _Names(model.graph)
    for graph in reversed(list(graphs(model.graph))):  # inner ones first: replacing copies a node with its subgraphs
        others = [node for node in with_inner(graph.node) if node.op_type not in OPS]
        read = {name for node in others for name in node.input} | {value.name for value in graph.output}
        read -= {value.name for value in graph.input}  # which are no constants
        empties = [weight for weight in graph.initializer if weight.name in read and _is_empty(weight)]
        nodes = [node for empty in empties for node in _filled(empty.name, empty, fresh)]
        for node in graph.node:
            empty = _constant_is_empty(node) and node.output[0] in read
            nodes += _filled(node.output[0], node.attribute[0].t, fresh) if empty else [node]
        if len(nodes) > len(graph.node):
            names = {empty.name for empty in empties}
            _replace(graph.node, nodes)
            _replace(graph.initializer, [weight for weight in graph.initializer if weight.name not in names])


def _constant_is_empty(node: onnx.NodeProto) -> bool:
    return node.op_type == "Constant" and any(_is_empty(attribute.t) for attribute in node.attribute)


def _is_empty(tensor: onnx.TensorProto) -> bool:
    return 0 in tensor.dims and tensor.data_type != onnx.TensorProto.STRING


def _filled(name: str, empty: onnx.TensorProto, fresh: _Names) -> Iterator[onnx.NodeProto]:
    """Yield nodes that produce a tensor of the same shape and type."""
    lengths = fresh(f"{name}/lengths")
    dims = helper.make_tensor(lengths, onnx.TensorProto.INT64, [len(empty.dims)], list(empty.dims))
    zero = onnx.TensorProto(
        data_type=empty.data_type,
        dims=[1],
        raw_data=bytes(int(helper.tensor_dtype_to_np_dtype(empty.data_type).itemsize)),
    )
    yield helper.make_node("Constant", [], [lengths], name=lengths, value=dims)
    yield helper.make_node("ConstantOfShape", [lengths], [name], name=fresh(name), value=zero)


CURES = (Cure(message="loop body graph canonical inputs size", apply=simplify_loops),)
