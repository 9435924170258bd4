"""Pillow's ``Image.resize``.

Source: ``Image.py``, and ``Resample.c``, ``Geometry.c`` and ``Convert.c`` of libImaging, run as Pillow 10.0 to 12.1
(version 11 here), 12.3 and 13.0. Images are [height, width] or [height, width, channels]. ``box`` is (left, upper,
right, lower), as in Pillow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ir_interp.errors import SpecError
from ir_interp.libraries import Library
from ir_interp.specs import (
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
    Images,
    IntegerRounding,
    Kernel,
    Lanczos,
    Linear,
    Magic,
    Nearest,
    Passes,
    Reduce,
    ResizeSpec,
    Rounding,
    Step,
)
from ir_interp.specs.resize_spec import FLOATS
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

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
_MAGIC = dict(enumerate(_OF_13, 6))  # the numbers of these filters in Pillow follow LANCZOS to HAMMING, 0 to 5
_CUT = 12  # first version that limits sums to 16 bits; version 12 here is 12.3
_WITH_ALPHA = ("RGBA", "LA")
_MODES = {  # the element type, and the numbers of channels that are summed alike
    "RGB": ("uint8", (1, 3)),
    "L": ("uint8", (1, 3)),
    "RGBA": ("uint8", (2, 4)),
    "LA": ("uint8", (2, 4)),
    "RGBa": ("uint8", (2, 4)),  # colours are stored as products with alpha
    "La": ("uint8", (2, 4)),
    "I;16": ("uint16", (1,)),
    "I": ("int32", (1,)),
    "F": ("float32", None),
}


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of ``Image.resize(sizes[::-1], resample, box, reducing_gap)`` for an image of a mode."""
    kernel, mode = _KERNELS[attributes["resample"]], attributes["mode"]
    if mode == "I;16" and context.version < _CUT and attributes["resample"] in ("BICUBIC", "LANCZOS"):
        raise SpecError("the way Pillow up to 12.2 stores I;16 sums beyond 16 bits is unknown")
    nearest = isinstance(kernel, Nearest)
    if nearest and mode == "I;16":  # in a loop of its own: (i + 1/2) * step, where the other modes add up steps
        kernel = Nearest(rounding=Rounding.ROUND_PREFER_CEIL)
    order = _order(context.version)
    # PRECISION_BITS of Resample.c: 32 without 8 bits of the result and 2 for negative weights.
    in_bytes = FixedPoint(bits=22, passes=order)
    in_floats = FloatingPoint(bits=64, between=Between.ROUNDED, passes=order, rounding=IntegerRounding.HALF_AWAY)
    return ResizeSpec(
        kernel=kernel,
        coordinates=Coordinates.TF_HALF_PIXEL_FOR_NN if nearest and mode != "I;16" else Coordinates.HALF_PIXEL,
        axes=(0, 1),
        target=Library.target(attributes),
        step=Step.RATIO,
        arithmetic=Arithmetic.PILLOW,
        integers=None if nearest else in_bytes if _MODES[mode][0] == "uint8" else in_floats,
        alpha=Alpha.PREMULTIPLIED if mode in _WITH_ALPHA and not nearest else Alpha.SEPARATE,
        box=_box(attributes.get("box")),
        before=None if nearest else _before(attributes.get("reducing_gap"), mode, context.version),
        images=_images(mode, nearest=nearest),
    )


def _order(version: int) -> Passes:
    return Passes.BY_LOSS if version >= 13 else Passes.UNLESS_TALL if version >= 12 else Passes.LAST_FIRST


def _images(mode: str, *, nearest: bool) -> Images:
    """Return the images that are resized like those of a mode: copying is the same for all modes but I;16."""
    element, channels = _MODES[mode]
    if nearest and mode != "I;16":
        return Images(elements=("uint8", "int32", "bool", *FLOATS), call=f"mode {mode}")
    return replace(Images.of(element, element, f"mode {mode}"), channels=channels, hint=_HINT)


_HINT = "; name its mode, as in mode=RGBA"


def _box(edges: Sequence[float] | None) -> tuple[tuple[float, float], ...] | None:
    if edges is None:
        return None
    if len(edges) != 4:
        raise SpecError(f"box is {list(edges)}; expected left, upper, right and lower")
    left, upper, right, lower = edges
    return (upper, lower), (left, right)


def _before(gap: float | None, mode: str, version: int) -> Reduce | None:
    """Return the filter of ``reducing_gap``: 12 does not pass it on where it multiplies by alpha."""
    if gap is None or (mode in _WITH_ALPHA and version < 13):
        return None
    if mode == "I;16":
        raise SpecError("Pillow cannot average I;16 images in blocks; leave reducing_gap out")
    return Reduce(gap=gap)


_NUMBERS = {"sizes": "sizes", "box": "box", "gap": "reducing_gap"}

LIBRARY = Library(
    dialect=Dialect(
        name="pillow",
        versions=(13, 12, 11),  # 13, and 12 from 12.2 on, changed which axis is filtered first
        vocabulary={
            "resample": {name: since(13 if name in _OF_13 else 11) for name in _KERNELS},
            "mode": dict.fromkeys(_MODES, since(11)),
        },
        numbers={name: (called, since(11)) for name, called in _NUMBERS.items()},
        defaults={"resample": ("BICUBIC", since(11)), "mode": ("RGB", since(11))},
        omitted={},
        read=read,
    ),
    packages=("pillow",),
    measured=((10, 0), (13, 0)),
    exceptions={(12, 0): 11, (12, 1): 11, (12, 2): None, **{(10, minor): 11 for minor in range(5)}},
    constants={"resample": {0: "NEAREST", 1: "LANCZOS", 2: "BILINEAR", 3: "BICUBIC", 4: "BOX", 5: "HAMMING"} | _MAGIC},
    usual=({"reducing_gap": 2.0}, {"reducing_gap": 3.0}),  # 2 is the value of Image.thumbnail
)
