"""Make input.npy and expected.npy of every sample: ``python samples/make.py``.

What is expected comes from onnxruntime, which runs model.onnxtxt; for the two examples of TensorRT's operator page
it is what the page prints.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime

HERE = Path(__file__).parent
_ROW = np.array([0, 0, 0, 1, 1, 2], np.float32)
PAGE = {
    "tensorrt_linear_corners": np.add.outer(np.arange(0, 6.5, 1.5), np.arange(0, 2.5, 0.5)),
    "tensorrt_nearest_floor": np.stack([_ROW, _ROW, _ROW, _ROW + 3, _ROW + 3, _ROW + 6]),
}


def make(folder: Path) -> None:
    """Write the two arrays of one sample."""
    if folder.name in PAGE:
        x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
        y = PAGE[folder.name].astype(np.float32)[None, None]
    else:
        x, y = _run(onnx.parser.parse_model((folder / "model.onnxtxt").read_text(encoding="utf-8")))
    np.save(folder / "input.npy", x)
    np.save(folder / "expected.npy", y)


def _run(model: onnx.ModelProto) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    x = np.random.default_rng(0).integers(0, 256, shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return x, session.run(None, {"x": x})[0]


if __name__ == "__main__":
    for each in sorted(path for path in HERE.iterdir() if path.is_dir()):
        make(each)
        print(each.name)
