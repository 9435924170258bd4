"""Files by their extension: which reader takes them. Foreign formats are imported when one is met."""

from __future__ import annotations

import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ir_interp.errors import ReadError, closest
from ir_interp.op import ResizeOp
from ir_interp.spec import ResizeSpec
from ir_interp.translation.dialect import Semantics

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
            from .onnx import resizes as of_onnx

            return of_onnx.load(path, semantics)
        case ".xml":
            from ir_interp.ir import resizes as of_ir

            return of_ir.load(path, semantics)
        case ".json":
            from . import layer_json

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


_NO_OPERATIONS = ("parameter", "result", "const")


def operations(path: Path) -> dict[str, int] | None:
    """Return the number of operations by type, subgraphs included, the most frequent first; None for no model."""
    types = {".onnx": _of_onnx, ".xml": _of_ir}.get(path.suffix.lower())
    return dict(Counter(types(path)).most_common()) if types else None


def _of_onnx(path: Path) -> list[str]:
    from .onnx.files import read_model
    from .onnx.nodes import graphs

    nodes = (node for graph in graphs(read_model(path).graph) for node in graph.node)
    return sorted(node.op_type for node in nodes if node.op_type != "Constant")


def _of_ir(path: Path) -> list[str]:
    from ir_interp.ir.model import nets

    layers = (layer for net in nets(path) for layer in net.layers.values())
    return sorted(layer.type for layer in layers if layer.type.lower() not in _NO_OPERATIONS)
