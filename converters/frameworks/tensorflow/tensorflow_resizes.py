"""The resizes of a TensorFlow model, as calls of ``tf.image.resize`` and of the operations of version 1."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ir_interp.errors import SpecError, UnsupportedLayerError
from ir_interp.libraries.tensorflow import LIBRARY
from ir_interp.resize_op import ResizeOp, read
from ir_interp.shapes import PartialShape
from ir_interp.spec import AtRunTime, Sizes
from ir_interp.translation.dialect import Context, Semantics

from ...sources.model_description import Resize
from . import FRAMEWORK
from .tensorflow_files import described

_METHODS = {
    "ResizeBilinear": "bilinear",
    "ResizeNearestNeighbor": "nearest",
    "ResizeBicubic": "bicubic",
    "ResizeArea": "area",
}
_KERNELS = {
    "lanczos3": "lanczos3",
    "lanczos5": "lanczos5",
    "gaussian": "gaussian",
    "mitchellcubic": "mitchellcubic",
    "triangle": "bilinear",
    "keyscubic": "bicubic",
}
_PLAIN_ELSEWHERE = ("triangle", "keyscubic")  # without antialias tf.image.resize calls another operation
_IMAGE = (1, 2)


def load(path: Path, semantics: Semantics = Semantics.RUNTIME) -> list[ResizeOp]:
    """Return every resize of a model. Raises UnsupportedLayerError for one that also scales or moves the image."""
    return [resize(description, FRAMEWORK.label(path), semantics) for description in described(path).resizes]


def resize(operation: Resize, file: str, semantics: Semantics = Semantics.RUNTIME) -> ResizeOp:
    """Return an operation as a resize, with its place in ``file``."""
    where = f"{file}:{operation.name}"
    attributes, size = _attributes(operation, where), operation.inputs[0]
    dtype = operation.dtype if operation.type == "ResizeNearestNeighbor" else "float32"  # which all others return
    context = Context(version=LIBRARY.dialect.versions[0], shape=operation.shape, dtype=dtype, semantics=semantics)
    try:
        op = read(LIBRARY.dialect, attributes, context, name=operation.name, where=where)
    except SpecError as error:
        raise UnsupportedLayerError(str(error), where) from error
    target = AtRunTime.SIZES if size is None else Sizes(tuple(int(length) for length in size))
    return replace(op, spec=replace(op.spec, axes=_IMAGE, target=target))


def _attributes(operation: Resize, where: str) -> dict[str, Any]:
    stated = operation.attributes
    if operation.type != "ScaleAndTranslate":
        return {
            "method": _METHODS[operation.type],
            "align_corners": stated["align_corners"],
            "half_pixel_centers": stated.get("half_pixel_centers", not stated["align_corners"]),  # ResizeArea has none
        }
    kernel, antialias = stated["kernel_type"], stated["antialias"]
    if kernel not in _KERNELS or (kernel in _PLAIN_ELSEWHERE and not antialias):
        raise UnsupportedLayerError(f"ScaleAndTranslate with kernel_type {kernel} and antialias {antialias}", where)
    _check_scales(operation, where)
    return {"method": _KERNELS[kernel], "antialias": antialias}


def _check_scales(operation: Resize, where: str) -> None:
    """Raise UnsupportedLayerError unless an operation scales by its sizes, and moves nothing."""
    size, scale, translation = operation.inputs
    if size is None or scale is None or translation is None or not _has_static_image(operation.shape):
        raise UnsupportedLayerError("ScaleAndTranslate with a size or scale that is known only at run time", where)
    assert operation.shape is not None
    lengths = np.array([operation.shape[axis] for axis in _IMAGE], np.float32)
    expected = np.array(size, np.float32) / lengths
    if any(translation) or not np.array_equal(np.array(scale, np.float32), expected):
        transform = f"scale {scale} and translation {translation}"
        raise UnsupportedLayerError(f"ScaleAndTranslate with {transform}; expected the quotient of sizes, and 0", where)


def _has_static_image(shape: PartialShape | None) -> bool:
    return shape is not None and all(shape[axis] is not None for axis in _IMAGE)
