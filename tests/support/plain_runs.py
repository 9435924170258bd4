"""Models run in onnxruntime and OpenVINO by plain calls, without this program."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def outputs(model: Path, arrays: Sequence[Array]) -> dict[str, Array]:
    """Return the outputs of a model by name, in order, for the arrays of its inputs, in order."""
    if model.suffix == ".onnx":
        import onnxruntime

        options = onnxruntime.SessionOptions()
        # By default it rounds what small weights multiply to 8 bits; docs/layers.md names the option.
        options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [end.name for end in session.get_outputs()]
        results = session.run(names, dict(zip(inputs(model), arrays, strict=True)))
        return dict(zip(names, map(np.asarray, results), strict=True))
    import openvino

    read = openvino.Core().read_model(model)
    compiled = openvino.compile_model(read, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    names = [port.any_name for port in read.outputs]  # a compiled model may know a tensor by further ones
    return {
        name: np.array(value).view(ml_dtypes.bfloat16 if port.element_type == openvino.Type.bf16 else value.dtype)
        for name, (port, value) in zip(names, compiled(list(arrays)).items(), strict=True)
    }


def inputs(model: Path) -> list[str]:
    """Return the names of a model's inputs, in order."""
    if model.suffix == ".onnx":
        import onnxruntime

        return [end.name for end in onnxruntime.InferenceSession(model).get_inputs()]
    import openvino

    return [port.any_name for port in openvino.Core().read_model(model).inputs]


def apart(actual: Sequence[Array], expected: Sequence[Array]) -> float:
    """Return the largest difference relative to the largest value of its output; infinite for other shapes."""
    if [array.shape for array in actual] != [array.shape for array in expected]:
        return float("inf")
    pairs = [(mine.astype(float), theirs.astype(float)) for mine, theirs in zip(actual, expected, strict=True)]
    return max(
        (float(np.abs(mine - theirs).max() / max(np.abs(theirs).max(), 1e-30)) for mine, theirs in pairs if mine.size),
        default=0.0,
    )
