"""TensorFlow's ``tf.image.resize``, and the operations of version 1 behind it, on CPU.

Source: ``image_ops_impl.py``, and ``resize_*_op.cc``, ``image_resizer_state.h`` and ``scale_and_translate_op.cc``, run
as TensorFlow 2.21. Images are [height, width, channels]. ``tf.image.resize`` uses half-pixel centres without aligned
corners; ``tf.compat.v1.image.resize`` has no half-pixel centres, and aligns corners on request.
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.libraries import Library
from ir_interp.specs import (
    Antialias,
    Area,
    Arithmetic,
    Coordinates,
    Cubic,
    Gaussian,
    Kernel,
    Lanczos,
    Linear,
    Mitchell,
    Nearest,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_OF_V1 = ("bilinear", "nearest", "bicubic", "area")
_METHODS = (*_OF_V1, "lanczos3", "lanczos5", "gaussian", "mitchellcubic")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``size``."""
    method, corners, centres = (attributes[name] for name in ("method", "align_corners", "half_pixel_centers"))
    if method != "nearest" and context.dtype is not None and "int" in context.dtype:
        raise SpecError(f"{method} converts {context.dtype} to float32; use float32 images")
    if corners and centres:
        raise SpecError("align_corners requires version 1: use half_pixel_centers=false")
    if not centres and (method not in _OF_V1 or attributes["antialias"]):
        raise SpecError("half_pixel_centers=false requires bilinear, nearest, bicubic or area, without antialias")
    return ResizeSpec(
        kernel=_kernel(method, corners=corners, centres=centres, antialias=attributes["antialias"]),
        coordinates=_coordinates(method, corners=corners, centres=centres),
        axes=(0, 1),
        target=Library.target(attributes),
        step=Step.RATIO,
        arithmetic=Arithmetic.TENSORFLOW,
    )


def _coordinates(method: str, *, corners: bool, centres: bool) -> Coordinates:
    if corners:
        return Coordinates.ALIGN_CORNERS
    # resize_area_op.cc has no half-pixel centres: its areas begin at i * step.
    if not centres or method == "area":
        return Coordinates.ASYMMETRIC
    return Coordinates.TF_HALF_PIXEL_FOR_NN if method == "nearest" else Coordinates.HALF_PIXEL


def _kernel(method: str, *, corners: bool, centres: bool, antialias: bool) -> Kernel:
    widened = Antialias.SHRINKING if antialias else Antialias.OFF
    match method:
        case "nearest":
            return Nearest(rounding=Rounding.ROUND_PREFER_CEIL if corners else Rounding.FLOOR)
        case "area":
            return Area()
        case "bilinear":
            # ScaleAndTranslate computes it with antialias, and normalises weights; ResizeBilinear repeats the edge
            # without.
            return Linear(antialias=widened, exclude_outside=antialias)
        case "bicubic" if not centres:  # Keys' -0.5 is for half-pixel centres only (resize_bicubic_op.cc)
            return Cubic(a=-0.75)
        case "bicubic":
            return Cubic(a=-0.5, antialias=widened, exclude_outside=True)
        case "gaussian":
            return Gaussian(antialias=widened, exclude_outside=True)
        case "mitchellcubic":
            return Mitchell(antialias=widened, exclude_outside=True)
        case "lanczos3" | "lanczos5":
            return Lanczos(radius=int(method[-1]), antialias=widened, exclude_outside=True)
        case unknown:
            raise SpecError(f"method {unknown!r} is unknown")


LIBRARY = Library(
    dialect=Dialect(
        name="tensorflow",
        versions=(2,),
        vocabulary={
            "method": dict.fromkeys(_METHODS, since(2)),
            "antialias": {False: since(2), True: since(2)},
            "half_pixel_centers": {True: since(2), False: since(2)},
            "align_corners": {False: since(2), True: since(2)},
        },
        numbers={"sizes": ("size", since(2))},
        defaults={
            "method": ("bilinear", since(2)),
            "antialias": (False, since(2)),
            "half_pixel_centers": (True, since(2)),
            "align_corners": (False, since(2)),
        },
        omitted={},
        read=read,
    ),
    packages=("tensorflow", "tensorflow-cpu"),
    measured=((2, 21), (2, 21)),
    makes_floats="float32",
)
