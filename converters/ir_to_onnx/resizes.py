"""Interpolate, through what the project knows of resizes."""

from __future__ import annotations

import numpy as np
from onnx import helper, numpy_helper

from converters import onnx_nodes
from converters.ir_to_onnx import forms
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.op import Op
from converters.report import Row
from ir_interp import ir_resizes
from ir_interp.spec import AtRunTime


def _interpolate(graph: Graph, op: Op) -> str:
    """Write Resize where it is exact and onnxruntime runs it. Raises InexactError where it has no exact form."""
    resize = ir_resizes.read_layer(op.net, op.layer, graph.semantics)
    made = onnx_nodes.one_op_model(resize, opset=graph.opset)
    note = onnx_nodes.runtime_note(resize.spec, resize.shape or (), op.dtype())
    if note:
        raise op.refusal(note)
    name = resize.name or resize.where
    graph.rows.append(Row(name=name, source=resize, form=made.form, grade=made.grade))
    tensors = {"x": op.inputs[0]}
    if resize.spec.target is AtRunTime.SIZES:
        tensors["sizes"] = forms.int64(graph, op, 1)
    elif resize.spec.target is AtRunTime.SCALES:
        tensors["scales"] = op.inputs[1 if resize.version == 11 else 2]
    return _grafted(graph, made, tensors)


def _grafted(graph: Graph, made: onnx_nodes.OneResize, tensors: dict[str, str]) -> str:
    """Take over the nodes and constants of a model, its inputs replaced."""
    for tensor in made.model.graph.initializer:
        tensors[tensor.name] = graph.constant(np.asarray(numpy_helper.to_array(tensor)))
    for node in made.model.graph.node:
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}
        names = [tensors[name] if name else "" for name in node.input]
        tensors[node.output[0]] = graph.node(node.op_type, *names, **attributes)
    return tensors["y"]


TABLE = {"Interpolate": _interpolate}
