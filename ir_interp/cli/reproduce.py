"""``ir-interp reproduce``: a folder that shows what a runtime does wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

import ir_interp
from ir_interp.cli import options, progress
from ir_interp.text.names import shown

EXAMPLES = """
Examples:

  ir-interp reproduce model.onnx fault --runtime openvino

  ir-interp reproduce model.onnx fault --runtime mnn --layer up2 --shape x:1,3,64,64

  ir-interp reproduce openvino:antialias fault
"""


def _runtimes(incomplete: str) -> list[str]:
    from ir_interp.converters.runtimes.running import RUNNERS

    return [name for name in RUNNERS if name.startswith(incomplete)]


def reproduce(
    source: Annotated[str, typer.Argument(help="A model (.onnx, .xml), or a known fault: openvino:antialias.")],
    folder: Annotated[Path, typer.Argument(help="The folder to write; it must not be there, or be empty.")],
    runtime: Annotated[
        str | None,
        typer.Option(help="Which one: onnxruntime, openvino, reference, opencv-dnn, ...", autocompletion=_runtimes),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="Name of the resize. Default: the first that it does not compute.")
    ] = None,
    shape: options.InputShapes = None,
    style: options.Style = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
) -> None:
    """Write the smallest model that shows what an installed runtime does wrong, and a script that needs only that."""
    form = options.style(style, as_json, quiet)
    with progress.bar(quiet) as report_progress:
        done = ir_interp.reproduce(
            source,
            folder,
            runtime=runtime,
            layer=layer,
            shapes=options.shapes(shape or []),
            progress=report_progress,
        )
    if form == "json":
        print(json.dumps(done.record(), indent=2))
    elif form == "text":
        print(shown(f"{done.runtime}: {done.verdict}"))
        print(shown(f"{done.op.spec}; input {list(done.op.shape or ())}"))
        print(shown(f"wrote {folder}: model, input, expected, README.md; run reproduce.py there"))
