"""JAX's ``jax.image.resize`` along the first two axes, on CPU.

Source: ``jax/_src/image/scale.py``, run as JAX 0.10.2. Images are [height, width] or [height, width, channels]. The
version here is the minor version: 10 for 0.10.
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
    Kernel,
    Lanczos,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_METHODS = ("linear", "nearest", "cubic", "cubic-pytorch", "lanczos3", "lanczos5", "area")
_COORDINATES = {"nearest": Coordinates.TF_HALF_PIXEL_FOR_NN, "area": Coordinates.ASYMMETRIC}


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call with ``shape``, whose first two entries are the ``sizes``."""
    method = attributes["method"]
    if method != "nearest" and context.dtype is not None and "int" in context.dtype:
        raise SpecError(f"{method} converts {context.dtype} to float32; use float32 images")
    return ResizeSpec(
        kernel=_kernel(method, antialias=attributes["antialias"]),
        coordinates=_COORDINATES.get(method, Coordinates.HALF_PIXEL),
        axes=(0, 1),
        target=Library.target(attributes),
        step=Step.RATIO,
        arithmetic=Arithmetic.JAX,
    )


def _kernel(method: str, *, antialias: bool) -> Kernel:
    widened = Antialias.SHRINKING if antialias else Antialias.OFF
    match method:
        case "nearest":
            return Nearest(rounding=Rounding.FLOOR)
        case "area":
            return Area()
        case "linear":
            return Linear(antialias=widened, exclude_outside=antialias)
        case "cubic-pytorch" if not antialias:
            return Cubic(a=-0.75)
        case "cubic" | "cubic-pytorch":
            return Cubic(a=-0.5, antialias=widened, exclude_outside=True)
        case "lanczos3" | "lanczos5":
            return Lanczos(radius=int(method[-1]), antialias=widened, exclude_outside=True)
        case unknown:
            raise SpecError(f"method {unknown!r} is unknown")


LIBRARY = Library(
    dialect=Dialect(
        name="jax",
        versions=(10,),
        vocabulary={
            "method": dict.fromkeys(_METHODS, since(10)),
            "antialias": {True: since(10), False: since(10)},
        },
        numbers={"sizes": ("sizes", since(10))},
        defaults={"method": ("linear", since(10)), "antialias": (True, since(10))},
        omitted={},
        read=read,
    ),
    packages=("jax",),
    measured=((0, 10), (0, 10)),
    makes_floats="float32",
    counted=1,
)
