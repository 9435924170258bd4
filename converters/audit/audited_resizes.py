"""The resizes of a file, each with the surroundings that an audit needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ir_interp.files.kinds import DESCRIBED, IN_FOLDERS, FileKind, expect
from ir_interp.ir.interpolates import layers
from ir_interp.ir.net import Layer
from ir_interp.resize_op import ResizeOp

from ..onnx.resize_nodes import ResizeNode
from ..predictions import tensorrt_importer
from ..predictions.ranks import completed
from ..sources.readers import load
from . import chosen_shapes, mistakes
from .verdicts import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A resize, and its node in an ONNX model or its layer in an IR.

    One of a program has what its ``exporters`` make of it.
    """

    file: Path
    op: ResizeOp
    mistakes: tuple[tuple[str, str], ...]
    remarks: tuple[tuple[str, str], ...]
    node: ResizeNode | None = None
    layer: Layer | None = None
    exporters: Mapping[str, Verdict] = field(default_factory=dict)


def of_file(path: Path, shapes: chosen_shapes.Shapes, *, asks_exporters: bool = False) -> list[Found]:
    """Return the resizes of a file, its inputs in these shapes; those of a program as PyTorch exports them.

    With ``asks_exporters``, each resize of another framework's model is exported alone. Raises ReadError for an
    unreadable file, and for a shape that an input cannot have.
    """
    kind = FileKind.of(path)
    if kind is FileKind.PROGRAM:
        return _of_program(path, shapes, asks_exporters)
    resizes = found(path, chosen_shapes.chosen(path, shapes))
    if not asks_exporters or kind not in (FileKind.TFLITE, *DESCRIBED):
        return list(resizes)
    from .framework_exporters import of_model

    return [replace(resize, exporters=verdicts) for resize, verdicts in zip(resizes, of_model(path), strict=True)]


def _of_program(path: Path, shapes: chosen_shapes.Shapes, asks_exporters: bool) -> list[Found]:
    """Return the resizes of a program, each as it is in the exported model, or as it was if that has other nodes."""
    from ..sources.programs.exported_models import exported
    from .exporters import of_program

    with exported(path, f"{path.stem}{FileKind.ONNX.value}") as program:
        nodes = {node.op.name: node for node in of_file(program.model, shapes)}
        verdicts = of_program(program) if asks_exporters else {}
        resizes = []
        for resize in program.resizes:
            source = resize.source
            node = nodes.pop(resize.written.name, None) if resize.written else None
            matched = node or Found(file=path, op=source, mistakes=(), remarks=())
            op = replace(matched.op, where=source.where)
            resizes.append(replace(matched, file=path, op=op, exporters=verdicts.get(source.name, {})))
    return resizes


def found(path: Path, shapes: chosen_shapes.Shapes) -> Iterator[Found]:
    """Yield the resizes of a model whose inputs have the given shapes. Raises ReadError if it cannot be read."""
    kind = expect(path, *IN_FOLDERS, *DESCRIBED)
    if kind is FileKind.TFLITE or kind in DESCRIBED:
        for op in load(path):
            yield Found(file=path, op=op, mistakes=tuple(mistakes.of_resize(op)), remarks=())
    elif kind is FileKind.ONNX:
        for node in completed(path, chosen_shapes.nodes(path, shapes)):
            dla = tensorrt_importer.remarks(node.op)
            yield Found(file=path, op=node.op, node=node, mistakes=tuple(mistakes.of_node(node)), remarks=dla)
    else:
        with chosen_shapes.reshaped(path, shapes) as reshaped:
            for net, layer, op in layers(reshaped):
                dla, likely = tensorrt_importer.layer_remarks(op), tuple(mistakes.of_layer(net, layer, op))
                yield Found(file=path, op=op, layer=layer, mistakes=likely, remarks=dla)
