"""Pillow's ``Image.resize``.

Source: ``Image.py``, and ``Resample.c``, ``Geometry.c`` and ``Convert.c`` of libImaging, run as Pillow 12.3 and 13.0.
Images are [height, width] or [height, width, channels].
"""

from __future__ import annotations

from ir_interp.spec import (
    Alpha,
    Antialias,
    Arithmetic,
    Between,
    Box,
    Coordinates,
    Cubic,
    FixedPoint,
    FloatingPoint,
    Hamming,
    Integers,
    Kernel,
    Lanczos,
    Linear,
    Nearest,
    Passes,
    ResizeSpec,
    Rounding,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, since
from ir_interp.translation.library import Library

_WIDENED = Antialias.SHRINKING
_KERNELS: dict[str, Kernel] = {
    "BICUBIC": Cubic(a=-0.5, antialias=_WIDENED, exclude_outside=True),
    "BILINEAR": Linear(antialias=_WIDENED, exclude_outside=True),
    "LANCZOS": Lanczos(radius=3, antialias=_WIDENED, exclude_outside=True),
    "BOX": Box(antialias=_WIDENED, exclude_outside=True),
    "HAMMING": Hamming(antialias=_WIDENED, exclude_outside=True),
    "NEAREST": Nearest(rounding=Rounding.FLOOR),
}
_EIGHT_BITS = ("RGB", "L", "RGBA", "LA")
_WITH_ALPHA = ("RGBA", "LA")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of ``Image.resize(sizes[::-1], resample)`` of an image of a mode."""
    kernel, mode = _KERNELS[attributes["resample"]], attributes["mode"]
    nearest = isinstance(kernel, Nearest)
    if nearest and mode == "I;16":  # in a loop of its own: (i + 1/2) * step, where the others add up steps
        kernel = Nearest(rounding=Rounding.ROUND_PREFER_CEIL)
    order = Passes.BY_LOSS if context.version >= 13 else Passes.LAST_FIRST
    in_bytes = FixedPoint(bits=22, passes=order)
    in_floats = FloatingPoint(bits=64, between=Between.ROUNDED, passes=order, rounding=Integers.HALF_AWAY)
    return ResizeSpec(
        kernel=kernel,
        coordinates=Coordinates.TF_HALF_PIXEL_FOR_NN if nearest and mode != "I;16" else Coordinates.HALF_PIXEL,
        axes=(0, 1),
        target=Library.target(attributes),
        arithmetic=Arithmetic.PILLOW,
        integers=None if nearest else in_bytes if mode in _EIGHT_BITS else in_floats,
        alpha=Alpha.PREMULTIPLIED if mode in _WITH_ALPHA and not nearest else Alpha.SEPARATE,
    )


def approximate(attributes: Attributes, context: Context) -> str:
    """Return why some values differ by 1."""
    is_deep = attributes["mode"] in ("I;16", "I")
    return "the last bit of a sine decides sums at a half" if is_deep and attributes["resample"] == "HAMMING" else ""


LIBRARY = Library(
    dialect=Dialect(
        name="pillow",
        versions=(13, 12),  # 13 changed which axis is filtered first
        vocabulary={
            "resample": dict.fromkeys(_KERNELS, since(12)),
            "mode": dict.fromkeys((*_EIGHT_BITS, "I;16", "I", "F"), since(12)),
        },
        numbers={"sizes": ("sizes", since(12))},
        defaults={"resample": ("BICUBIC", since(12)), "mode": ("RGB", since(12))},
        omitted={},
        read=read,
    ),
    packages=("pillow",),
    approximate=approximate,
)
