"""Models in forms that can be compared: both in float32, or both with weights in half precision.

OpenVINO's frontend folds constants in half precision and loses more than the model does, so models in half precision
are compared in float32.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.files.kinds import FileKind

from ...onnx import half_models
from ...runtimes.openvino_saving import save_model
from ...runtimes.telemetry import openvino_silent
from ..run.processes import Runs

_RESIZES = ("Resize", "Upsample")


def in_float32(run: Runs, model: Path) -> Path:
    """Return a model that computes in float32 what this one does in half precision: itself if it does not."""
    if not half_models.is_half(model):
        return model
    return run.substitute(model, half_models.in_float32(model, run.folder))


def with_half_weights(run: Runs, model: Path) -> Path:
    """Return a model, ONNX or an IR, whose float32 weights, except those of resizes, are in half precision."""
    path = run.folder / f"half-{model.stem}{model.suffix}"
    if FileKind.of(model) is FileKind.IR:
        with openvino_silent():
            import openvino

        save_model(openvino.Core().read_model(model), path, half=True)
    else:
        _round(model, path)
    return run.substitute(model, path)


def _round(model: Path, path: Path) -> None:
    import onnx

    rounded = onnx.load(str(model))
    exact = {name for node in rounded.graph.node if node.op_type in _RESIZES for name in node.input[1:]}
    for tensor, name in list(half_models.tensors(rounded.graph)):
        if tensor.data_type == onnx.TensorProto.FLOAT and name not in exact:
            half_models.replace(tensor, _rounded)
    half_models.saved(rounded, path)


def _rounded(array: Any) -> Any:
    """Return numbers rounded to half precision, those beyond its range unchanged."""
    with np.errstate(over="ignore"):
        half = array.astype(np.float16).astype(np.float32)
    return np.where(np.isfinite(half), half, array)
