"""Interpolate, through what the project knows of resizes: Resize where it computes the same, else primitives."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from onnx import helper, numpy_helper

from converters import onnx_nodes
from converters.decompose import decompose
from converters.ir_to_onnx import forms
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op
from converters.ir_to_onnx.primitives import Primitives
from converters.report import Row
from ir_interp import ir_resizes
from ir_interp.op import ResizeOp
from ir_interp.spec import AtRunTime


def _interpolate(graph: Graph, op: Op) -> str:
    resize = replace(ir_resizes.read_layer(op.net, op.layer, graph.semantics), dtype=op.dtype())
    target = ""
    if resize.spec.target is AtRunTime.SIZES:
        target = forms.int64(graph, op, 1)
    elif resize.spec.target is AtRunTime.SCALES:
        target = op.inputs[1 if resize.version == 11 else 2]
    return resized(graph, resize, op.inputs[0], target)


def resized(graph: Graph, resize: ResizeOp, x: str, target: str) -> str:
    """Return ``x`` resized; ``target`` is the tensor of sizes or scales where they are known only at run time.

    By a Resize where that is exact and onnxruntime runs it, else by primitive operations; a row of the graph says
    which. Raises InexactError where neither is.
    """
    name = resize.name or resize.where
    made, why = onnx_nodes.native(resize, graph.opset)
    if made is not None and not onnx_nodes.is_long_as_inferred(resize):
        made, why = None, "ONNX's shape inference makes another length of the scales than float32 does"
    if made is not None:
        graph.rows.append(Row(name=name, source=resize, form=made.form, grade=made.grade))
        return grafted(graph, made, {"x": x, "sizes": target, "scales": target})
    parts = decompose(Primitives(graph), x, resize, target=target or None)
    graph.rows.append(Row(name=name, source=resize, form=parts.form, grade=parts.grade, note=why))
    return str(parts.output) if parts.output != x else graph.node("Identity", x)


def grafted(graph: Graph, made: onnx_nodes.OneResize, tensors: dict[str, str]) -> str:
    """Take over the nodes and constants of a model, its inputs replaced."""
    for tensor in made.model.graph.initializer:
        tensors[tensor.name] = graph.constant(np.asarray(numpy_helper.to_array(tensor)))
    for node in made.model.graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        names = [tensors[name] if name else "" for name in node.input]
        tensors[node.output[0]] = graph.node(node.op_type, *names, **attributes)
    return tensors["y"]


TABLE = {"Interpolate": _interpolate}
