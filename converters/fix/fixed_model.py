"""An ONNX model in which likely mistakes are fixed, and every other byte is as before."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper

from ir_interp.errors import InexactError, ReadError, VerificationError, closest
from ir_interp.resize_op import ResizeOp

from ..audit import mistakes
from ..onnx.graph import Graph
from ..onnx.native import invalid
from ..onnx.node_walk import graphs
from ..onnx.onnx_files import default_opset, read_file
from ..onnx.resize_nodes import ResizeNode, UnreadNode, given_names, known_nodes
from ..portable.portable_model import edit, taken_names, with_resizes_in_sight
from ..portable.portable_resize import Edit
from .remedies import CODES, Remedy, remedies

Wanted = Callable[[str], bool]
"""Returns whether mistakes of a code are to be fixed."""
_ATTRIBUTE = 7  # the version whose scales are an attribute


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedResize:
    """A resize and its changes; ``output`` is the tensor that it produces."""

    op: ResizeOp
    output: str
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairedModel:
    """The repaired resizes of a model, and the errors of resizes that cannot be read, which stay as they are."""

    repaired: tuple[RepairedResize, ...]
    unread: tuple[ReadError, ...]


def write_fixed(source: Path, output: Path, is_wanted: Wanted, layers: Sequence[str] = ()) -> RepairedModel:
    """Write a model without the selected mistakes; if it has none, the file is copied.

    ``layers`` are the names of the resizes to fix, all if empty. Raises ReadError for a name that no resize has, an
    ExceptionGroup of InexactError if some mistakes cannot be fixed.
    """
    model = with_resizes_in_sight(read_file(source), source.name)
    original = model.SerializeToString(deterministic=True)
    graph = taken_names(model, default_opset(model, source.name))
    edits, repaired, refusals = [], [], []
    resizes, others = known_nodes(model, source)
    unread = tuple(node.error for node in others)
    if layers:
        _check_names(layers, [resize.op.name for resize in resizes], others, source.name)
    for resize in resizes:
        if layers and resize.op.name not in layers:
            continue
        codes = {code for code, _ in mistakes.of_node(resize) if code in CODES and is_wanted(code)}
        try:
            chosen = remedies(resize, codes)
        except InexactError as refusal:
            refusals.append(refusal)
            continue
        if chosen:
            edits.append(_edit(resize, chosen, graph))
            repaired.append(RepairedResize(op=resize.op, output=resize.node.output[0], remedies=tuple(chosen)))
    if refusals:
        raise ExceptionGroup(f"{source.name} has mistakes that cannot be fixed", refusals)
    if not edits:
        shutil.copyfile(source, output)
        return RepairedModel(repaired=(), unread=unread)
    before = _nodes(model, edits)
    edit(model, graph, edits)
    output.write_bytes(model.SerializeToString(deterministic=True))
    _check(source, output, original, before, set(graph.initialisers))
    return RepairedModel(repaired=tuple(repaired), unread=unread)


def _check_names(layers: Sequence[str], names: Sequence[str], unread: Sequence[UnreadNode], where: str) -> None:
    """Raise ReadError for a name that no resize has, or one that cannot be read."""
    for name in layers:
        if name not in names:
            for node in unread:
                if node.name == name:
                    raise node.error
            raise ReadError(f"no resize {name!r}; {closest(name, names)}", where)


def _edit(resize: ResizeNode, chosen: Sequence[Remedy], graph: Graph) -> Edit:
    """Return a node with other attributes, and another constant of scales."""
    node = onnx.NodeProto()
    node.CopyFrom(resize.node)
    for remedy in chosen:
        for name, value in remedy.attributes.items():
            _set(node, name, value)
    scales = [remedy.scales for remedy in chosen if remedy.scales is not None][-1:]
    for values in scales:
        if resize.op.version == _ATTRIBUTE:
            _set(node, "scales", list(values))
        else:
            place = 1 + given_names(resize.op.version).index("scales")
            node.input[place] = graph.constant(values, np.float32, name=f"{resize.op.name}/scales")
    return Edit(graph=resize.values.graph, depth=resize.values.depth, output=node.output[0], nodes=[node])


def _set(node: onnx.NodeProto, name: str, value: object) -> None:
    """Set an attribute in its place, or append it."""
    copy = helper.make_attribute(name, value)
    for attribute in node.attribute:
        if attribute.name == name:
            attribute.CopyFrom(copy)
            return
    node.attribute.append(copy)


_Place = tuple[int, str]
"""A graph, by its number among those of a model, and the output tensor of a node in it."""


def _nodes(model: onnx.ModelProto, edits: Sequence[Edit]) -> dict[_Place, onnx.NodeProto]:
    """Return copies of the nodes that edits replace."""
    nodes = {}
    for number, graph in enumerate(graphs(model.graph)):
        outputs = {edit.output for edit in edits if edit.graph is graph}
        for node in graph.node:
            for output in outputs & set(node.output):
                nodes[number, output] = onnx.NodeProto.FromString(node.SerializeToString())
    return nodes


# Checks of the result


def _check(source: Path, output: Path, original: bytes, before: dict[_Place, onnx.NodeProto], added: set[str]) -> None:
    """Undo the intended changes in the written file, and require the model that was read, byte for byte.

    Raises VerificationError if anything else has changed, or the result is not valid and its source was.
    """
    model = read_file(output)
    for number, graph in enumerate(graphs(model.graph)):
        others = [node for node in graph.node if not (node.op_type == "Constant" and added.issuperset(node.output))]
        nodes = [before.get((number, next(iter(node.output), "")), node) for node in others]
        _replace(graph.node, nodes)
        _replace(graph.initializer, [tensor for tensor in graph.initializer if tensor.name not in added])
    if model.SerializeToString(deterministic=True) != original:
        raise VerificationError(f"{source.name}: the result would differ in more than its resizes; nothing was written")
    problem = invalid(output)
    if problem and not invalid(source):
        raise VerificationError(f"{source.name}: the result would not be valid ONNX: {problem}; nothing was written")


def _replace(field: Any, messages: Sequence[Any]) -> None:
    """Replace the messages of a repeated field."""
    copies = [type(message).FromString(message.SerializeToString()) for message in messages]
    del field[:]
    field.extend(copies)
