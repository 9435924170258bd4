"""``ir-interp reproduce``: a folder that shows what a runtime does wrong, or a conformance kit for any runtime."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypedDict

import typer

import ir_interp
from ir_interp.cli import json_schemas, progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import printed_form
from ir_interp.errors import IrInterpError
from ir_interp.options.declaration import check_place, keywords
from ir_interp.options.reproduce_options import FAULT, KIT, ReproduceOptions
from ir_interp.text.names import printable

EXAMPLES = """
ir-interp reproduce model.onnx fault --runtime openvino
ir-interp reproduce model.onnx fault --runtime mnn --layer up2 --shape x:1,3,64,64
ir-interp reproduce openvino:antialias fault
ir-interp reproduce --kit resizes
"""


class KitRecord(TypedDict):
    """A conformance kit in JSON: the number of cases, and of those in each group."""

    folder: str
    cases: int
    groups: dict[str, int]


@with_options(ReproduceOptions)
def reproduce(
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="A model (.onnx, .xml), or a known fault: openvino:antialias."),
    ] = None,
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="The folder to write; new or empty.")] = None,
    *,
    options: ReproduceOptions,
) -> None:
    """Write a minimal reproduction of a runtime's fault.

    FOLDER gets the smallest model that shows the fault, and a script that needs only NumPy and the runtime.

    With --kit, no model is needed: the kit has a few hundred small models with expected outputs.
    """
    form = printed_form(options)
    if options.kit is not None:
        _write_kit(options.kit, source, options, form)
        return
    check_place(options, FAULT, "without --kit")
    if source is None or folder is None:
        missing = "SOURCE and FOLDER are" if source is None else "FOLDER is"
        raise IrInterpError(f"{missing} missing, as in ir-interp reproduce model.onnx fault; or --kit FOLDER")
    with progress.bar(options.quiet) as report_progress:
        done = ir_interp.reproduce(source, folder, **keywords(replace(options, progress=report_progress)))
    if form == "json":
        print(json_schemas.printed(done.record()))
    elif form == "text":
        print(printable(f"{done.runtime}: {done.verdict}"))
        print(printable(f"{done.op.spec}; input {list(done.op.shape or ())}"))
        print(printable(f"wrote {folder}: model, input, expected, README.md; run reproduce.py there"))


def _write_kit(folder: Path, source: str | None, options: ReproduceOptions, form: str) -> None:
    """Write the conformance kit: models with expected outputs, and a runner."""
    if source is not None:
        raise IrInterpError(f"{source!r} has no effect with --kit, whose models are its own")
    check_place(options, KIT, "with --kit")
    with progress.bar(options.quiet, "writing"):
        written = ir_interp.kit(folder)
    if form == "json":
        record: KitRecord = {"folder": str(folder), "cases": written.count, "groups": dict(written.groups)}
        print(json_schemas.printed(record))
    elif form == "text":
        print(", ".join(f"{count} {group}" for group, count in written.groups.items()))
        print(printable(f"wrote {folder}: {written.count} cases; python {folder / 'run.py'} onnxruntime runs them"))
