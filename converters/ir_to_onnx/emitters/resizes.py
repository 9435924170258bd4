"""Interpolate, through what the project knows of resizes: Resize where it computes the same, else primitives."""

from __future__ import annotations

from dataclasses import replace

from ir_interp.ir.dialect import DIALECT
from ir_interp.ir.resizes import read_layer
from ir_interp.spec import AtRunTime

from ...onnx.graph import Graph
from ...onnx.resize import resized
from .. import tensors
from ..op import Op


def _interpolate(graph: Graph, op: Op) -> str:
    resize = replace(read_layer(op.net, op.layer, op.conversion.semantics), dtype=op.dtype())
    op.read.update(DIALECT.vocabulary, (name for name, _ in DIALECT.numbers.values()))
    target = ""
    if resize.spec.target is AtRunTime.SIZES:
        target = tensors.int64(graph, op, 1)
    elif resize.spec.target is AtRunTime.SCALES:
        target = op.inputs[1 if resize.version == 11 else 2]
    made, row = resized(graph, resize, op.inputs[0], target)
    op.conversion.rows.append(row)
    return made


TABLE = {"Interpolate": _interpolate}
