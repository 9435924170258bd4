"""Interpolate, by the project's own model of resizes: Resize if it computes the same, else primitives."""

from __future__ import annotations

from dataclasses import replace

from ir_interp.ir.interpolate_dialect import DIALECT
from ir_interp.ir.interpolates import read_layer
from ir_interp.spec import AtRunTime

from ...onnx.graph import Graph
from ...onnx.resize_subgraph import resized
from .. import layer_inputs, padded_resizes
from ..layer import Op


def _interpolate(graph: Graph, op: Op) -> str:
    resize = replace(read_layer(op.net, op.layer, op.conversion.semantics), dtype=op.dtype())
    padded_resizes.check(op, resize)
    op.read.update(DIALECT.vocabulary, (name for name, _ in DIALECT.numbers.values()))
    target = ""
    if isinstance(resize.spec.target, AtRunTime):
        in_sizes = resize.spec.target is AtRunTime.SIZES
        place = 1 if in_sizes or resize.version == 11 else 2
        op.port(place)  # an error where no edge leads to it
        target = layer_inputs.int64(graph, op, place) if in_sizes else op.inputs[place]
    output, row = resized(graph, resize, op.inputs[0], target)
    op.conversion.rows.append(row)
    return output


TABLE = {"Interpolate": _interpolate}
