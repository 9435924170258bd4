"""``ir-interp explain``: what a diagnostic means, or which pixels a resize uses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import ir_interp
from ir_interp import diagnostic_codes
from ir_interp.cli import json_schemas
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import print_result, printed_form
from ir_interp.errors import IrInterpError
from ir_interp.files.kinds import FileKind
from ir_interp.files.paths import exists, is_file
from ir_interp.library_registry import is_call
from ir_interp.options.declaration import check_place, keywords, options_set
from ir_interp.options.resize_options import PIPELINE, RESIZE, RULE, SCHEMA, ExplainOptions
from ir_interp.options.shared_options import named_layer
from ir_interp.pipelines import cpp_code, huggingface, openvino_preprocessor, source_code, torch_code
from ir_interp.pipelines.backends import CodeLanguage
from ir_interp.pipelines.pipeline_source import is_pipeline, with_backend
from ir_interp.views import describe
from ir_interp.views.explanation import AxisTable, Cell, Explanation

if TYPE_CHECKING:
    from ir_interp.cli.terminal import Console

EXAMPLES = """
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
        print(json.dumps(json_schemas.of_command(subject), indent=2))
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
    print_result(form, explanation.record, lambda: _show(explanation, options.every))


def _check_subject(name: str) -> None:
    """Raise IrInterpError for a word that is neither a path nor a library call."""
    if name == "-" or Path(name).suffix or is_call(name) or exists(Path(name)):
        return
    if json_schemas.is_command(name):
        raise IrInterpError(f"{name!r} is a command; add --schema for the schema of its JSON")
    expected = "expected one, as in model.onnx, IRI001 or ViTImageProcessor:pil"
    raise IrInterpError(f"no file, code or class {name!r}{huggingface.class_hint(name) or f'; {expected}'}")


def _is_preprocessed(path: Path, options: ExplainOptions) -> bool:
    """Say whether to explain the head of an IR: it takes uint8 images, and no option asks for a resize."""
    if FileKind.of(path) is not FileKind.IR or not is_file(path):
        return False
    is_of_resize = any(PIPELINE not in option.places for option in options_set(options) if option.places)
    return not is_of_resize and openvino_preprocessor.takes_images(path)


def _explain_rule(rule: diagnostic_codes.Rule, as_json: bool) -> None:
    if as_json:
        print(json_schemas.printed(asdict(rule) | {"severity": rule.severity.value}))
        return
    from ir_interp.cli.terminal import Console

    console = Console()
    console.say(f"{rule.code} ({rule.severity.value}): {rule.summary}", "bold")
    for line in ("", rule.story, "", f"What to do: {rule.remedy}", "", f"Tested by tests/{rule.test}"):
        console.say(line)


_WRITERS = {
    CodeLanguage.NUMPY: source_code.numpy,
    CodeLanguage.OPENCV: source_code.opencv,
    CodeLanguage.CPP: cpp_code.cpp,
    CodeLanguage.TORCH: torch_code.torch,
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


def _show(explanation: Explanation, every: bool) -> None:
    from ir_interp.cli.terminal import Console

    console, op = Console(), explanation.op
    for line in (
        f"{op.name or op.where} ({op.dialect} {op.version}), input {describe.shape_text(explanation.shape)}",
        describe.summary(op.spec),
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
