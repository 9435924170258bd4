"""One resize as pure data, independent of any format: no files, no tensors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ir_interp.errors import SpecError, spelled
from ir_interp.shapes import PartialShape, Shape, resolve_axes
from ir_interp.spec.fields import settle
from ir_interp.spec.integer_passes import FixedPoint, FloatingPoint
from ir_interp.spec.kernel import Area, Kernel, Lanczos, Mean, Nearest
from ir_interp.spec.modes import (
    Alpha,
    Arithmetic,
    Aspect,
    AtRunTime,
    Coordinates,
    IntegerRounding,
    Integers,
    Length,
    Step,
)
from ir_interp.spec.parts import Crop, Images, Pad, Scales, Sizes
from ir_interp.spec.prefilters import Reduce, Smooth


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
        if isinstance(self.kernel, Area | Mean) and self.coordinates not in AREA_COORDINATES:
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
        if self.integers is Integers.OPENCV_AREA and not isinstance(self.kernel, Area | Nearest):
            raise SpecError(f"integers {self.integers} require the kernel area, not {self.kernel.word}")
        if self.arithmetic not in _OPENCV or isinstance(self.kernel, Nearest | Area | Mean):
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
        if not self._is_stretched or isinstance(self.kernel, Area | Mean):
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
    def sums_of_integers(self) -> str:
        """The summation of integers in an image library; empty for runtimes, and where pixels are copied."""
        rounds = self.rounds
        if isinstance(self.kernel, Nearest) or rounds in _OF_RUNTIMES or isinstance(rounds, IntegerRounding):
            return ""
        described = (
            "fused sums of float32, as IPP orders them, rounded half to even" if rounds is Integers.IPP else str(rounds)
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
        from ir_interp.views.notebook import table

        return table(self.summary())


_IN_BOXES = (Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC, Coordinates.TF_HALF_PIXEL_FOR_NN)
_FARTHEST = 2**31  # the farthest edge of a box, in pixels
_OPENCV = (Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.IPP)
_LANCZOS_OF_OPENCV = 4
_OF_RUNTIMES = (Integers.ONNXRUNTIME, Integers.OPENVINO, Integers.LITERT, Integers.LITERT_KERNEL)
AREA_COORDINATES = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS)
_OWN_INTEGERS: dict[Arithmetic, Integers | IntegerRounding] = {
    Arithmetic.EXACT: IntegerRounding.HALF_EVEN,
    Arithmetic.ONNXRUNTIME: Integers.ONNXRUNTIME,
    Arithmetic.OPENVINO: Integers.OPENVINO,
    Arithmetic.LITERT: Integers.LITERT,
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
