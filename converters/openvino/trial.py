"""Show a model that is no valid ONNX to OpenVINO's frontend in a process of its own first: it may die of it."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import onnx
import onnx.shape_inference
from openvino.frontend import FrontEndManager

from ir_interp.errors import ReadError
from ir_interp.files.scratch import scratch

from ..onnx.inference import without_weights
from ..onnx.native import invalid
from ..onnx.onnx_files import external_files
from ..workers.child import started

_SECONDS = 30.0


def check(source: Path, model: onnx.ModelProto) -> None:
    """Raise ReadError where a model is not valid, and the frontend dies of it, or does not end."""
    problem = invalid(without_weights(model), full=False).rstrip(".")
    if problem and (end := _end(source)):
        raise ReadError(f"it is not valid ONNX: {problem}; OpenVINO's frontend {end} of it", source.name)


def _end(source: Path) -> str:
    """Return how the frontend comes to its end with a file; nothing where it takes or refuses it."""
    files, silent = [source, *external_files(source)], subprocess.DEVNULL
    streams: dict[str, Any] = {"stdout": silent, "stderr": silent}
    with scratch() as folder:
        where = str(source.absolute())
        with started(__name__, where, folder=folder, seconds=_SECONDS, files=files, **streams) as child:
            try:
                return "dies" if child.wait(_SECONDS) else ""
            except subprocess.TimeoutExpired:
                return f"makes nothing in {_SECONDS:g} s"


if __name__ == "__main__":
    frontend = FrontEndManager().load_by_framework("onnx")
    with suppress(Exception):
        frontend.convert(frontend.load(sys.argv[1]))
