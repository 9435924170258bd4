"""PyTorch's ``torch.nn.functional.interpolate`` on CPU.

Source: ``functional.py``, ``UpSample.h`` and ``UpSampleKernel.cpp``, run as torch 2.13 to 2.15. The last axes are
resized, two of them unless the mode determines the rank; ``rank`` includes batch and channels. Tensors are contiguous.
Faults of torch 2.13 are refused: in outputs one pixel wide, antialias, and uint8 of more than four channels, make every
row equal to the first (``plan.library_passes``).
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.libraries import Library
from ir_interp.specs import (
    Antialias,
    Arithmetic,
    Coordinates,
    Cubic,
    FixedPoint,
    Images,
    Kernel,
    Lanczos,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.specs.resize_spec import FLOATS
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

# The ranks that a mode determines, batch and channels included.
_RANKS = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5, "lanczos": 4}
_CORNERED = ("linear", "bilinear", "bicubic", "trilinear")
_ONLY_FLOATS = ("area", "linear", "trilinear")
_ANY_RANK = ("nearest", "nearest-exact", "area")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``size``, or with ``scale_factor``."""
    mode, corners, antialias = attributes["mode"], attributes["align_corners"], attributes["antialias"]
    if corners and mode in (*_ANY_RANK, "lanczos"):
        raise SpecError(f"align_corners requires {', '.join(_CORNERED)}, not {mode}")
    if antialias and (mode not in ("bilinear", "bicubic", "lanczos") or corners):
        raise SpecError("antialias requires bilinear, bicubic or lanczos, without align_corners")
    if mode == "lanczos" and not antialias:
        raise SpecError("lanczos (torch 2.14 and newer) requires antialias")
    kernel, dtype = _kernel(mode, antialias=antialias), context.dtype
    if dtype is not None and dtype not in _elements(mode, antialias=antialias):
        known = ", ".join(_elements(mode, antialias=antialias))
        raise SpecError(f"{mode} takes tensors of {known}, not of {dtype}")
    resized = int(_RANKS.get(mode) or attributes["rank"]) - 2
    in_double = isinstance(kernel, Nearest) and dtype == "float64"
    return ResizeSpec(
        kernel=kernel,
        coordinates=_coordinates(mode, corners=corners),
        axes=tuple(range(-resized, 0)),
        target=Library.target(attributes, "size", "scale_factor"),
        step=Step.RATIO if attributes["recompute_scale_factor"] else _step(mode, antialias=antialias, dtype=dtype),
        arithmetic=Arithmetic.TORCH_DOUBLE if in_double else Arithmetic.TORCH,
        # Weights are int16, of as many bits as the largest of them leaves, 22 at most (UpSampleKernel.cpp).
        integers=FixedPoint(bits=22, width=16) if isinstance(kernel, Linear | Cubic | Lanczos) else None,
        images=Images(elements=_here(kernel, dtype, _elements(mode, antialias=antialias)), call=mode),
    )


def _elements(mode: str, *, antialias: bool) -> tuple[str, ...]:
    """Return the element types that a mode supports on CPU."""
    if antialias:
        return ("uint8", "float32", "float64")
    return FLOATS if mode in _ONLY_FLOATS else ("uint8", *FLOATS)


def _here(kernel: Kernel, dtype: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    """Return the element types that a spec applies to; float64 must be named for nearest, whose positions differ."""
    if not isinstance(kernel, Nearest):
        return known
    return ("float64",) if dtype == "float64" else tuple(element for element in known if element != "float64")


def _step(mode: str, *, antialias: bool, dtype: str | None) -> Step:
    """Return the step between outputs where ``scale_factor`` is passed.

    Axes that keep their size are copied, except by nearest-exact, by bicubic of floats, and with aligned corners, where
    both are the same. Nearest takes every pixel twice where an axis doubles.
    """
    if mode == "area":
        return Step.RATIO
    if mode == "nearest":
        return Step.GIVEN_UNLESS_DOUBLED
    is_float = dtype is not None and dtype != "uint8"
    by_scale = mode == "nearest-exact" or (mode == "bicubic" and not antialias and is_float)
    return Step.GIVEN if by_scale else Step.GIVEN_UNLESS_EQUAL


def _kernel(mode: str, *, antialias: bool) -> Kernel:
    if mode in ("nearest", "nearest-exact"):
        return Nearest(rounding=Rounding.FLOOR)
    if mode == "area":
        return Mean()
    widened = Antialias.SHRINKING if antialias else Antialias.OFF
    if mode == "lanczos":
        return Lanczos(radius=3, antialias=widened, exclude_outside=True)
    if mode == "bicubic":
        # PyTorch's antialiased bicubic is Pillow's, whose coefficient is -0.5.
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
    measured=((2, 13), (2, 15)),
)
