"""``ir-interp inspect``, ``explain`` and ``plot``: resizes of a file, pixels that one uses, and pictures of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp import diagnostic_codes, resize_op
from ir_interp.cli import printed_results
from ir_interp.cli.command_line import with_options
from ir_interp.cli.printed_results import (
    PlotRecord,
    folded,
    name_lines,
    place,
    print_result,
    printed_form,
    report_written,
)
from ir_interp.converters.sources.model_description import Brief
from ir_interp.diagnostic_codes import RULES
from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.kinds import WITH_RESIZES, FileKind, listed
from ir_interp.files.writing import exists, is_file
from ir_interp.ir.interpolates import load_known
from ir_interp.ir.ir_files import Layer
from ir_interp.libraries import is_call
from ir_interp.options.declaration import check_place, keywords, options_set
from ir_interp.options.resize_options import PIPELINE, RESIZE, RULE, SCHEMA, ExplainOptions, InspectOptions, PlotOptions
from ir_interp.options.shared_options import named_layer
from ir_interp.pipelines import huggingface, pipeline_source, source_code
from ir_interp.pipelines.pipeline_source import is_pipeline, with_backend
from ir_interp.pipelines.rules import CodeLanguage
from ir_interp.records import Record
from ir_interp.resize_op import ResizeOp, count
from ir_interp.translation.translate import OF_SEVERITY
from ir_interp.views.explanation import AxisTable, Cell, Explanation
from ir_interp.views.figures import Picture

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console, TableCell


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Record):
    """A layer that cannot be read without its .bin, and why."""

    KEYS = ("layer.name", "layer.where", "layer.attributes", "error.problem")

    layer: Layer
    error: ReadError


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspected(Record):
    """A file and its resizes; ``model`` is None for single layers."""

    file: Path
    model: Brief | None
    resizes: list[ResizeOp]
    unknown: list[Unknown]


INSPECT_EXAMPLES = """
ir-interp inspect model.onnx
ir-interp inspect model.xml --json
ir-interp inspect layer.xml --semantics document
"""
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
        resizes, others = load_known(file, options.semantics)
    else:
        resizes, others = ir_interp.load(file, semantics=options.semantics), []
    unknown = [Unknown(layer=layer, error=error) for layer, error in others]
    inspected = Inspected(file=file, model=model, resizes=resizes, unknown=unknown)
    print_result(form, inspected, lambda: _show(inspected))


def _show(inspected: Inspected) -> None:
    from ir_interp.cli.terminal import Console

    console = Console()
    if inspected.model:
        _show_model(console, inspected.file, inspected.model)
    rows = [*map(_row, inspected.resizes), *map(_unknown_row, inspected.unknown)]
    columns = ("resize", "input", "target", "computes")
    cells: list[tuple[TableCell, ...]] = [((*name_lines(names), rest[0]), *rest[1:]) for names, rest in folded(rows)]
    console.table(columns, cells, title=f"{count(len(rows), 'resize')} in {inspected.file.name}")
    diagnostics = ((op.where, diagnostic) for op in inspected.resizes for diagnostic in op.diagnostics)
    for places, diagnostic in folded(diagnostics):
        console.mark(f"{place(places)}: {diagnostic}", OF_SEVERITY[RULES[diagnostic.code].severity])


def _show_model(console: Console, file: Path, model: Brief) -> None:
    operations = ", ".join(f"{name} {times}" for name, times in model.operations.items())
    console.say(file.name, "bold")
    console.pairs(
        [
            ("format", f"{model.format}; {', '.join(model.operator_sets) or 'no operator set'}"),
            *((name, str(tensor)) for name, tensor in zip(_once("input", model.inputs), model.inputs, strict=True)),
            *((name, str(tensor)) for name, tensor in zip(_once("output", model.outputs), model.outputs, strict=True)),
            ("operations", f"{sum(model.operations.values())}" + (f": {operations}" if operations else "")),
            ("weights", f"{count(model.weights.tensors, 'tensor')}, {_size(model.weights.bytes)}"),
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
    cells = (resize_op.shape_text(op.shape), op.spec.resized_to, op.formula)
    return op.name or op.where, (f"{op.dialect} {op.version}", *cells)


def _unknown_row(refusal: Unknown) -> tuple[str, tuple[str, ...]]:
    """Return what is known of a layer of which the rest may be in a .bin that is not there."""
    layer = refusal.layer
    shape = layer.inputs[0].shape if layer.inputs else None
    attributes = ", ".join(f"{name}={value}" for name, value in layer.attributes.items())
    cells = (resize_op.shape_text(shape), f"not known: {refusal.error.problem}", attributes)
    return layer.name or layer.where, (f"openvino opset{layer.version}", *cells)


EXPLAIN_EXAMPLES = """
ir-interp explain IRI002
ir-interp explain model.onnx --layer up2
ir-interp explain layer.xml --shape 1,3,5,7 --sizes 7,9 --all
ir-interp explain preprocessor_config.json --backend torchvision
ir-interp explain CLIPImageProcessor:pil
"""
_ROWS = 8  # of an axis, where not all are asked for
_TAPS = 6  # shown of one output


@with_options(ExplainOptions)
def explain(
    subject: Annotated[
        str,
        typer.Argument(
            metavar="SUBJECT", help="A code (IRI001), a file with a resize, a configuration, a class or a command."
        ),
    ],
    options: ExplainOptions,
) -> None:
    """Explain a finding, a resize or a preprocessing pipeline.

    A code: its meaning and remedy. A resize: the source pixels and weights of each output pixel. A configuration, or a
    class of Hugging Face: its steps, as text or source code.
    """
    form = printed_form(options)
    if options.schema:
        check_place(options, SCHEMA, "with --schema")
        print(json.dumps(printed_results.schema_of_command(subject), indent=2))
        return
    if options.every and form == "json":
        raise IrInterpError("--all has no effect on JSON, which holds every output")
    if re.fullmatch(r"[A-Za-z]+\d+", subject):
        check_place(options, RULE, "on a code; it goes with the file of a resize")
        _explain_rule(diagnostic_codes.find(subject), form == "json")
        return
    name, backend = with_backend(subject)
    if huggingface.is_class(name) or is_pipeline(Path(name)) or _is_preprocessed(Path(name), options):
        check_place(options, PIPELINE, "on a configuration; it goes with the file of a resize")
        if options.code and form == "json":
            raise IrInterpError("--code has no effect with --json")
        if backend and options.backend:
            raise IrInterpError(f"--backend has no effect on {subject}, which names its backend")
        source = {"image_processor_type": name} if huggingface.is_class(name) else name
        pipeline = ir_interp.pipeline(source, backend=backend or options.backend)
        _explain_pipeline(pipeline, form == "json", options.code)
        return
    _check_subject(name)
    check_place(options, RESIZE, "on a resize; it goes with a configuration")
    explanation = ir_interp.explain(subject, **keywords(options) | named_layer(options.layer, options.shape))
    print_result(form, explanation, lambda: _show_tables(explanation, options.every))


def _check_subject(name: str) -> None:
    """Raise IrInterpError for a word that is neither a path nor a library call."""
    if name == "-" or Path(name).suffix or is_call(name) or exists(Path(name)):
        return
    if printed_results.prints_json(name):
        raise IrInterpError(f"{name!r} is a command; add --schema for the schema of its JSON")
    expected = "expected one, as in model.onnx, IRI001 or ViTImageProcessor:pil"
    raise IrInterpError(f"no file, code or class {name!r}{huggingface.class_hint(name) or f'; {expected}'}")


def _is_preprocessed(path: Path, options: ExplainOptions) -> bool:
    """Say whether to explain the head of an IR: it takes uint8 images, and no option asks for a resize."""
    if FileKind.of(path) is not FileKind.IR or not is_file(path):
        return False
    is_of_resize = any(PIPELINE not in option.places for option in options_set(options) if option.places)
    return not is_of_resize and pipeline_source.takes_images(path)


def _explain_rule(rule: diagnostic_codes.Rule, as_json: bool) -> None:
    if as_json:
        print(printed_results.printed_json(rule))
        return
    from ir_interp.cli.terminal import Console

    console = Console()
    console.say(f"{rule.code} ({rule.severity.value}): {rule.summary}", "bold")
    for line in ("", rule.story, "", f"What to do: {rule.remedy}", "", f"Tested by tests/{rule.test}"):
        console.say(line)


_WRITERS = {
    CodeLanguage.NUMPY: source_code.numpy,
    CodeLanguage.OPENCV: source_code.opencv,
    CodeLanguage.CPP: source_code.cpp,
    CodeLanguage.TORCH: source_code.torch,
}


def _explain_pipeline(pipeline: ir_interp.Pipeline, as_json: bool, language: CodeLanguage | None) -> None:
    if as_json or language:
        print(_WRITERS[language](pipeline) if language else pipeline.json(), end="" if language else "\n")
        return
    from ir_interp.cli.terminal import Console

    console = Console()
    console.say(pipeline.name or "pipeline", "bold")
    for number, line in enumerate(pipeline.text.splitlines(), 1):
        console.say(f"{number}. {line}")
    console.say(pipeline.alpha.text)


def _show_tables(explanation: Explanation, every: bool) -> None:
    from ir_interp.cli.terminal import Console

    console, op = Console(), explanation.op
    for line in (
        f"{op.name or op.where} ({op.dialect} {op.version}), input {resize_op.shape_text(explanation.shape)}",
        resize_op.summary(op.spec),
        *(f"{diagnostic}" for diagnostic in op.diagnostics),
    ):
        console.say(line)
    if not explanation.axes:
        console.say("no axis changes: the input is copied")
    for table in explanation.axes:
        _show_axis(console, table, every)


def _show_axis(console: Console, axis: AxisTable, every: bool) -> None:
    outs = " or ".join(dict.fromkeys(map(str, axis.out_sizes)))
    differing = axis.differing
    columns = ("output", *(", ".join(axis.names(column)) for column in axis.columns))
    rows = [
        (f"{'* ' if index in differing else ''}{index}", *map(_text, axis.cells(index)))
        for index in _chosen(axis, differing, every)
    ]
    console.table(columns, rows, title=f"axis {axis.axis}: {axis.in_size} -> {outs}")
    console.say(_summary(axis, len(differing), every))


def _chosen(axis: AxisTable, differing: Iterable[int], every: bool) -> list[int]:
    """Return which outputs to show: all, or those that differ and then the first and last ones."""
    count = max(axis.out_sizes)
    if every:
        return list(range(count))
    places = list(differing)[:_ROWS]
    # Rows that differ come first; the rest shows both borders, where readings usually differ.
    ends = sorted({*range(min(count, _ROWS // 2)), *range(max(0, count - _ROWS // 2), count)} - {*places})
    return places + ends[: _ROWS - len(places)]


def _summary(axis: AxisTable, differing: int, every: bool) -> str:
    count = max(axis.out_sizes)
    verdict = f"* {differing} of {count} outputs differ" if differing else f"{count} outputs, the same in every column"
    return verdict + ("" if every or count <= _ROWS else "; --all shows every one")


def _text(cell: Cell | None) -> str:
    """Return a cell as ``1.25: 1 x 0.75, 2 x 0.25``; a copied pixel as ``1.25: 1``."""
    if cell is None:
        return "beyond the end"
    source = f"{cell.source:.8g}"
    if cell.weights is None:
        return f"{source}: outside"
    if list(cell.weights.values()) == [1.0]:
        return f"{source}: {next(iter(cell.weights))}"
    taps = [f"{pixel} x {weight:.4g}" for pixel, weight in cell.weights.items()]
    more = f", and {len(taps) - _TAPS} more" if len(taps) > _TAPS else ""
    return f"{source}: {', '.join(taps[:_TAPS]) or 'nothing'}{more}"


PLOT_EXAMPLES = """
ir-interp plot model.onnx up.png --layer up2
ir-interp plot layer.xml matrix.png --what weights --axis 2
ir-interp plot layer.xml changed.png --what image --against document --input photo.png
"""


@with_options(PlotOptions)
def plot(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file with the resize, as inspect takes it.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="The .png or .svg file to write.")],
    options: PlotOptions,
) -> None:
    """Plot where a resize samples and how it weighs.

    --what image compares an image under two definitions.
    """
    printed_form(options)  # which refuses options that exclude each other
    if options.axis is not None and options.what is Picture.IMAGE:
        raise IrInterpError("--axis has no effect on an image, which shows two")
    check_place(options, options.what.value, f"on {options.what.value}; it goes with --what image")
    with printed_results.progress_bar(options.quiet, "drawing"):
        ir_interp.plot(file, output, **keywords(options) | named_layer(options.layer, options.shape))
    report_written(PlotRecord(source=str(file), destination=str(output), what=options.what.value), options)


COMMANDS = {
    "explain": (explain, EXPLAIN_EXAMPLES),
    "inspect": (inspect, INSPECT_EXAMPLES),
    "plot": (plot, PLOT_EXAMPLES),
}
"""The functions of the commands and their examples, by name."""
