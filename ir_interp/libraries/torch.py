"""PyTorch's ``torch.nn.functional.interpolate`` on CPU.

Source: ``functional.py``, ``UpSample.h`` and ``UpSampleKernel.cpp``, run as torch 2.13 and 2.14. The last axes are
resized, two of them where the mode does not say; ``rank`` is that of a batch. A fault of torch 2.13 is not repeated:
where an output is one pixel wide, antialias, and uint8 of more than four channels, make every row equal the first.
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.spec import (
    Antialias,
    Arithmetic,
    Coordinates,
    Cubic,
    FixedPoint,
    Kernel,
    Lanczos,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, since
from ir_interp.translation.library import Library

_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5, "lanczos": 4}
_CORNERED = ("linear", "bilinear", "bicubic", "trilinear")
_ANY_RANK = ("nearest", "nearest-exact", "area")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``size``, or with ``scale_factor``."""
    mode, corners, antialias = attributes["mode"], attributes["align_corners"], attributes["antialias"]
    if corners and mode in (*_ANY_RANK, "lanczos"):
        raise SpecError(f"align_corners is of {', '.join(_CORNERED)}, not of {mode}")
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos") or corners):
        raise SpecError("antialias is of bilinear, bicubic and lanczos without align_corners")
    if mode == "lanczos" and not antialias:
        raise SpecError("lanczos, of torch 2.14 and newer, needs antialias")
    kernel = _kernel(mode, antialias=antialias)
    resized = int(_RANKS.get(mode) or attributes["rank"]) - 2
    return ResizeSpec(
        kernel=kernel,
        coordinates=_coordinates(mode, corners=corners),
        axes=tuple(range(-resized, 0)),
        target=Library.target(attributes, "size", "scale_factor"),
        step=Step.RATIO if attributes["recompute_scale_factor"] or mode == "area" else Step.GIVEN,
        arithmetic=Arithmetic.TORCH,
        integers=FixedPoint(bits=22, width=16) if isinstance(kernel, Linear | Cubic | Lanczos) else None,
    )


def _kernel(mode: str, *, antialias: bool) -> Kernel:
    if mode in ("nearest", "nearest-exact"):
        return Nearest(rounding=Rounding.FLOOR)
    if mode == "area":
        return Mean()
    widened = Antialias.SHRINKING if antialias else Antialias.OFF
    if mode == "lanczos":
        return Lanczos(radius=3, antialias=widened, exclude_outside=True)
    if mode == "bicubic":
        return Cubic(a=-0.5 if antialias else -0.75, antialias=widened, exclude_outside=antialias)
    return Linear(antialias=widened, exclude_outside=antialias)


def _coordinates(mode: str, *, corners: bool) -> Coordinates:
    if corners:
        return Coordinates.ALIGN_CORNERS
    if mode in _RANKS:
        return Coordinates.HALF_PIXEL
    return Coordinates.TF_HALF_PIXEL_FOR_NN if mode == "nearest-exact" else Coordinates.ASYMMETRIC


LIBRARY = Library(
    dialect=Dialect(
        name="torch",
        versions=(2,),
        vocabulary={
            "mode": dict.fromkeys(("bilinear", "bicubic", *_ANY_RANK, "linear", "trilinear", "lanczos"), since(2)),
            "align_corners": {False: since(2), True: since(2)},
            "antialias": {False: since(2), True: since(2)},
            "recompute_scale_factor": {False: since(2), True: since(2)},
            "rank": {4: since(2), 3: since(2), 5: since(2)},
        },
        numbers={"sizes": ("size", since(2)), "scales": ("scale_factor", since(2))},
        defaults={
            "align_corners": (False, since(2)),
            "antialias": (False, since(2)),
            "recompute_scale_factor": (False, since(2)),
            "mode": ("bilinear", since(2)),
            "rank": (4, since(2)),
        },
        omitted={},
        read=read,
    ),
    packages=("torch",),
)
