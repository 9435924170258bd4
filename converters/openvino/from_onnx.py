"""Whole ONNX models to IR: OpenVINO's own frontend reads the model, our converters replace its own for every resize.

First, changes to a model that the frontend refuses, after which it accepts it: each with the message it cures. A cure
keeps the model's results, and the names of its inputs and outputs. Constructs that the frontend reads wrongly and
silently are changed before it sees the model: ``fill_empties``. Ties are decided as ONNX decides them: the order of
equal values, and overlaps of exactly the threshold. The frontend leaves both to OpenVINO, and the results of a
detector depend on them: scores of 1 are frequent.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
import openvino.opset13 as ops
from onnx import helper

from ir_interp.errors import UnsupportedLayerError
from ir_interp.files.snapshots import snapshot
from ir_interp.files.writing import scratch
from ir_interp.translation.dialect import Semantics

from ..onnx import low_precision, neighbours
from ..onnx.onnx_files import (
    default_opset,
    defined,
    files_inside,
    graphs,
    inlined,
    load_weights,
    needed,
    read_file,
    read_model,
    rename_read,
    with_inner,
)
from ..onnx.resize_nodes import OPS, nodes, placed
from ..reports import FormPolicy
from . import frontends
from .frontends import Builder, Built
from .openvino_primitives import nodes_of, number_anew, settle_integers


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


_OVERLAP = 3  # the input of NonMaxSuppression that is its threshold
_TO_NEXT = np.float32(2**-24 * (1 + 2**-23))  # of 1, half a last place and a bit: the sum rounds up, never to even
_LEAST = np.finfo(np.float32).smallest_normal  # the plugin takes values between 0 and this for 0


def settle_ties(model: ov.Model) -> list[ov.Node]:
    """Change a model from the frontend in place; return the nodes whose constants must stay exact."""
    exact: list[ov.Node] = []
    for node in list(nodes_of(model)):
        match node.get_type_name():
            case "TopK":
                # ONNX TopK-11 takes the lower index of equal values; without an order in the source, any is valid.
                if node.get_attributes()["sort"] == "none":  # then OpenVINO has no ties to decide
                    node.set_attribute("sort", "value")
                node.set_attribute("stable", True)
            case "NonMaxSuppression":
                exact += _keep_at_threshold(node)
    return exact


def _keep_at_threshold(node: ov.Node) -> list[ov.Node]:
    """Suppress overlaps above a threshold (ONNX NonMaxSuppression-11); OpenVINO suppresses from the threshold on.

    So it gets the next float32 number. That is a sum, whatever the threshold: a share of it that is a bit more than
    half the distance to the next number, and never more than all of it. Returns the nodes whose constants must stay
    exact for that.
    """
    threshold = node.input_value(_OVERLAP)
    share = ops.multiply(threshold, ops.constant(_TO_NEXT))
    above = ops.maximum(ops.add(threshold, share), ops.constant(_LEAST))
    node.input(_OVERLAP).replace_source_output(above.output(0))
    return [node, share, above]


def build(source: Path, semantics: Semantics = Semantics.RUNTIME, policy: FormPolicy | None = None) -> Built:
    """Return an ONNX model as an OpenVINO model; one in half precision as float32 between its ends.

    The frontend loses more of half precision than the model does: it computes parts of it in advance. A
    model of quantised operators is built of plain ones between quantisations, since the frontend reads some wrongly.
    Raises an ExceptionGroup of InexactError, one for each resize without an exact form; UnsupportedLayerError if
    OpenVINO's frontend refuses the rest of the model, ReadError if it dies of it.
    """
    names = {output: op.name for op, output in placed(source, semantics)}  # first: reports unreadable files
    if semantics is Semantics.OBSERVED:
        neighbours.check_observed(nodes(source))
    read = read_model(source)
    frontends.check_onnx_frontend(source, read)
    opset = default_opset(read, source.name)
    lone = _fed_to_lone_resizes(read)

    def builder() -> Builder:
        return Builder(
            file=source.name, opset=opset, semantics=semantics, policy=policy or FormPolicy(), lone=lone, names=names
        )

    with scratch() as folder:
        path = _without_functions(source, folder)
        path = low_precision.in_plain_operators(path, folder) if low_precision.quantised_operators(read) else path
        # Each of these steps writes another file, and only if the model needs it.
        path = _with_empties(path, folder) if has_empties(read) else path
        # A file of the user could be swapped; missing external data are reported here.
        path = snapshot(folder / "source", source, *files_inside(source)) if path == source else path
        halves = low_precision.is_half(path)
        path = low_precision.in_float32(path, folder, keeps_ends=True) if halves else path
        try:
            built = _converted(path, builder())
        except UnsupportedLayerError as refusal:
            # A cure changes the model, so it is tried only after a refusal.
            cure = cure_for(str(refusal.__cause__))
            if cure is None:
                raise
            built = _converted(_cured(path, cure, folder), builder())
        keep_metadata(built.model, read)
        return replace(built, halves=halves)


def _without_functions(source: Path, folder: Path) -> Path:
    """Return a model without local functions, which the frontend does not read: itself, or a copy with its weights."""
    model = read_file(source)
    if not model.functions:
        return source
    return _saved(load_weights(inlined(model, source.name), source), folder / "inlined.onnx")


def _with_empties(source: Path, folder: Path) -> Path:
    """Write a model in which no constant is empty, with its weights; return its path."""
    model = load_weights(read_file(source), source)
    fill_empties(model)
    return _saved(model, folder / "filled.onnx")


def _cured(source: Path, cure: Cure, folder: Path) -> Path:
    """Write a refused model in a form that the frontend may accept, with its weights; return its path."""
    model = load_weights(read_file(source), source)
    cure.apply(model)
    return _saved(model, folder / "cured.onnx")


def _saved(model: onnx.ModelProto, path: Path) -> Path:
    """Write a model, its larger weights beside it; return its path."""
    beside = path.with_suffix(".bin").name
    onnx.save(model, str(path), save_as_external_data=True, location=beside, size_threshold=2**20)
    return path


def _converted(source: Path, builder: Builder) -> Built:
    """Return the frontend's result for a file, with our converters for its resizes."""
    try:
        model = builder.read(OPS, source)
    except UnsupportedLayerError as refusal:
        if _OPTIMIZED not in refusal.problem:
            raise
        raise UnsupportedLayerError(refusal.problem + _ADVICE, refusal.where) from refusal.__cause__
    settled = settle_integers(model, builder.nodes())
    new_nodes = [*settled.nodes, *settle_ties(model)]
    number_anew(model)  # after the last new node, and before nodes are identified by their names
    exact = builder.nodes() | {node.get_friendly_name() for node in new_nodes}
    return Built(model=model, rows=builder.rows(), exact=exact)


def _fed_to_lone_resizes(model: onnx.ModelProto) -> frozenset[str]:
    """Return the inputs of a model that a resize takes whose result is an output."""
    ends = {value.name for value in model.graph.output}
    taken = {node.input[0] for node in model.graph.node if node.op_type in OPS and node.output[0] in ends}
    return frozenset(taken & {value.name for value in model.graph.input})


_OPTIMIZED = "com.microsoft.nchwc."  # the domain of operators that onnxruntime writes for the current processor
_ADVICE = "; onnxruntime optimized it for one kind of processor; convert the model that it was optimized from"


_FRAMEWORK = "framework"
_SECTIONS = ("model_info", "runtime_options")
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold."""


def keep_metadata(model: ov.Model, source: onnx.ModelProto) -> None:
    """Copy the source's metadata into a model: its name, docs, metadata, and layouts and further names of its ends.

    The last are in the metadata of models that were IRs; the frontend copies metadata unchanged, and no name.
    """
    entries = {entry.key: _UNFIT.sub("\ufffd", entry.value) for entry in source.metadata_props}
    if source.graph.name:
        model.set_friendly_name(source.graph.name)
    ends = {name: end for end in (*model.inputs, *model.outputs) for name in end.names}
    for name, layout in _by_name(entries.pop("layouts", "")).items():
        if name in ends and isinstance(layout, str):
            with suppress(RuntimeError):  # none, or of another rank
                ends[name].node.set_layout(ov.Layout(layout))
    for name, others in _by_name(entries.pop("tensor_names", "")).items():
        if name in ends and isinstance(others, list):
            ends[name].add_names({str(other) for other in others})
    docs = _UNFIT.sub("\ufffd", source.doc_string)
    with suppress(KeyError):
        del model.get_rt_info()[_FRAMEWORK]
    for key, text in (entries | ({"doc_string": docs} if docs else {})).items():
        section, _, rest = key.partition(".")
        model.set_rt_info(text, key.split(".") if section in _SECTIONS and rest else [_FRAMEWORK, key])


def _by_name(text: str) -> dict[str, object]:
    try:
        document = json.loads(text)
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}
