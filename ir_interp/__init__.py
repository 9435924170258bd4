"""Exact resizes: read one from an ONNX model, an OpenVINO IR or a TensorRT layer, run it, say it in the others' words.

``load`` reads, ``resize`` runs, ``convert`` translates; ``ResizeSpec`` is what they share.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ir_interp.converters.files import load
from ir_interp.errors import (
    InexactError,
    IrInterpError,
    ReadError,
    ShapeError,
    SpecError,
    UnsupportedLayerError,
    VerificationError,
)
from ir_interp.executor.resize import resize
from ir_interp.op import Diagnostic, ResizeOp
from ir_interp.spec import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    AtRunTime,
    Coordinates,
    Crop,
    Cubic,
    Length,
    Linear,
    Nearest,
    Pad,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)
from ir_interp.version import VERSION

if TYPE_CHECKING:
    from ir_interp.converters.report import ConversionReport

__all__ = [
    "Antialias",
    "Area",
    "Arithmetic",
    "Aspect",
    "AtRunTime",
    "Coordinates",
    "Crop",
    "Cubic",
    "Diagnostic",
    "InexactError",
    "IrInterpError",
    "Length",
    "Linear",
    "Nearest",
    "Pad",
    "ReadError",
    "ResizeOp",
    "ResizeSpec",
    "Rounding",
    "Scales",
    "ShapeError",
    "Sizes",
    "SpecError",
    "Step",
    "UnsupportedLayerError",
    "VerificationError",
    "convert",
    "load",
    "resize",
]
__version__ = VERSION


def convert(source: str | os.PathLike[str], destination: str | os.PathLike[str], **options: Any) -> ConversionReport:
    """Translate one file into another, by their extensions; see ``ir_interp.converters.convert.convert``."""
    from ir_interp.converters.convert import convert as run

    return run(source, destination, **options)
