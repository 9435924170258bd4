"""SciPy's ``scipy.ndimage.zoom`` along the first two axes.

Source: ``ndimage/_interpolation.py`` and ``ni_interpolation.c``, run as SciPy 1.17. Images are [height, width] or
[height, width, channels]; the factors are output size / input size, and 1 for the channels. ``mode`` is nearest, since
otherwise values at the border are lost to rounding. Splines of order 2 to 5 filter the image first, and are not
supported here. The version here is the minor version: 17 for 1.17.
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.libraries import Library
from ir_interp.specs import (
    Arithmetic,
    Coordinates,
    FloatingPoint,
    IntegerRounding,
    Linear,
    Nearest,
    Passes,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.translation.dialect import Attributes, Context, Dialect, since


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of a call whose factors give the ``sizes``."""
    if str(attributes["order"]) in _SPLINES:
        reason = "filters the whole image first, by a recursion over every pixel"
        raise SpecError(f"order {attributes['order']} {reason}; orders 0 and 1 are supported")
    copies = str(attributes["order"]) == "0"
    return ResizeSpec(
        kernel=Nearest(rounding=Rounding.ROUND_PREFER_CEIL) if copies else Linear(),
        coordinates=Coordinates.HALF_PIXEL if attributes["grid_mode"] else Coordinates.ALIGN_CORNERS,
        axes=(0, 1),
        target=Library.target(attributes),
        step=Step.RATIO,
        arithmetic=Arithmetic.SCIPY,
        integers=None if copies else FloatingPoint(bits=64, passes=Passes.AT_ONCE, rounding=IntegerRounding.HALF_AWAY),
    )


_SPLINES = ("2", "3", "4", "5")

LIBRARY = Library(
    dialect=Dialect(
        name="scipy",
        versions=(17,),
        vocabulary={
            "order": dict.fromkeys(("1", "0", *_SPLINES), since(17)),
            "grid_mode": {False: since(17), True: since(17)},
        },
        numbers={"sizes": ("sizes", since(17))},
        defaults={"order": ("1", since(17)), "grid_mode": (False, since(17))},
        omitted={},
        read=read,
    ),
    packages=("scipy",),
    measured=((1, 17), (1, 17)),
    counted=1,
)
