"""Print how sure YuNet is of its best face: ``python samples/face_score.py whole.onnx hopper.jpg``.

The model takes the raw image, as ``ir-interp preprocess`` writes it. A score is the geometric mean of a class and an
object, from 0 to 1.
"""

from __future__ import annotations

import sys

import numpy as np
import onnxruntime
from PIL import Image

STRIDES = (8, 16, 32)


def main(model: str, photo: str) -> None:
    """Run the model on the photo."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    with Image.open(photo) as image:
        pixels = np.asarray(image.convert("RGB"))
    outputs = dict(zip(names, session.run(None, {session.get_inputs()[0].name: pixels}), strict=True))
    best = max(float(np.sqrt(outputs[f"cls_{stride}"] * outputs[f"obj_{stride}"]).max()) for stride in STRIDES)
    print(f"{model}: best face {best:.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
