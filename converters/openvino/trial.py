"""Show a model to OpenVINO's frontend in a separate process first: it may crash."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path

import onnx
import onnx.shape_inference
from openvino.frontend import FrontEndManager

from ir_interp.errors import ReadError
from ir_interp.files.memory import allow_files
from ir_interp.files.paths import is_file

from ..onnx.inference import without_weights
from ..onnx.native import invalid
from ..onnx.onnx_files import external_files
from ..workers.worker import Died, Late, Question, Worker

_SECONDS = 30.0
_BYTES_A_SECOND = 2**24  # of weights, on a slow disk


def check(source: Path, model: onnx.ModelProto) -> None:
    """Raise ReadError if a model is not valid, and the frontend crashes on it, or does not finish."""
    problem = invalid(without_weights(model), full=False).rstrip(".")
    if problem and (end := _end("onnx", source, *external_files(source))):
        raise ReadError(f"it is not valid ONNX: {problem}; OpenVINO's frontend {end}", source.name)


def check_frontend(source: Path, framework: str, *others: Path) -> None:
    """Raise ReadError if a frontend crashes on a file, which may have ``others`` beside it, or does not finish."""
    if end := _end(framework, source, *others):
        raise ReadError(f"OpenVINO's frontend {end}", source.name)


def _end(framework: str, source: Path, *others: Path) -> str:
    """Return how a frontend fails on a file; empty if it accepts or refuses it."""
    files = [source, *others]
    limit = _SECONDS + sum(file.stat().st_size for file in files if is_file(file)) / _BYTES_A_SECOND
    question = Question(function=f"{__name__}:take", setting=(framework, files), limit=limit, attempts=1)
    with closing(Worker()) as worker:
        answer = worker.answer(question, str(source.absolute()))
    if isinstance(answer, Late):
        return f"does not finish in {limit:.3g} s"
    return "crashes on it" if isinstance(answer, Died) else ""


def take(source: str, setting: tuple[str, Sequence[Path]]) -> None:
    """Let a frontend take a file, in this process, or refuse it."""
    framework, files = setting
    allow_files(*files)
    frontend = FrontEndManager().load_by_framework(framework)
    with suppress(Exception):
        frontend.convert(frontend.load(source))
