"""A resize that is no part of a model, a pasted layer or one of a .json, as an ONNX model."""

from __future__ import annotations

from pathlib import Path

from onnx import helper, numpy_helper

from converters import onnx_nodes
from converters.ir_to_onnx.graph import Graph
from converters.ir_to_onnx.resizes import resized
from converters.report import Row
from ir_interp.errors import InexactError, ShapeError
from ir_interp.op import ResizeOp

_DECOMPOSED = 13
"""The operator set of primitive operations where none is asked for: old enough for every runtime."""


def write_resize(op: ResizeOp, output: Path, opset: int | None = None) -> Row:
    """Write a model of nothing but ``op``: by Resize in the newest version that can say it, else by primitives.

    Inputs are x, and sizes or scales where they are known only at run time; the output is y.
    """
    try:
        row = onnx_nodes.write_resize(op, output, opset=opset)
        why = row.note
    except InexactError as refusal:
        why = refusal.reason
    return row if not why else _write_primitives(op, output, opset)
