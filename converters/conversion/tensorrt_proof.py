"""The check that TensorRT accepts a result, if its importer and builder are installed; no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ir_interp.errors import VerificationError
from ir_interp.files.kinds import FileKind
from ir_interp.options.model_options import ConvertOptions
from ir_interp.resize_op import ResizeOp
from ir_interp.translation.dialect import Context
from ir_interp.translation.meaning import first_difference

from .. import tensorrt_importer
from ..dialects.tensorrt import DIALECT
from ..onnx.onnx_files import read_file
from ..onnx.resize_nodes import OPS
from ..sources.readers import load
from ..tensorrt import LayerSettings
from ..tensorrt_importer import Answer, Layer


def accepted(source: Path, result: Path, destination: Path, options: ConvertOptions) -> list[str]:
    """Return notes about TensorRT's answer to a result that is written for it; none for other results.

    Raises VerificationError if TensorRT refuses a written node or layer, or would compute another resize.
    """
    if not options.verify or not tensorrt_importer.is_installed():
        return []
    if options.target == DIALECT.name:
        return [f"{destination.name}: {_model(source, result, destination.name)}"]
    if FileKind.of(result) is FileKind.JSON and (options.dialect or DIALECT.name) == DIALECT.name:
        return [f"{destination.name}: {_layers(result, destination.name)}"]
    return []


def _model(source: Path, result: Path, name: str) -> str:
    answer = tensorrt_importer.imported(result)
    after = read_file(result).graph.node
    # Of a source of another kind, every node is written anew, and TensorRT may lack operators that are no resizes.
    old = read_file(source).graph.node if FileKind.of(source) is FileKind.ONNX else after
    before = [node.SerializeToString() for node in old]
    for refusal in answer.refusals:
        known = after[refusal.node].SerializeToString() if 0 <= refusal.node < len(after) else None
        if refusal.operator in OPS or (known is not None and known not in before):
            raise VerificationError(f"{name}: {answer.by} refuses what was written: {refusal}; please report it")
    if answer.refusals:
        return f"{answer.by} refuses another node: {answer.refusal}"
    meanings = {op.name: op for op in load(result)}
    compared = [_compared(answer, op, layer.settings, name) for op, layer in _pairs(meanings, answer)]
    compared_text = f"; {_count(len(compared))} of static shape as written" if compared else ""
    return f"{answer.by} takes it{compared_text}"


def _pairs(meanings: dict[str, ResizeOp], answer: Answer) -> Iterator[tuple[ResizeOp, Layer]]:
    """Yield each node of static shape with the layer of the same name."""
    for layer in answer.resizes:
        op = meanings.get(layer.settings.name) or meanings.get(layer.settings.name.removeprefix("node_of_"))
        if op is not None and op.shape is not None and None not in op.shape and not op.spec.waits:
            yield op, layer


def _compared(answer: Answer, op: ResizeOp, layer: LayerSettings, name: str) -> ResizeOp:
    shape = tuple(size or 0 for size in op.shape or ())
    difference = first_difference(op.spec, layer.op.spec, shape)
    if difference:
        raise VerificationError(f"{name}: {op.name}: {answer.by} would compute another resize: {difference}")
    return op


def _count(layers: int) -> str:
    return "1 resize layer" if layers == 1 else f"{layers} resize layers"


def _layers(result: Path, name: str) -> str:
    answers = [(op, tensorrt_importer.built(_settings(op))) for op in load(result) if op.shape is not None]
    for op, answer in answers:
        if answer.refusals:
            raise VerificationError(f"{name}: {op.name}: {answer.by} refuses the layer: {answer.refusal}")
    release = answers[0][1].by if answers else "TensorRT"
    return f"{release} builds {_count(len(answers))}"


def _settings(op: ResizeOp) -> LayerSettings:
    context = Context(version=op.version, shape=op.shape, dtype=op.dtype)
    return LayerSettings(name=op.name, attributes=DIALECT.complete(op.attributes, op.version), context=context)
