"""Ranks that ONNX's shape inference does not find, but OpenVINO's frontend does."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ir_interp.errors import IrInterpError
from ir_interp.resize_op import ResizeOp

from ..onnx.resize_nodes import ResizeNode


def completed(path: Path, resizes: Sequence[ResizeNode]) -> list[ResizeNode]:
    """Return the resizes of a model; if a rank is unknown, inputs are as the conversion to IR knows them."""
    if all(node.op.shape is not None for node in resizes):
        return list(resizes)
    seen = _seen_by_openvino(path)
    return [
        replace(node, op=replace(node.op, shape=seen[node.op.name].shape))
        if node.op.shape is None and node.op.name in seen
        else node
        for node in resizes
    ]


def _seen_by_openvino(path: Path) -> dict[str, ResizeOp]:
    """Return the resizes that a conversion meets, by name; none if it refuses the model."""
    from ..openvino.from_onnx import build

    with suppress(IrInterpError, ExceptionGroup):
        return {row.name: row.source for row in build(path).rows}
    return {}
