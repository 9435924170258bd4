"""What the reproduction of a runtime's fault can be asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ir_interp.options import shared_options as shared
from ir_interp.options.declaration import option
from ir_interp.options.value_kinds import WORD


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproduceOptions:
    """What to show; ``ir_interp.reproduce`` says what each option means."""

    runtime: str | None = option(
        WORD, "Which one: onnxruntime, openvino, reference, opencv-dnn, ...", "--runtime", complete="runners"
    )
    layer: str | None = shared.layer("Name of the resize. Default: the first that it does not compute.", "--layer")
    shapes: Mapping[str, tuple[int, ...]] = shared.shapes()
    style: shared.Format | None = shared.style()
    as_json: bool = shared.as_json()
    quiet: bool = shared.quiet()
    progress: shared.Progress = shared.progress()
