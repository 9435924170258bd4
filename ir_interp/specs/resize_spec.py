"""One resize as pure data, independent of any format: no files, no tensors.

First its parts beside the kernel: targets, windows and pads; then sums of integers axis by axis, for cases that are no
member of ``modes.Integers``; then the spec. Every field accepts its type, or a value with an unambiguous conversion:
the value of an enumeration, a list for a tuple, 6.0 for 6, NumPy's scalars. Anything else is a SpecError immediately.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ir_interp.arguments import settle
from ir_interp.errors import SpecError, spelled
from ir_interp.shapes import PartialShape, Shape, resolve_axes
from ir_interp.specs.kernels import (
    Area,
    Cubic,
    Kernel,
    Lanczos,
    Linear,
    Mean,
    Mode,
    Nearest,
    Reduce,
    Smooth,
)
from ir_interp.specs.modes import (
    Alpha,
    Arithmetic,
    Aspect,
    AtRunTime,
    Between,
    Coordinates,
    IntegerRounding,
    Integers,
    Length,
    Passes,
    Step,
)


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


_WIDEST = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FixedPoint:
    """Sums of integers: each weight becomes an integer over ``2**bits``, rounded half away from zero.

    If the largest weight does not fit ``width`` bits, sign included, there are fewer fractional bits accordingly.
    ``elements`` is the number of bits of the summed integers. With ``lanes``, full blocks of that many values of a row
    are summed along the first axis as vectors of float32, from the last tap to the first. ``passes`` are not AT_ONCE.

    Examples:
        >>> print(ir_interp.FixedPoint(bits=22))
        weights of 22 bits, sums rounded between axes, the last axis first

    """

    bits: int
    width: int = 32
    between: Between = Between.ROUNDED
    passes: Passes = Passes.LAST_FIRST
    elements: int = 8
    lanes: int | None = None

    word: ClassVar[str] = "fixed_point"
    example: ClassVar[str] = "FixedPoint(bits=22)"

    def __post_init__(self) -> None:
        settle(self)
        if not (1 <= self.bits < 32 and 2 <= self.width <= 32):
            raise SpecError(f"weights must have 1 to 31 fractional bits, in a width of 2 to 32: {self}")
        if self.elements not in (8, _WIDEST):
            raise SpecError(f"fixed-point sums require elements of 8 or 16 bits, not {self.elements}")
        if self.passes is Passes.AT_ONCE:
            raise SpecError(f"fixed-point sums must be of one axis after the other: {self}")
        _check_lanes(self)

    def __str__(self) -> str:
        narrower = "" if self.width == 32 else f" that fit {self.width}"
        return f"weights of {self.bits} bits{narrower}, {_order(self)}{_vectors(self.lanes)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FloatingPoint:
    """Sums of float32 or float64 products, from the first tap to the last, rounded to integers by ``rounding``.

    With ``lanes``, full blocks of that many values of a row are summed along the first axis from the last tap to the
    first.

    Examples:
        >>> print(ir_interp.FloatingPoint(bits=32, rounding="half_up"))
        float32, sums kept in full between axes, the last axis first, rounded half up

    """

    bits: int
    between: Between = Between.KEPT
    passes: Passes = Passes.LAST_FIRST
    rounding: IntegerRounding = IntegerRounding.HALF_EVEN
    lanes: int | None = None

    word: ClassVar[str] = "floating_point"
    example: ClassVar[str] = "FloatingPoint(bits=32)"

    def __post_init__(self) -> None:
        settle(self)
        if self.bits not in (32, 64):
            raise SpecError(f"floats must have 32 or 64 bits, not {self.bits}")
        if self.between is Between.SHORTENED:
            raise SpecError(f"sums of floats must be kept or rounded between axes: {self}")
        # The only library that sums over all axes at once is SciPy, which rounds so.
        if self.passes is Passes.AT_ONCE and (self.between, self.rounding) != (Between.KEPT, IntegerRounding.HALF_AWAY):
            raise SpecError(f"sums over all axes at once must be rounded half away from zero, at the end: {self}")
        _check_lanes(self)

    def __str__(self) -> str:
        return f"float{self.bits}, {_order(self)}, {_ROUNDED[self.rounding]}{_vectors(self.lanes)}"


_SUMS = {Between.ROUNDED: "rounded", Between.KEPT: "kept in full", Between.SHORTENED: "shortened"}
_FIRST = {
    Passes.LAST_FIRST: "the last axis first",
    Passes.UNLESS_TALL: "the last axis first unless the image is over 100 times as tall as wide and gets shorter",
    Passes.BY_LOSS: "the last axis first unless the first loses more than twice as many pixels",
}
_ROUNDED = {
    IntegerRounding.HALF_EVEN: "rounded half to even",
    IntegerRounding.HALF_UP: "rounded half up",
    IntegerRounding.HALF_AWAY: "rounded half away from zero",
    IntegerRounding.CUT_OFF: "rounded towards zero",
}


def _order(sums: FixedPoint | FloatingPoint) -> str:
    """Return the order of the axes, and what happens to sums between them."""
    if sums.passes is Passes.AT_ONCE:
        return "sums over all axes at once"
    return f"sums {_SUMS[sums.between]} between axes, {_FIRST[sums.passes]}"


def _vectors(lanes: int | None) -> str:
    return "" if lanes is None else f", in blocks of {lanes} values from the last tap to the first"


def _check_lanes(sums: FixedPoint | FloatingPoint) -> None:
    if sums.lanes is not None and (sums.lanes < 1 or sums.between is not Between.KEPT or sums.bits == _DOUBLE):
        raise SpecError(f"lanes must be at least 1, in sums that keep their bits and are not float64: {sums}")


_DOUBLE = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeSpec:
    """One resize, for inputs of any shape.

    ``axes`` is ``None`` for all axes, or lists the resized ones; negative entries count from the last.
    ``target`` is ``AtRunTime`` if sizes or scales are an input of the model, ``None`` if it is not specified which.
    ``integers`` is ``None`` if they are summed and rounded as in the runtime of the ``arithmetic``; a rounding
    is applied once, to the sum over all axes. ``alpha`` applies to 8-bit images whose channels come last.

    The output spans ``box``, the start and the stop of each resized axis in pixels, which may be fractional;
    ``None`` is the whole input. Pixels outside the box count if a kernel reaches them. ``before`` is a filter that is
    applied to the image first.

    Raises SpecError for a value that does not fit its field, and for fields that exclude each other.

    Examples:
        >>> spec = ir_interp.ResizeSpec(kernel="linear", axes=(0, 1), target=ir_interp.Sizes((2, 3)))
        >>> print(spec)
        linear, half_pixel: (i + 1/2) * step - 1/2, step = in / out; sizes 2, 3 on axes 0, 1
        >>> ir_interp.resize(np.arange(24, dtype=np.uint8).reshape(4, 6), spec)
        array([[ 4,  6,  8],
               [16, 18, 20]], dtype=uint8)

    """

    kernel: Kernel
    coordinates: Coordinates | Crop = Coordinates.HALF_PIXEL
    axes: tuple[int, ...] | None = None
    target: Sizes | Scales | AtRunTime | None = None
    aspect: Aspect = Aspect.STRETCH
    step: Step = Step.GIVEN
    length: Length = Length.WHOLE
    pads: tuple[Pad, ...] = ()
    arithmetic: Arithmetic = Arithmetic.EXACT
    integers: Integers | IntegerRounding | FixedPoint | FloatingPoint | None = None
    alpha: Alpha = Alpha.SEPARATE
    box: tuple[tuple[float, float], ...] | None = None
    before: Reduce | Smooth | None = None
    images: Images | None = None

    def __post_init__(self) -> None:
        settle(self)
        if self.axes is not None and len(set(self.axes)) != len(self.axes):
            raise SpecError(f"axes must not repeat: {list(self.axes)}")
        if self.axes is not None and isinstance(self.target, Sizes | Scales) and len(self.axes) != len(self.target):
            raise SpecError(f"{self.target} and axes {list(self.axes)} differ in length")
        windows = self.coordinates.roi if isinstance(self.coordinates, Crop) else None
        if self.axes is not None and windows is not None and len(self.axes) != len(windows):
            raise SpecError(f"roi has {len(windows)} windows for {len(self.axes)} axes")
        if self.aspect is not Aspect.STRETCH and self.gives_scales:
            raise SpecError(f"keep_aspect_ratio_policy {self.aspect} needs sizes, not scales")
        if isinstance(self.kernel, Area | Mean | Mode) and self.coordinates not in AREA_COORDINATES:
            known = " or ".join(map(str, AREA_COORDINATES))
            raise SpecError(f"{self.kernel.word} takes {known} coordinates, not {self.coordinates}")
        if self.alpha is Alpha.PREMULTIPLIED and (isinstance(self.kernel, Nearest) or self.axes is None):
            raise SpecError("premultiplied requires axes without the last one (the channels), and no nearest kernel")
        self._check_library()
        if self.box is not None:
            self._check_box(self.box)
        if self.before is not None and (isinstance(self.kernel, Nearest) or not self._is_stretched):
            raise SpecError(f"{self.before} requires sizes and a kernel that sums, not nearest, scales or a crop")

    def _check_library(self) -> None:
        """Refuse kernels that the library of the arithmetic, or of the sums, does not have."""
        is_rational = self.integers is Integers.RATIONAL or isinstance(self.kernel, Mode)
        if is_rational and (self.arithmetic is not Arithmetic.EXACT or self.before is not None):
            part = f"integers {self.integers}" if self.integers is Integers.RATIONAL else f"kernel {self.kernel.word}"
            raise SpecError(f"{part} requires exact arithmetic, and no step before")
        if self.integers is Integers.OPENCV_AREA and not isinstance(self.kernel, Area | Nearest):
            raise SpecError(f"integers {self.integers} require the kernel area, not {self.kernel.word}")
        if self.arithmetic not in _OPENCV or isinstance(self.kernel, Nearest | Area | Mean | Mode):
            return
        if self.kernel.is_antialiased:
            raise SpecError(f"OpenCV has no antialias; arithmetic {self.arithmetic} takes {self.kernel.word} without")
        if isinstance(self.kernel, Lanczos) and self.kernel.radius != _LANCZOS_OF_OPENCV:
            raise SpecError(f"OpenCV has Lanczos of radius {_LANCZOS_OF_OPENCV} only, not {self.kernel.radius}")

    def _check_box(self, box: tuple[tuple[float, float], ...]) -> None:
        if self.axes is None or len(self.axes) != len(box):
            raise SpecError(f"box has {len(box)} segments; expected one for each axis, and axes in the spec")
        if not all(0 <= start < stop <= _FARTHEST for start, stop in box):
            raise SpecError(f"a box must start at 0 or later and stop after its start: {list(box)}")
        if not self._is_stretched or isinstance(self.kernel, Area | Mean | Mode):
            raise SpecError(f"box requires sizes, {', '.join(map(str, _IN_BOXES))} coordinates, no area and no mean")

    @property
    def _is_stretched(self) -> bool:
        """Whether the output spans its source evenly, by sizes."""
        return self.coordinates in _IN_BOXES and self.aspect is Aspect.STRETCH and not self.gives_scales

    @property
    def gives_sizes(self) -> bool:
        """Whether the target is output sizes, constant or at run time."""
        return isinstance(self.target, Sizes) or self.target is AtRunTime.SIZES

    @property
    def gives_scales(self) -> bool:
        """Whether the target is output / input ratios, constant or at run time."""
        return isinstance(self.target, Scales) or self.target is AtRunTime.SCALES

    @property
    def rounds(self) -> Integers | IntegerRounding | FixedPoint | FloatingPoint:
        """The summation and rounding of integers."""
        return self.integers or _OWN_INTEGERS[self.arithmetic]

    @property
    def has_passes(self) -> bool:
        """Whether a library sums integers in passes along an axis each, not in the steps of a runtime."""
        if isinstance(self.kernel, Nearest):
            return False
        return isinstance(self.rounds, FixedPoint | FloatingPoint) or self.rounds in _IN_PASSES or self.is_of_litert

    @property
    def is_of_litert(self) -> bool:
        """Whether integers are summed as LiteRT does."""
        is_own = self.rounds in (Integers.LITERT, Integers.LITERT_KERNEL)
        return is_own and self.kernel == Linear() and self.coordinates in _OF_LITERT

    @property
    def sums_of_integers(self) -> str:
        """The summation of integers in an image library; empty for runtimes, and where pixels are copied."""
        rounds = self.rounds
        if isinstance(self.kernel, Nearest | Mode) or rounds in _OF_RUNTIMES or isinstance(rounds, IntegerRounding):
            return ""
        described = (
            "fused sums of float32, as IPP orders them, rounded half to even"
            if rounds is Integers.IPP
            else "exact sums, rounded half to even"
            if rounds is Integers.RATIONAL
            else str(rounds)
        )
        return described if self.alpha is Alpha.SEPARATE else f"{described}, {self.alpha}"

    @property
    def formula(self) -> str:
        """The source coordinate of output index ``i``, as in ``(i + 1/2) * step - 1/2, step = in / out``."""
        source, step = self.coordinates.formula, ""
        by_policy = self.aspect is not Aspect.STRETCH
        if "step" in source and (self.step is Step.RATIO or (self.gives_sizes and not by_policy)):
            step = ", step = in / out" if self.box is None else ", step = (stop - start) / out"
        elif "step" in source and (self.gives_scales or by_policy):
            step = ", step = 1 / scale"
        if self.box is not None:
            source = f"start + {source}"
        if isinstance(self.kernel, Nearest):
            source = self.kernel.rounding.of(source)
        elif isinstance(self.kernel, Mode):
            source += ", the value that covers most of what a pixel covers"
        elif isinstance(self.kernel, Area | Mean):
            whole = ", of every pixel all" if isinstance(self.kernel, Mean) else ""
            source += f", averaged over what a pixel covers{whole}"
        zeros = "; zeros around " + ", ".join(map(str, self.pads)) if self.pads else ""
        prefilter = f"; {self.before}" if self.before else ""
        return source + step + zeros + prefilter

    @property
    def waits(self) -> bool:
        """Whether the target, or the windows of a crop, are known only at run time."""
        has_windows = not isinstance(self.coordinates, Crop) or self.coordinates.roi is not None
        return not (isinstance(self.target, Sizes | Scales) and has_windows)

    @property
    def resized_to(self) -> str:
        """The target and its axes, as in ``sizes 50, 60 on axes 2, 3``."""
        axes = "all axes" if self.axes is None else "axes " + ", ".join(map(str, self.axes))
        policy = "" if self.aspect is Aspect.STRETCH else f" ({self.aspect})"
        match self.target:
            case Sizes(values):
                return f"sizes {', '.join(map(str, values))}{policy} on {axes}"
            case Scales(values):
                return f"scales {', '.join(f'{value:g}' for value in values)} on {axes}"
            case None:
                return f"sizes or scales at run time{policy} on {axes}"
            case at_run_time:
                return f"{at_run_time} at run time{policy} on {axes}"

    def of_floats(self) -> ResizeSpec:
        """Return the resize of floats, without the parts that apply to integers only."""
        named = isinstance(self.integers, FixedPoint | FloatingPoint)
        return replace(self, integers=None, alpha=Alpha.SEPARATE) if named else self

    def only(self, places: Sequence[int]) -> ResizeSpec:
        """Return the resize of some of the listed axes, by position in the list; for no axes it is a copy."""

        def chosen(values: Sequence[Any]) -> tuple[Any, ...]:
            return tuple(values[place] for place in places)

        coordinates, target = self.coordinates, self.target
        if isinstance(coordinates, Crop) and coordinates.roi is not None:
            coordinates = replace(coordinates, roi=chosen(coordinates.roi)) if places else Coordinates.ASYMMETRIC
        if isinstance(target, Sizes | Scales):
            target = type(target)(chosen(target.values))
        aspect, box = self.aspect if places else Aspect.STRETCH, None if self.box is None else chosen(self.box)
        axes = chosen(self.axes or ())
        return replace(self, axes=axes, target=target, coordinates=coordinates, aspect=aspect, box=box)

    def padding(self, rank: int) -> tuple[Shape, Shape]:
        """Return the number of zeros before and after every axis of an input. Raises ShapeError, as in ``plan``."""
        begin, end = [0] * rank, [0] * rank
        for pad, axis in zip(self.pads, resolve_axes(tuple(pad.axis for pad in self.pads), rank), strict=True):
            begin[axis], end[axis] = pad.begin, pad.end
        return tuple(begin), tuple(end)

    def padded(self, shape: PartialShape) -> PartialShape:
        """Return the shape of an input with its pads; None for dynamic dimensions."""
        sums = zip(shape, *self.padding(len(shape)), strict=True)
        return tuple(None if size is None else size + begin + end for size, begin, end in sums)

    def __str__(self) -> str:
        sums = f"; integers: {self.sums_of_integers}" if self.sums_of_integers else ""
        return f"{self.kernel}, {self.coordinates}: {self.formula}; {self.resized_to}{sums}"

    def summary(self) -> dict[str, str]:
        """Return the parts of the spec as text by name."""
        rows = {"mode": f"{self.kernel}, {self.coordinates}", "formula": self.formula, "target": self.resized_to}
        if isinstance(self.coordinates, Crop):
            rows |= {"roi": spelled(self.coordinates.roi), "extrapolation": spelled(self.coordinates.extrapolation)}
        if self.box is not None:
            rows["box"] = spelled(self.box)
        if self.sums_of_integers:
            rows["integers"] = self.sums_of_integers
        return rows | {name: str(getattr(self, name)) for name in ("step", "length", "arithmetic")}

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        from ir_interp.plain_text import notebook_table

        return notebook_table(self.summary())


_IN_BOXES = (Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC, Coordinates.TF_HALF_PIXEL_FOR_NN)
_FARTHEST = 2**31  # the farthest edge of a box, in pixels
_OPENCV = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.IPP)
_LANCZOS_OF_OPENCV = 4
_OF_LITERT = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS, Coordinates.HALF_PIXEL)
_IN_PASSES = (Integers.OPENCV_AREA, Integers.IPP)
_OF_RUNTIMES = (Integers.ONNXRUNTIME, Integers.OPENVINO, Integers.LITERT, Integers.LITERT_KERNEL)
AREA_COORDINATES = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS)
_OWN_INTEGERS: dict[Arithmetic, Integers | IntegerRounding] = {
    Arithmetic.EXACT: IntegerRounding.HALF_EVEN,
    Arithmetic.ONNXRUNTIME: Integers.ONNXRUNTIME,
    Arithmetic.OPENVINO: Integers.OPENVINO,
    Arithmetic.LITERT: Integers.LITERT,
    Arithmetic.TENSORRT: IntegerRounding.HALF_EVEN,
    Arithmetic.PILLOW: IntegerRounding.HALF_AWAY,
    Arithmetic.OPENCV: IntegerRounding.HALF_EVEN,
    Arithmetic.OPENCV_EXACT: IntegerRounding.HALF_EVEN,
    Arithmetic.OPENCV_ADDED: IntegerRounding.HALF_EVEN,
    Arithmetic.IPP: Integers.IPP,
    Arithmetic.TORCH: IntegerRounding.HALF_EVEN,
    Arithmetic.TORCH_FUSED: IntegerRounding.HALF_EVEN,
    Arithmetic.TORCH_DOUBLE: IntegerRounding.HALF_EVEN,
    Arithmetic.TENSORFLOW: IntegerRounding.HALF_EVEN,
    Arithmetic.JAX: IntegerRounding.HALF_EVEN,
    Arithmetic.SCIPY: IntegerRounding.HALF_AWAY,
}


def has_own_weights(kernel: Kernel, arithmetic: Arithmetic) -> bool:
    """Return whether a library has another formula than the kernel's, not only other number types."""
    if isinstance(kernel, Area):
        return arithmetic in (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT)
    return arithmetic is Arithmetic.TENSORFLOW and isinstance(kernel, Cubic) and not kernel.is_antialiased


def of_lengths(spec: ResizeSpec, out_sizes: Sequence[int]) -> ResizeSpec:
    """Return a spec adapted to an output of these sizes: PyTorch computes nearest in another loop for larger ones.

    Source: ``_use_vectorized_kernel_cond_2d`` of PyTorch's ``UpSampleKernel.cpp``, for contiguous tensors.
    """
    if not isinstance(spec.kernel, Nearest) or spec.arithmetic not in _OF_LARGER_OUTPUTS:
        return spec
    if len(out_sizes) == 2 and sum(out_sizes) <= MOST_OF_BOTH:
        return replace(spec, arithmetic=Arithmetic.TORCH)
    step = Step.GIVEN if spec.step is Step.GIVEN_UNLESS_DOUBLED else spec.step
    return replace(spec, arithmetic=_OF_LARGER_OUTPUTS[spec.arithmetic], step=step)


_OF_LARGER_OUTPUTS = {Arithmetic.TORCH: Arithmetic.TORCH_FUSED, Arithmetic.TORCH_DOUBLE: Arithmetic.TORCH_DOUBLE}
MOST_OF_BOTH = 128
"""The largest sum of output height and width whose nearest pixels another loop of PyTorch computes."""
