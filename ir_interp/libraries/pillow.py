"""Pillow's ``Image.resize``.

Source: ``Image.py``, and ``Resample.c``, ``Geometry.c`` and ``Convert.c`` of libImaging, run as Pillow 12.3 and 13.0.
Images are [height, width] or [height, width, channels]. ``box`` is (left, upper, right, lower), as there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ir_interp.errors import SpecError
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
    Magic,
    Nearest,
    Passes,
    Reduce,
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
    "MKS2013": Magic(year=2013, antialias=_WIDENED, exclude_outside=True),
    "MKS2021": Magic(year=2021, antialias=_WIDENED, exclude_outside=True),
}
_OF_13 = ("MKS2013", "MKS2021")
_EIGHT_BITS = ("RGB", "L", "RGBA", "LA")
_WITH_ALPHA = ("RGBA", "LA")


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of ``Image.resize(sizes[::-1], resample, box, reducing_gap)`` of an image of a mode."""
    kernel, mode = _KERNELS[attributes["resample"]], attributes["mode"]
    nearest = isinstance(kernel, Nearest)
    if nearest and mode == "I;16":  # in a loop of its own: (i + 1/2) * step, where the others add up steps
        kernel = Nearest(rounding=Rounding.ROUND_PREFER_CEIL)
    order = Passes.BY_LOSS if context.version >= 13 else Passes.UNLESS_TALL
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
        box=_box(attributes.get("box")),
        before=None if nearest else _before(attributes.get("reducing_gap"), mode, context.version),
    )


def _box(edges: Sequence[float] | None) -> tuple[tuple[float, float], ...] | None:
    if edges is None:
        return None
    if len(edges) != 4:
        raise SpecError(f"box is {list(edges)}; expected left, upper, right and lower")
    left, upper, right, lower = edges
    return (upper, lower), (left, right)


def _before(gap: float | None, mode: str, version: int) -> Reduce | None:
    """Return what ``reducing_gap`` does: 12 does not hand it on where it multiplies by alpha."""
    if gap is None or (mode in _WITH_ALPHA and version < 13):
        return None
    if mode == "I;16":
        raise SpecError("images of I;16 cannot be averaged in blocks, says Pillow; leave reducing_gap out")
    return Reduce(gap=gap)


_NUMBERS = {"sizes": "sizes", "box": "box", "gap": "reducing_gap"}

LIBRARY = Library(
    dialect=Dialect(
        name="pillow",
        versions=(13, 12),  # 13 changed which axis is filtered first
        vocabulary={
            "resample": {name: since(13 if name in _OF_13 else 12) for name in _KERNELS},
            "mode": dict.fromkeys((*_EIGHT_BITS, "I;16", "I", "F"), since(12)),
        },
        numbers={name: (called, since(12)) for name, called in _NUMBERS.items()},
        defaults={"resample": ("BICUBIC", since(12)), "mode": ("RGB", since(12))},
        omitted={},
        read=read,
    ),
    packages=("pillow",),
    usual=({"reducing_gap": 2.0}, {"reducing_gap": 3.0}),  # 2 is that of Image.thumbnail
)
