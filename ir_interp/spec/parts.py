"""The parts of a spec beside its kernel: targets, windows and pads.

Every field accepts its type, or a value with an unambiguous conversion: the value of an enumeration, a list for a
tuple, 6.0 for 6, NumPy's scalars. Anything else is a SpecError immediately (``fields``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ir_interp.errors import SpecError
from ir_interp.spec.fields import settle


@dataclass(frozen=True, slots=True, kw_only=True)
class Crop:
    """``tf_crop_and_resize``: the output spans a window of the source, in fractions of its corners.

    ``roi`` holds (start, end) per resized axis in the order of ``ResizeSpec.axes``; ``None`` means that it is an
    input at run time. Outputs whose source lies outside the image are ``extrapolation``. ``scales_window`` means that
    scales multiply the window of an axis, not the whole axis.

    Examples:
        >>> crop = ir_interp.Crop(roi=((0.25, 1.5),), extrapolation=-1)
        >>> spec = ir_interp.ResizeSpec(kernel="linear", coordinates=crop, target=ir_interp.Sizes((6,)))
        >>> ir_interp.resize(np.array([0.0, 4.0, 8.0]), spec)
        array([ 2.,  4.,  6.,  8., -1., -1.])

    """

    roi: tuple[tuple[float, float], ...] | None
    extrapolation: float = 0.0
    scales_window: bool = False

    word: ClassVar[str] = "tf_crop_and_resize"
    example: ClassVar[str] = "Crop(roi=((0.25, 0.75), (0, 1)))"

    def __post_init__(self) -> None:
        settle(self)
        if self.roi is not None and not self.roi:
            raise SpecError("roi is empty; tf_crop_and_resize needs a start and an end for every resized axis")
        if self.roi is not None and not all(abs(edge) <= 2**31 for window in self.roi for edge in window):
            raise SpecError(f"roi must be finite, and within 2**31: {list(self.roi)}")

    def __str__(self) -> str:
        return self.word

    @property
    def edges(self) -> tuple[float, ...] | None:
        """The starts of all windows, then their ends, as in ONNX; None if known only at run time."""
        return None if self.roi is None else tuple(edge for side in zip(*self.roi, strict=True) for edge in side)

    @property
    def formula(self) -> str:
        """The source coordinate of output index ``i``."""
        return "start * (in - 1) + i * (end - start) * (in - 1) / (out - 1)"


@dataclass(frozen=True, slots=True)
class Sizes:
    """The requested output sizes, in the order of ``ResizeSpec.axes``.

    Examples:
        >>> print(ir_interp.Sizes([50.0, 60]))
        sizes [50, 60]

    """

    values: tuple[int, ...]

    example: ClassVar[str] = "Sizes((50, 60))"

    def __post_init__(self) -> None:
        settle(self, values="sizes")
        if not all(0 <= size < 2**63 for size in self.values):
            raise SpecError(f"sizes must be non-negative 64-bit integers: {list(self.values)}")

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"sizes {list(self.values)}"


@dataclass(frozen=True, slots=True)
class Scales:
    """The requested output / input ratios, in the order of ``ResizeSpec.axes``; float32 values.

    Examples:
        >>> print(ir_interp.Scales((0.5, 2)))
        scales [0.5, 2.0]

    """

    values: tuple[float, ...]

    example: ClassVar[str] = "Scales((2.0, 2.0))"

    def __post_init__(self) -> None:
        settle(self, values="scales")
        for scale in self.values:
            if not _LEAST <= scale <= _LARGEST:
                raise SpecError(f"scales must be finite and greater than 0 as float32: {list(self.values)}")

    def __len__(self) -> int:
        return len(self.values)

    def __str__(self) -> str:
        return f"scales {list(self.values)}"


_LEAST, _LARGEST = 2.0**-149, (2 - 2.0**-23) * 2.0**127  # the finite float32 above 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad:
    """Zeros added around one axis before the resize.

    Examples:
        >>> pad = ir_interp.Pad(axis=0, begin=0, end=1)
        >>> spec = ir_interp.ResizeSpec(kernel="linear", pads=(pad,), target=ir_interp.Sizes((2,)))
        >>> ir_interp.resize(np.array([2.0, 4.0, 6.0]), spec)
        array([3., 3.])

    """

    axis: int
    begin: int
    end: int

    example: ClassVar[str] = "Pad(axis=2, begin=0, end=1)"

    def __post_init__(self) -> None:
        settle(self)
        if not 0 <= min(self.begin, self.end) <= max(self.begin, self.end) < 2**63:
            raise SpecError(f"pads must be non-negative 64-bit integers: {self}")

    def __str__(self) -> str:
        return f"axis {self.axis} ({self.begin}, {self.end})"


FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """The images that a library call accepts: their element types and, if limited, their numbers of channels.

    ``call`` is the argument that messages name, as ``INTER_AREA`` or ``mode RGB``; ``hint`` is the advice for a wrong
    number of channels.
    """

    elements: tuple[str, ...]
    call: str
    channels: tuple[int, ...] | None = None
    hint: str = ""

    word: ClassVar[str] = "images"
    example: ClassVar[str] = "Images(elements=('uint8',), call='INTER_AREA')"

    def __post_init__(self) -> None:
        settle(self)

    @classmethod
    def of(cls, dtype: str | None, usual: str, call: str) -> Images:
        """Return the images of one element type, by default the ``usual`` one; floats of every width are included."""
        return cls(elements=(dtype or usual, *(element for element in FLOATS if element != dtype)), call=call)

    def check(self, dtype: str, channels: int) -> None:
        """Raise SpecError for an image that the call does not accept."""
        if dtype not in self.elements:
            known = ", ".join(self.elements)
            raise SpecError(f"{self.call} here takes {known}; the image is {dtype}: specify its dtype in the call")
        if self.channels is not None and dtype not in FLOATS and channels not in self.channels:
            known = ", ".join(map(str, self.channels))
            raise SpecError(f"{self.call} takes images of {known} channels; this one has {channels}{self.hint}")
