"""The resize of this program itself: what ``ir_interp.resize`` and ``ir-interp run`` compute without a library's name.

The output has the bounds of the input, whatever its sizes. Kernels of sums leave out pixels beyond the image and widen
where an axis shrinks, unless that is turned off. Integers, and bool as 0 and 1, are exact sums of rational weights
(those of Lanczos are float64 numbers), rounded once, half to even, and end at the limits of their type.
"""

from __future__ import annotations

from typing import assert_never

from ir_interp.errors import SpecError
from ir_interp.specs.kernels import (
    Area,
    Cubic,
    Kernel,
    Lanczos,
    Linear,
    Mode,
    Nearest,
)
from ir_interp.specs.modes import (
    Antialias,
    Coordinates,
    Integers,
    Rounding,
    Step,
    Word,
)
from ir_interp.specs.resize_spec import ResizeSpec


class OwnKernel(Word):
    """A kernel of this program's own resize."""

    LINEAR = "linear"  # triangle
    CUBIC = "cubic"  # Keys' cubic of a = -1/2, as in Pillow and GDAL
    AREA = "area"  # mean over what an output pixel covers, as GDAL's average
    NEAREST = "nearest"  # the pixel at the centre of an output pixel; at a border of two pixels the farther one
    LANCZOS = "lanczos"  # of radius 3
    MODE = "mode"  # the value that covers most of an output pixel; the least of several

    @property
    def sums(self) -> bool:
        """Whether outputs are weighted means, not values of pixels."""
        return self not in (OwnKernel.NEAREST, OwnKernel.MODE)

    @property
    def widens(self) -> bool:
        """Whether antialiasing changes it."""
        return self in (OwnKernel.LINEAR, OwnKernel.CUBIC, OwnKernel.LANCZOS)


def own_resize(kernel: OwnKernel = OwnKernel.LINEAR, antialias: bool | None = None) -> ResizeSpec:
    """Return the resize of a kernel, which is antialiased where an axis shrinks if ``antialias`` is True.

    Raises SpecError if ``antialias`` is set for a kernel that it does not change.
    """
    if antialias is not None and not kernel.widens:
        raise SpecError(f"antialias has no effect on kernel {kernel}, which reads what an output pixel covers")
    return ResizeSpec(
        kernel=_kernel(kernel, Antialias.SHRINKING if antialias else Antialias.OFF),
        coordinates=_COORDINATES.get(kernel, Coordinates.HALF_PIXEL),
        step=Step.RATIO,
        integers=Integers.RATIONAL,
    )


def _kernel(kernel: OwnKernel, antialias: Antialias) -> Kernel:
    match kernel:
        case OwnKernel.LINEAR:  # without antialias, the border is never read with a weight
            return Linear(antialias=antialias, exclude_outside=antialias is not Antialias.OFF)
        case OwnKernel.CUBIC:
            return Cubic(a=-0.5, antialias=antialias, exclude_outside=True)
        case OwnKernel.AREA:
            return Area()
        case OwnKernel.NEAREST:
            return Nearest(rounding=Rounding.FLOOR)
        case OwnKernel.LANCZOS:
            return Lanczos(radius=3, antialias=antialias, exclude_outside=True)
        case OwnKernel.MODE:
            return Mode()
        case _:
            assert_never(kernel)


_COORDINATES = {
    OwnKernel.AREA: Coordinates.ASYMMETRIC,
    OwnKernel.MODE: Coordinates.ASYMMETRIC,
    OwnKernel.NEAREST: Coordinates.TF_HALF_PIXEL_FOR_NN,
}
