"""Options for the reproduction of a runtime's fault."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import PATH, WORD

FAULT, KIT = "fault", "kit"
"""The places where an option has an effect: a fault of a runtime, the conformance kit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions:
    """The fault to show; ``ir_interp.reproduce`` documents the options."""

    kit: Path | None = shared.of_command_line(
        PATH, "Write a conformance kit for any runtime into this folder.", "--kit", metavar="FOLDER", places=(KIT,)
    )
    runtime: str | None = option(
        WORD,
        "Runtime to test: onnxruntime, openvino, reference, opencv-dnn, ...",
        "--runtime",
        complete="runners",
        places=(FAULT,),
    )
    layer: str | None = shared.layer(
        "Name of the resize. Default: the first that the runtime gets wrong.", "--layer", places=(FAULT,)
    )
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes(places=(FAULT,))
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    progress: shared.Progress = shared.progress()
