"""A single resize that is not part of a model, such as a pasted layer or one of a .json, as an ONNX model."""

from __future__ import annotations

from pathlib import Path

from ir_interp.errors import InexactError
from ir_interp.resize_op import ResizeOp

from ..onnx.graph import Graph
from ..reports.conversion_report import Row
from .native import ends, native
from .onnx_save import Unsaved, save
from .resize_subgraph import resized

_OLDEST_PRIMITIVES = 11  # Range, Round and GatherElements came with it
_PRIMITIVES = 13
"""The default operator set of primitive operations: old enough for every runtime."""


def write_resize(op: ResizeOp, output: Path, opset: int | None = None) -> Row:
    """Write a model of only ``op``; see ``resize_model``."""
    model, row = resize_model(op, opset)
    save(model, output)
    return row


def resize_model(op: ResizeOp, opset: int | None = None) -> tuple[Unsaved, Row]:
    """Return a model of only ``op``: by Resize in the newest version that can express it, else by primitives.

    Inputs are x, and sizes or scales if they are known only at run time; the output is y. Raises InexactError
    if neither is exact.
    """
    name = op.name or op.where
    single, why = native(op, opset)
    if single is not None:
        row = Row(name=name, source=op, form=single.form, grade=single.grade, within=single.within)
        return Unsaved(model=single.model, constants={}), row
    if opset is not None and opset < _OLDEST_PRIMITIVES:
        raise InexactError(name, f"onnx {opset}", reason=why)
    return _primitives(op, opset or _PRIMITIVES)


def _primitives(op: ResizeOp, opset: int) -> tuple[Unsaved, Row]:
    graph = Graph(opset=opset, layer=op.name or "resize")
    *inputs, output = ends(op)
    names = [graph.fresh(tensor.name) for tensor in (*inputs, output)]
    result, row = resized(graph, op, names[0], names[1] if len(inputs) > 1 else "")
    graph.rename(result, output.name)
    graph.name_nodes(0)
    return graph.model(op.name or "resize", inputs, [output]), row
