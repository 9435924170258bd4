"""``ir-interp reproduce``: a folder that shows what a runtime does wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import progress
from ir_interp.cli.flags import with_options
from ir_interp.cli.invocation import printed_form
from ir_interp.options.declaration import keywords
from ir_interp.options.reproduce_options import ReproduceOptions
from ir_interp.text.names import shown

EXAMPLES = """
Examples:

  ir-interp reproduce model.onnx fault --runtime openvino

  ir-interp reproduce model.onnx fault --runtime mnn --layer up2 --shape x:1,3,64,64

  ir-interp reproduce openvino:antialias fault
"""


@with_options(ReproduceOptions)
def reproduce(
    source: Annotated[str, typer.Argument(help="A model (.onnx, .xml), or a known fault: openvino:antialias.")],
    folder: Annotated[Path, typer.Argument(help="The folder to write; it must not be there, or be empty.")],
    options: ReproduceOptions,
) -> None:
    """Write the smallest model that shows what an installed runtime does wrong, and a script that needs only that."""
    form = printed_form(options)
    with progress.bar(options.quiet) as report_progress:
        done = ir_interp.reproduce(source, folder, **keywords(replace(options, progress=report_progress)))
    if form == "json":
        print(json.dumps(done.record(), indent=2))
    elif form == "text":
        print(shown(f"{done.runtime}: {done.verdict}"))
        print(shown(f"{done.op.spec}; input {list(done.op.shape or ())}"))
        print(shown(f"wrote {folder}: model, input, expected, README.md; run reproduce.py there"))
