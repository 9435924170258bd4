"""Models audited with chosen input shapes, and the reasons why a resize was not run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import onnx

from ir_interp.errors import IrInterpError, ReadError, closest
from ir_interp.files.kinds import FOREIGN, FileKind
from ir_interp.files.scratch import scratch
from ir_interp.resize_op import ResizeOp

from ..onnx.onnx_files import calls_functions, inlined, read_outline
from ..onnx.resize_nodes import ResizeNode, UnreadNode, known_nodes
from ..runtimes.openvino_saving import save_model
from ..runtimes.telemetry import openvino_silent
from ..sources.model_summary import brief
from ..verify.graphs import ModelInput, read, shape_text
from ..verify.run.input_shapes import fits, named

Shapes = Mapping[str, tuple[int, ...]]


def chosen(path: Path, shapes: Shapes) -> dict[str, tuple[int, ...]]:
    """Return the chosen shapes of a model's inputs. Raises ReadError for a shape that an input cannot have."""
    inputs = read(path).inputs if shapes else ()
    by_name = named(inputs, shapes)
    return {tensor.name: _fitting(tensor, by_name[tensor.name], path) for tensor in inputs if tensor.name in by_name}


def _fitting(tensor: ModelInput, shape: tuple[int, ...], path: Path) -> tuple[int, ...]:
    if fits(shape, tensor.lengths):
        return shape
    raise ReadError(f"shape {list(shape)} does not fit; {tensor.text}", path.name)


def nodes(path: Path, shapes: Shapes) -> tuple[list[ResizeNode], list[UnreadNode]]:
    """Return the resizes of an ONNX model whose inputs have the chosen shapes, and those that cannot be read."""
    outline = read_outline(path)
    stated, calls = inlined(outline, path.name), calls_functions(outline)
    if not shapes:
        resizes, unread = known_nodes(stated, path)
        return [replace(node, calls_functions=calls) for node in resizes], unread
    model = onnx.ModelProto()
    model.CopyFrom(stated)
    for value in model.graph.input:
        for dim, size in zip(value.type.tensor_type.shape.dim, shapes.get(value.name, ()), strict=False):
            dim.dim_value = size
    del model.graph.value_info[:]  # shapes that an exporter recorded for the dynamic model
    for output in model.graph.output:
        output.type.tensor_type.ClearField("shape")
    before = {node.op.where: node.op for node in known_nodes(stated, path)[0]}
    resizes, unread = known_nodes(model, path)
    return [replace(node, dynamic=before.get(node.op.where), calls_functions=calls) for node in resizes], unread


@contextmanager
def reshaped(path: Path, shapes: Shapes) -> Iterator[Path]:
    """Yield an IR of the same name whose inputs have the chosen shapes; the file itself if there are none."""
    if FileKind.of(path) is not FileKind.IR or not shapes:
        yield path
        return
    with openvino_silent():
        import openvino

    with scratch() as folder:
        model = openvino.Core().read_model(path)
        try:
            model.reshape({name: list(shape) for name, shape in shapes.items()})
        except RuntimeError:  # OpenVINO's text holds C++ and places in its source
            listed = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
            raise ReadError(f"OpenVINO cannot reshape it to {listed}", path.name) from None
        save_model(model, folder / path.name)
        yield folder / path.name


def ran(op: ResizeOp, *, was_run: bool) -> str:
    """Return the shape on which a resize was run, or why it was not."""
    if was_run:
        return f"ran on {list(op.shape or ())}"
    if op.shape is None:
        return "not run: the rank of its input is unknown"
    if None in op.shape:
        return f"not run: its input is {shape_text(op.shape)}, choose sizes for its dynamic dimensions"
    return "not run: an input is known only at run time, its element type is not run, or no such runtime is installed"


def _names(path: Path) -> list[str]:
    """Return the names of the inputs of a model; conversions of foreign ones keep them."""
    foreign = brief(path) if FileKind.of(path) in FOREIGN else None
    return [tensor.name for tensor in (foreign or read(path)).inputs]


def check(paths: list[Path], shapes: Shapes) -> None:
    """Raise IrInterpError for a name that no input of any model has."""
    inputs: dict[str, None] = {}
    for path in paths:
        try:
            inputs |= dict.fromkeys(_names(path))
        except IrInterpError:
            continue
    for name in filter(None, shapes):
        if name not in inputs:
            raise IrInterpError(f"no input {name!r}; {closest(name, inputs)}")
