"""OpenCV's ``cv2.resize``.

Source: ``modules/imgproc/src/resize.cpp``, run as opencv-python-headless 4.12 to 5.0 on x86-64. Images are [height,
width] or [height, width, channels]. ``ipp`` is whether OpenCV uses Intel's library (IPP), as the wheels for x86-64 do.
IPP computes INTER_CUBIC, and INTER_LINEAR except for 8 bits, with 1, 3 or 4 channels, unless
``cv2.ipp.setUseIPP(False)`` or OPENCV_IPP=disabled forbids it. Its sums were derived on a processor with AVX-512.
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.libraries import Library
from ir_interp.plan.library_passes import without_ipp
from ir_interp.specs import (
    Area,
    Arithmetic,
    Between,
    Coordinates,
    Cubic,
    FixedPoint,
    FloatingPoint,
    Images,
    Integers,
    Kernel,
    Lanczos,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_KERNELS: dict[str, Kernel] = {
    "INTER_LINEAR": Linear(),
    "INTER_NEAREST": Nearest(rounding=Rounding.FLOOR),
    "INTER_CUBIC": Cubic(a=-0.75),
    "INTER_AREA": Area(),
    "INTER_LANCZOS4": Lanczos(radius=4),
    "INTER_LINEAR_EXACT": Linear(),
    "INTER_NEAREST_EXACT": Nearest(rounding=Rounding.FLOOR),
}


_IN_ORDER = (
    "INTER_NEAREST",
    "INTER_LINEAR",
    "INTER_CUBIC",
    "INTER_AREA",
    "INTER_LANCZOS4",
    "INTER_LINEAR_EXACT",
    "INTER_NEAREST_EXACT",
)
"""Interpolation flags, by their numbers in OpenCV."""
_COPIES = ("INTER_NEAREST", "INTER_NEAREST_EXACT")
_SUMMED = ("uint8", "uint16", "int16", "float32", "float64")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of ``cv2.resize`` with ``dsize=sizes[::-1]``, or with ``fx`` and ``fy`` as ``scales``."""
    name, dtype = attributes["interpolation"], context.dtype or "uint8"
    if name not in _COPIES and dtype not in _SUMMED:
        raise SpecError(f"{name} takes images of {', '.join(_SUMMED)}, not of {dtype}")
    # OpenCV has fixed-point sums for integers only.
    if name == "INTER_LINEAR_EXACT" and dtype.startswith("float"):
        name = "INTER_LINEAR"
    with_ipp = attributes["ipp"] and _is_of_ipp(name, dtype)
    return ResizeSpec(
        kernel=_KERNELS[name],
        coordinates=_coordinates(name),
        axes=(0, 1),
        target=Library.target(attributes),
        step=Step.RATIO if name == "INTER_NEAREST_EXACT" else Step.GIVEN_UNLESS_ALL_EQUAL,
        arithmetic=Arithmetic.IPP if with_ipp else _arithmetic(name, context.version),
        integers=None if with_ipp else _integers(name, dtype),
        images=None if name in _COPIES else _images(name, dtype),
    )


def _images(name: str, dtype: str) -> Images:
    return Images(
        elements=(dtype, *(element for element in _SUMMED if "float" in element and element != dtype)), call=name
    )


def _is_of_ipp(name: str, dtype: str) -> bool:
    """Return whether Intel's library computes a call. Raises SpecError if its result is unknown."""
    if name == "INTER_LINEAR" and dtype == "int16":
        raise SpecError("the rounding of INTER_LINEAR for int16 in Intel's library (IPP) is unknown; use ipp=False")
    return (name == "INTER_CUBIC" and dtype != "float64") or (name == "INTER_LINEAR" and dtype != "uint8")


def _coordinates(name: str) -> Coordinates:
    if name in ("INTER_NEAREST", "INTER_AREA"):
        return Coordinates.ASYMMETRIC
    return Coordinates.TF_HALF_PIXEL_FOR_NN if name == "INTER_NEAREST_EXACT" else Coordinates.HALF_PIXEL


def _arithmetic(name: str, version: int) -> Arithmetic:
    if name == "INTER_NEAREST_EXACT" and version >= 5:
        return Arithmetic.OPENCV_ADDED  # designed to copy the same pixels as Pillow
    is_double = name in ("INTER_NEAREST", "INTER_NEAREST_EXACT", "INTER_LINEAR_EXACT")
    return Arithmetic.OPENCV_EXACT if is_double else Arithmetic.OPENCV


def _integers(name: str, dtype: str) -> FixedPoint | FloatingPoint | Integers | None:
    """Return the summation of integers without IPP; None where pixels are copied."""
    if name in ("INTER_NEAREST", "INTER_NEAREST_EXACT"):
        return None
    if name == "INTER_AREA":
        return Integers.OPENCV_AREA
    if name == "INTER_LINEAR_EXACT":
        # Weights have as many fractional bits as an element has bits.
        bits = 8 if dtype == "uint8" else 16
        return FixedPoint(bits=bits, between=Between.KEPT, elements=bits)
    return without_ipp(_KERNELS[name], dtype)


def approximate(attributes: Attributes, context: Context) -> str:
    """Return why some values differ by 1; an empty text if none do."""
    name, dtype = attributes["interpolation"], context.dtype or "uint8"
    if not attributes["ipp"] or not _is_of_ipp(name, dtype) or dtype.startswith("float"):
        return ""
    share = "6 in 10**5 values differ" if dtype == "uint8" else "1 in 1600 values differs"
    return f"these are the values of processors with AVX-512; on others up to {share} by 1"


LIBRARY = Library(
    dialect=Dialect(
        name="opencv",
        versions=(5, 4),  # 5 changed INTER_NEAREST_EXACT
        vocabulary={
            "interpolation": dict.fromkeys(_KERNELS, since(4)),
            "ipp": {True: since(4), False: since(4)},
        },
        numbers={"sizes": ("sizes", since(4)), "scales": ("scales", since(4))},
        defaults={"interpolation": ("INTER_LINEAR", since(4)), "ipp": (True, since(4))},
        omitted={},
        read=read,
    ),
    approximate=approximate,
    installation=("ipp",),
    constants={"interpolation": dict(enumerate(_IN_ORDER))},
    packages=("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    measured=((4, 12), (5, 0)),
)
