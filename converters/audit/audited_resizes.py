"""The resizes of a file, each with the surroundings that an audit needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ir_interp.files.kinds import IN_FOLDERS, FileKind, expect
from ir_interp.ir.interpolates import layers
from ir_interp.ir.net import Layer
from ir_interp.resize_op import ResizeOp

from ..onnx.resize_nodes import FoundNode
from ..predictions import tensorrt_importer
from ..predictions.ranks import completed
from ..sources.tflite import tflite_files as of_tflite
from . import chosen_shapes, mistakes


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A resize, and its node in an ONNX model or its layer in an IR."""

    file: Path
    op: ResizeOp
    mistakes: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    node: FoundNode | None = None
    layer: Layer | None = None


def of_file(path: Path, lengths: chosen_shapes.Shapes) -> list[Found]:
    """Return the resizes of a file, its inputs in these shapes; those of a program as PyTorch exports them.

    Raises ReadError for an unreadable file, and for a shape that an input cannot have.
    """
    if FileKind.of(path) is not FileKind.PROGRAM:
        return list(found(path, chosen_shapes.chosen(path, lengths)))
    from ..sources.programs.exported_models import exported

    with exported(path, f"{path.stem}{FileKind.ONNX.value}") as program:
        return [_of_program(each, path) for each in of_file(program.model, lengths)]


def _of_program(resize: Found, path: Path) -> Found:
    """Return a resize of an exported model at its line of Python."""
    from ..sources.programs.exported_models import of_python

    line = of_python(resize.node)[0] if resize.node else ""
    return replace(resize, file=path, op=replace(resize.op, where=f"{path.name}:{line}"))


def found(path: Path, lengths: chosen_shapes.Shapes) -> Iterator[Found]:
    """Yield the resizes of a model whose inputs have the given shapes. Raises ReadError if it cannot be read."""
    kind = expect(path, *IN_FOLDERS)
    if kind is FileKind.TFLITE:
        for op in of_tflite.load(path):
            yield Found(file=path, op=op, mistakes=tuple(mistakes.of_resize(op)), remarks=())
    elif kind is FileKind.ONNX:
        for node in completed(path, chosen_shapes.nodes(path, lengths)):
            dla = tensorrt_importer.remarks(node.op)
            yield Found(file=path, op=node.op, node=node, mistakes=tuple(mistakes.of_node(node)), remarks=dla)
    else:
        with chosen_shapes.reshaped(path, lengths) as reshaped:
            for net, layer, op in layers(reshaped):
                dla, likely = tensorrt_importer.layer_remarks(op), tuple(mistakes.of_layer(net, layer, op))
                yield Found(file=path, op=op, layer=layer, mistakes=likely, remarks=dla)
