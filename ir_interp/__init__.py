"""Exact resizes: read one from an ONNX model, an OpenVINO IR or a TensorRT layer, run it, say it in the others' words.

``load`` reads, ``resize`` runs, ``convert`` translates; ``ResizeSpec`` is what they share.
"""

from ir_interp.errors import (
    InexactError,
    IrInterpError,
    ReadError,
    ShapeError,
    SpecError,
    UnsupportedLayerError,
    VerificationError,
)
from ir_interp.execute import resize
from ir_interp.files import convert, load
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
__version__ = "0.1.0"
