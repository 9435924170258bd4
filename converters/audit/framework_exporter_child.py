"""Exporters of models of other frameworks, in a process of their own: each writes a model of one resize."""

from __future__ import annotations

import importlib
import os
import re
from pathlib import Path
from typing import Any

from ir_interp.shapes import Array

from ..openvino.ir_save import save as save_ir
from ..runtimes.execution import reason
from ..runtimes.outcome import Kind
from .audited_resizes import Verdict

os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
_CAUSE = re.compile(r"\berror: (?P<text>'tf\.\w+' op .+)")  # among the lines of Python of a message of MLIR


def write(array: Array, setting: tuple[str, Any, Path]) -> Verdict | None:
    """Write a model by an exporter; return a refusal, if it is one.

    ``setting`` has the writer as ``module:name``, an operation or the file of one, and the path to write.
    """
    writer, source, path = setting
    module, name = writer.split(":")
    try:
        getattr(importlib.import_module(module), name)(source, array, path)
    except Exception as error:  # whatever an exporter raises
        cause = _CAUSE.search(str(error))
        return Verdict(kind=Kind.REFUSED, reason=cause["text"] if cause else reason(error))
    return None


def read(source: Path, array: Array, path: Path) -> None:
    """Write the IR that OpenVINO's frontend makes of a file."""
    import openvino

    save_ir(openvino.convert_model(source), path)
