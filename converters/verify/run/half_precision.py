"""The same model with its weights rounded to half precision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.files.kinds import FileKind

from ...runtimes.openvino_saving import save_model
from ...runtimes.telemetry import openvino_silent

_RESIZES = ("Resize", "Upsample")


def with_half_weights(path: Path, folder: Path) -> Path:
    """Write a model, ONNX or an IR, whose float32 weights, but for those of resizes, are halves; return where."""
    if FileKind.of(path) is FileKind.IR:
        return _compressed(path, folder / f"half-{path.stem}.xml")
    import onnx

    from ...onnx.half_models import replace, saved, tensors

    model = onnx.load(str(path))
    exact = {name for node in model.graph.node if node.op_type in _RESIZES for name in node.input[1:]}
    for tensor, name in list(tensors(model.graph)):
        if tensor.data_type == onnx.TensorProto.FLOAT and name not in exact:
            replace(tensor, _rounded)
    return saved(model, folder / f"half-{path.stem}.onnx")


def _compressed(path: Path, written: Path) -> Path:
    """Write an IR with its weights in half precision, but for those from which OpenVINO computes shapes."""
    with openvino_silent():
        import openvino

    save_model(openvino.Core().read_model(path), written, half=True)
    return written


def _rounded(array: Any) -> Any:
    """Return numbers as half precision holds them, those beyond its range as they are."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16).astype(np.float32)
    return np.where(np.isfinite(half), half, array)
