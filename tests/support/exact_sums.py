"""Sessions whose sums of 8-bit products are exact on every processor.

onnxruntime lets them saturate on x86 with AVX2 but without VNNI, and OpenVINO on all x86 without VNNI; see
``converters/runtimes/execution.py``. ``tests/onnx/test_byte_products.py`` compares the models that replace others
here with integer formulas.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import onnxruntime  # type: ignore[import-untyped, unused-ignore]

from ir_interp.converters.onnx.byte_products import make_factors_unsigned
from ir_interp.converters.runtimes.execution import ONNXRUNTIME
from ir_interp.version import processor

OPENVINO = {"INFERENCE_PRECISION_HINT": "f32", "DYNAMIC_QUANTIZATION_GROUP_SIZE": 0, "LP_TRANSFORMS_MODE": "NO"}
"""Settings of OpenVINO's CPU plugin with which it computes what a model says, in float32."""


def session(path: Path, options: Any = None) -> Any:
    """Return a session of onnxruntime for a model."""
    options = options or onnxruntime.SessionOptions()
    model: Any = str(path)
    if processor() in ONNXRUNTIME.processors:
        outline = onnx.load(path, load_external_data=False)
        if make_factors_unsigned(outline, str(path.parent)):
            options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(path.parent))
            model = outline.SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
