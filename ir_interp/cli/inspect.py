"""``ir-interp inspect``: a summary of a model, and the formula and diagnostics of every resize in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp.cli.flags import with_options
from ir_interp.cli.folding import folded, name_lines, place
from ir_interp.cli.invocation import print_result, printed_form
from ir_interp.diagnostic_codes import RULES
from ir_interp.errors import ReadError
from ir_interp.files.kinds import WITH_RESIZES, FileKind, listed
from ir_interp.ir.interpolates import load_known
from ir_interp.ir.net import Layer
from ir_interp.options.resize_options import InspectOptions
from ir_interp.resize_op import ResizeOp
from ir_interp.views import describe
from ir_interp.views.describe import count
from ir_interp.views.marks import OF_SEVERITY

if TYPE_CHECKING:
    from ir_interp.cli.inspect_records import InspectRecord, OperationRecord, UnknownRecord
    from ir_interp.cli.terminal import Cell, Console
    from ir_interp.converters.sources.brief import Brief

EXAMPLES = """
ir-interp inspect model.onnx
ir-interp inspect model.xml --json
ir-interp inspect layer.xml --semantics document
"""
Unknown = tuple[Layer, ReadError]
"""A layer of which the file does not tell enough, and why."""
_UNITS = ("bytes", "KiB", "MiB", "GiB")


@with_options(InspectOptions)
def inspect(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help=f"A model or layers: {listed(WITH_RESIZES)}.",
        ),
    ],
    options: InspectOptions,
) -> None:
    """Summarise a model and list its resizes.

    Without its .bin file, an IR shows only what the .xml holds.
    """
    from ir_interp.converters.sources.model_summary import brief

    form, model = printed_form(options), brief(file)
    if model and FileKind.of(file) is FileKind.IR:
        resizes, unknown = load_known(file, options.semantics)
    else:
        resizes, unknown = ir_interp.load(file, semantics=options.semantics), []
    shown = (file, model, resizes, unknown)
    print_result(form, lambda: _record(*shown), lambda: _show(*shown))


def _record(file: Path, model: Brief | None, resizes: list[ResizeOp], unknown: list[Unknown]) -> InspectRecord:
    return {
        "file": str(file),
        "model": model.record() if model else None,
        "resizes": list(map(_resize, resizes)),
        "unknown": list(map(_unknown, unknown)),
    }


def _resize(op: ResizeOp) -> OperationRecord:
    return {
        "name": op.name,
        "where": op.where,
        "dialect": op.dialect,
        "version": op.version,
        "shape": op.shape,
        "dtype": op.dtype,
        "target": op.spec.resized_to,
        "formula": describe.formula(op.spec),
        "arithmetic": op.spec.arithmetic.value,
        "diagnostics": [{"code": diagnostic.code, "message": diagnostic.message} for diagnostic in op.diagnostics],
    }


def _unknown(refusal: Unknown) -> UnknownRecord:
    layer, error = refusal
    return {"name": layer.name, "where": layer.where, "attributes": layer.attributes, "problem": error.problem}


def _show(file: Path, model: Brief | None, resizes: list[ResizeOp], unknown: list[Unknown]) -> None:
    from ir_interp.cli.terminal import Console

    console = Console()
    if model:
        _show_model(console, file, model)
    rows = [*map(_row, resizes), *map(_unknown_row, unknown)]
    columns = ("resize", "input", "target", "computes")
    cells: list[tuple[Cell, ...]] = [((*name_lines(names), rest[0]), *rest[1:]) for names, rest in folded(rows)]
    console.table(columns, cells, title=f"{count(len(rows), 'resize')} in {file.name}")
    diagnostics = ((op.where, diagnostic) for op in resizes for diagnostic in op.diagnostics)
    for places, diagnostic in folded(diagnostics):
        console.mark(f"{place(places)}: {diagnostic}", OF_SEVERITY[RULES[diagnostic.code].severity])


def _show_model(console: Console, file: Path, model: Brief) -> None:
    tensors, size = model.weights
    operations = ", ".join(f"{name} {times}" for name, times in model.operations.items())
    console.say(file.name, "bold")
    console.pairs(
        [
            ("format", f"{model.format}; {', '.join(model.operator_sets) or 'no operator set'}"),
            *((name, str(tensor)) for name, tensor in zip(_once("input", model.inputs), model.inputs, strict=True)),
            *((name, str(tensor)) for name, tensor in zip(_once("output", model.outputs), model.outputs, strict=True)),
            ("operations", f"{sum(model.operations.values())}" + (f": {operations}" if operations else "")),
            ("weights", f"{count(tensors, 'tensor')}, {_size(size)}"),
            ("files", ", ".join(f"{name} {_file_size(size)}" for name, size in model.files.items())),
        ]
    )


def _once(name: str, things: tuple[object, ...]) -> list[str]:
    """Return the name of each of some things, where it is not that of the one before."""
    return [name if place == 0 else "" for place, _ in enumerate(things)]


def _size(size: int) -> str:
    """Return a number of bytes as ``4.5 MiB``."""
    power = min((size.bit_length() - 1) // 10 if size else 0, len(_UNITS) - 1)
    return f"{size / 1024**power:.4g} {_UNITS[power]}"


def _file_size(size: int | None) -> str:
    return "(missing)" if size is None else f"({_size(size)})"


def _row(op: ResizeOp) -> tuple[str, tuple[str, ...]]:
    cells = (describe.shape_text(op.shape), op.spec.resized_to, describe.formula(op.spec))
    return op.name or op.where, (f"{op.dialect} {op.version}", *cells)


def _unknown_row(refusal: Unknown) -> tuple[str, tuple[str, ...]]:
    """Return what is known of a layer of which the rest may be in a .bin that is not there."""
    layer, error = refusal
    shape = layer.inputs[0].shape if layer.inputs else None
    attributes = ", ".join(f"{name}={value}" for name, value in layer.attributes.items())
    cells = (describe.shape_text(shape), f"not known: {error.problem}", attributes)
    return layer.name or layer.where, (f"openvino opset{layer.version}", *cells)
