"""One resize in an ONNX graph: a Resize where that computes the same, else primitive operations."""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from ir_interp.op import ResizeOp

from ..decompose.resize import decompose
from ..report import Row
from .graph import Graph
from .half import read_by
from .native import OneResize, is_long_as_inferred, native
from .primitives import Primitives


def resized(graph: Graph, resize: ResizeOp, x: str, target: str) -> tuple[str, Row]:
    """Return ``x`` resized, and what became of it.

    ``target`` is the tensor of sizes or scales where they are known only at run time. By a Resize where that is exact
    and onnxruntime runs it, else by primitive operations. Raises InexactError where neither is.
    """
    since = len(graph.nodes)
    output, row = _resized(graph, resize, x, target)
    graph.exact |= read_by(graph.nodes[since:])
    return output, row


def _resized(graph: Graph, resize: ResizeOp, x: str, target: str) -> tuple[str, Row]:
    name = resize.name or resize.where
    made, why = native(resize, graph.opset)
    if made is not None and not is_long_as_inferred(resize):
        made, why = None, "ONNX's shape inference makes another length of the scales than float32 does"
    if made is not None:
        row = Row(name=name, source=resize, form=made.form, grade=made.grade)
        return inlined(graph, made, {"x": x, "sizes": target, "scales": target}), row
    parts = decompose(Primitives(graph), x, resize, target=target or None)
    row = Row(name=name, source=resize, form=parts.form, grade=parts.grade, note=why)
    return (str(parts.output) if parts.output != x else graph.node("Identity", x)), row


def inlined(graph: Graph, made: OneResize, tensors: dict[str, str]) -> str:
    """Add the nodes and constants of a model, its inputs replaced by ``tensors``; return its output."""
    for tensor in made.model.graph.initializer:
        tensors[tensor.name] = graph.constant(np.asarray(numpy_helper.to_array(tensor)))
    for node in made.model.graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        names = [tensors[name] if name else "" for name in node.input]
        tensors[node.output[0]] = graph.node(node.op_type, *names, **attributes)
    return tensors["y"]
