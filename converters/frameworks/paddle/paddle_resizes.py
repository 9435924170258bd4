"""The resizes of a Paddle program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import UnsupportedLayerError
from ir_interp.resize_op import ResizeOp, read
from ir_interp.translation.dialect import Context, Semantics

from ...sources.model_description import Resize
from .paddle_dialect import DIALECT, OPERATIONS
from .paddle_files import described

_LENGTHS = ("out_d", "out_h", "out_w")
ATTRIBUTES = ("align_corners", "align_mode", "data_layout", "scale", *_LENGTHS)
"""The attributes of a resize."""
INPUTS = ("SizeTensor", "OutSize", "Scale")
"""The inputs of a resize behind the image, of which one may be connected."""


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a program. Raises ReadError for one that no spec holds."""
    return [resize(description, path.name, semantics) for description in described(path).resizes]


def resize(
    operation: Resize,
    file: str,
    semantics: Semantics = Semantics.RUNTIME,
    target: Sequence[float] | None = None,
) -> ResizeOp:
    """Return an operation as a resize; ``target`` is the value of its connected input, if that is a constant."""
    where = f"{file}:{operation.name}"
    if operation.type not in OPERATIONS:
        raise UnsupportedLayerError(f"operation {operation.type} is not supported; expected its version 2", where)
    if operation.attributes["block"]:
        raise UnsupportedLayerError("a resize in a branch or loop is not supported", where)
    attributes = {name: operation.attributes[name] for name in ("align_corners", "align_mode", "data_layout")}
    attributes |= {"op": operation.type, **_target(operation, target, where)}
    context = Context(version=DIALECT.versions[0], shape=operation.shape, dtype=operation.dtype, semantics=semantics)
    op = read(DIALECT, attributes, context, name=operation.name, where=where)
    return replace(op, spec=op.spec.of_floats()) if "float" in operation.dtype else op


def connected(operation: Resize) -> str | None:
    """Return the name of the input that holds the size or scale of a resize; None if attributes do."""
    return next(iter(operation.attributes["connected"]), None)


def _target(operation: Resize, target: Sequence[float] | None, where: str) -> Mapping[str, Any]:
    stated, name = operation.attributes, connected(operation)
    scales = [float(np.float32(scale)) for scale in stated["scale"]]
    if len(stated["connected"]) > 1 or (name and scales):
        raise UnsupportedLayerError("several sizes or scales are connected; expected one", where)
    if name is None and scales:
        return {"scale": scales}
    if name is None:
        axes = len(operation.shape or ()) - 2
        return {"size": [stated[name] for name in _LENGTHS[-axes:]]}
    if name != "Scale":
        return {"size": None if target is None else [int(length) for length in target]}
    return {"scale": None if target is None else [float(np.float32(scale)) for scale in target]}
