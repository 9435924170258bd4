"""Whole ONNX models in QNN: the nodes that its NPU leaves to the CPU provider."""

from __future__ import annotations

from pathlib import Path

from ir_interp.diagnostic_codes import LEFT_TO_CPU
from ir_interp.files.kinds import FileKind

from .. import qnn_placement
from .audited_resizes import Finding, about_model

NAME = qnn_placement.NAME


def findings(path: Path) -> list[Finding]:
    """Return the finding about a model; none if all of its nodes run on the NPU."""
    placement = qnn_placement.placed(path) if FileKind.of(path) is FileKind.ONNX else None
    if placement is None or not (placement.left or placement.problem):
        return []
    left = f"leaves to the CPU provider: {placement.left_text}"
    failure = f"does not run the model: {placement.problem}"
    message = f"{placement.by} {failure if placement.problem else left}"
    return [about_model(path, LEFT_TO_CPU, message, NAME)]
