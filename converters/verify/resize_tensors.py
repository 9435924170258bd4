"""The resizes of a model, and the names of their input and output tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ir_interp.files.kinds import FileKind
from ir_interp.resize_op import ResizeOp


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeTensors:
    """A resize of a model with the names of its tensors; ``inputs`` holds data, and sizes, scales, roi if present."""

    op: ResizeOp
    inputs: Mapping[str, str]
    output: str


def is_model(path: Path) -> bool:
    """Return whether a file is a model, not settings or a pasted layer."""
    if FileKind.of(path) is FileKind.IR:
        from ir_interp.ir.xml import parse

        return parse(path).tag == "net"
    return FileKind.of(path) is FileKind.ONNX


def resizes_with_tensors(model: Path) -> list[ResizeTensors]:
    """Return the resizes of the main graph of a model (.onnx, .xml), in the order of the file."""
    if FileKind.of(model) is FileKind.ONNX:
        from ..onnx import resize_nodes as of_onnx

        tensors = of_onnx.resizes_with_tensors(model)
    else:
        from ir_interp.ir import interpolates as of_ir

        tensors = of_ir.resizes_with_tensors(model)
    return [ResizeTensors(op=op, inputs=inputs, output=output) for op, inputs, output in tensors]
