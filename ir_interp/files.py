"""Files by their extension: which reader takes them. Foreign formats are imported when one is met."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from ir_interp.dialect import Semantics
from ir_interp.errors import ReadError, closest
from ir_interp.op import ResizeOp
from ir_interp.spec import ResizeSpec

if TYPE_CHECKING:
    from pathlib import Path

EXTENSIONS = (".json", ".onnx", ".xml")


def load(path: str | os.PathLike[str], *, semantics: Semantics | str = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a file, in the order of the file.

    ``path`` ends in .onnx (a model), .xml (an IR, with or without its .bin, or pasted layers) or .json (layers of
    TensorRT or TFLite, docs/layer-json.md). ``semantics`` chooses the reading where several exist: what the file's
    own runtime computes, what its operator page says, or what the operator's reference implementation does.

    Raises ReadError, which names the file and the place inside, and UnsupportedLayerError for a layer or version
    that is known but not interpreted.
    """
    from pathlib import Path

    path, semantics = Path(path), Semantics(semantics)
    match path.suffix.lower():
        case ".onnx":
            from converters import onnx_resizes

            return onnx_resizes.load(path, semantics)
        case ".xml":
            from ir_interp import ir_resizes

            return ir_resizes.load(path, semantics)
        case ".json":
            from converters import layer_json

            return layer_json.load(path, semantics)
        case suffix:
            raise ReadError(f"unknown file type {suffix!r}; {closest(suffix, EXTENSIONS)}", path.name)


def readings(op: ResizeOp, file: Path) -> dict[Semantics, ResizeSpec]:
    """Return what each reading of a file makes of one resize.

    Readings that need to know more are left out, and all others of a resize that has its ``where`` from elsewhere.
    """
    found = {Semantics.RUNTIME: op.spec}
    for semantics in (Semantics.DOCUMENT, Semantics.REFERENCE):
        with suppress(ReadError):
            specs = {each.where: each.spec for each in load(file, semantics=semantics)}
            if op.where in specs:
                found[semantics] = specs[op.where]
    return found
