"""Show a model that is no valid ONNX to OpenVINO's frontend in a process of its own first: it may die of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import onnx
import onnx.shape_inference
from openvino.frontend import FrontEndManager

from ir_interp.errors import ReadError
from ir_interp.files.memory import allow_files

from ..onnx.inference import without_weights
from ..onnx.native import invalid
from ..onnx.onnx_files import external_files
from ..workers.worker import Died, Late, Question, Worker

_SECONDS = 30.0


def check(source: Path, model: onnx.ModelProto) -> None:
    """Raise ReadError where a model is not valid, and the frontend dies of it, or does not end."""
    problem = invalid(without_weights(model), full=False).rstrip(".")
    if problem and (end := _end(source)):
        raise ReadError(f"it is not valid ONNX: {problem}; OpenVINO's frontend {end} of it", source.name)


def _end(source: Path) -> str:
    """Return how the frontend comes to its end with a file; nothing where it takes or refuses it."""
    files = [source, *external_files(source)]
    question = Question(function=f"{__name__}:take", setting=files, limit=_SECONDS, attempts=1)
    with closing(Worker()) as worker:
        answer = worker.answer(question, str(source.absolute()))
    if isinstance(answer, Late):
        return f"makes nothing in {_SECONDS:g} s"
    return "dies" if isinstance(answer, Died) else ""


def take(source: str, files: Sequence[Path]) -> None:
    """Let the frontend take a file, in this process, or refuse it."""
    allow_files(*files)
    frontend = FrontEndManager().load_by_framework("onnx")
    with suppress(Exception):
        frontend.convert(frontend.load(source))
