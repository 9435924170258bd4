"""IRs in half precision, and the same IRs in float32.

OpenVINO folds some constants of such an IR in half precision when it reads the file, as 1/c of a division by c, and
computes others in float32. In the same IR in float32 it folds nothing in half precision.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

from ir_interp.files.kinds import FileKind
from ir_interp.ir import xml

_TYPES = ("element_type", "destination_type", "output_type")  # attributes that name an element type


def is_in_half(model: Path) -> bool:
    """Return whether a model is an IR that holds anything in half precision."""
    return FileKind.of(model) is FileKind.IR and b'"f16"' in model.read_bytes()


def in_float32(model: Path, folder: Path) -> Path:
    """Write an IR into ``folder`` that computes in float32 what this one does in half precision; return its path."""
    root, path = xml.parse(model), folder / f"float32-{model.stem}.xml"
    binary = path.with_suffix(".bin")
    shutil.copyfile(model.with_suffix(".bin"), binary)
    with binary.open("r+b") as file:
        for data in root.iter("data"):
            if data.get("element_type") == "f16" and data.get("offset"):
                file.seek(int(data.attrib["offset"]))
                array = np.frombuffer(file.read(int(data.attrib["size"])), np.float16).astype(np.float32)
                data.set("offset", str(file.seek(0, 2)))
                data.set("size", str(array.nbytes))
                file.write(array.tobytes())
            for name in _TYPES:
                if data.get(name) == "f16":
                    data.set(name, "f32")
    for port in root.iter("port"):
        if port.get("precision") == "FP16":
            port.set("precision", "FP32")
    root.getroottree().write(str(path))
    return path
