"""The choices of a spec: enumerations with the formula of each member."""

from __future__ import annotations

from enum import Enum
from typing import Literal, assert_never


class Word(Enum):
    """A choice that is written as its value."""

    __hash__ = object.__hash__  # members are single objects; Enum's own hash is a Python call, and slower

    def __str__(self) -> str:
        return str(self.value)


class Coordinates(Word):
    """The map from output index to source coordinate (computed in ``plan.formulas``)."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ALIGN_CORNERS = "align_corners"
    ASYMMETRIC = "asymmetric"
    TF_HALF_PIXEL_FOR_NN = "tf_half_pixel_for_nn"
    TF_HALF_PIXEL_THROUGHOUT = "tf_half_pixel_throughout"  # also on axes that keep their size (ONNX's page)
    TFLITE_CORNERS = "tflite_corners"  # TFLite's nearest with align_corners and half_pixel_centers

    @property
    def formula(self) -> str:
        """The source coordinate of output index ``i``."""
        match self:
            case Coordinates.HALF_PIXEL:
                return "(i + 1/2) * step - 1/2"
            case Coordinates.HALF_PIXEL_SYMMETRIC:
                return "(i + 1/2) * step - 1/2, centred"
            case Coordinates.PYTORCH_HALF_PIXEL:
                return "(i + 1/2) * step - 1/2, but 0 for a single output"
            case Coordinates.ALIGN_CORNERS:
                return "i * (in - 1) / (out - 1)"
            case Coordinates.ASYMMETRIC:
                return "i * step"
            case Coordinates.TF_HALF_PIXEL_FOR_NN:
                return "(i + 1/2) * step"
            case Coordinates.TF_HALF_PIXEL_THROUGHOUT:
                return "(i + 1/2) * step, also where the size stays the same"
            case Coordinates.TFLITE_CORNERS:
                return "(i + 1/2) * (in - 1) / (out - 1)"
            case _:
                assert_never(self)


class Rounding(Word):
    """The neighbour that a nearest resize takes."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"
    SIMPLE = "simple"  # on each axis: ceil where it shrinks, floor elsewhere

    def of(self, formula: str) -> str:
        """Return ``formula``, rounded."""
        match self:
            case Rounding.ROUND_PREFER_FLOOR:
                return f"round half down({formula})"
            case Rounding.ROUND_PREFER_CEIL:
                return f"round half up({formula})"
            case Rounding.FLOOR:
                return f"floor({formula})"
            case Rounding.CEIL:
                return f"ceil({formula})"
            case Rounding.SIMPLE:
                return f"ceil where an axis shrinks, else floor({formula})"
            case _:
                assert_never(self)

    def along(self, *, shrinks: bool) -> DirectedRounding:
        """Return the rounding of an axis that shrinks, or does not."""
        if self is Rounding.SIMPLE:
            return Rounding.CEIL if shrinks else Rounding.FLOOR
        return self


DirectedRounding = Literal[Rounding.ROUND_PREFER_FLOOR, Rounding.ROUND_PREFER_CEIL, Rounding.FLOOR, Rounding.CEIL]
"""A rounding that is the same whether an axis shrinks or not."""


class Antialias(Word):
    """Whether a kernel widens to cover all source pixels that fall into one output pixel."""

    OFF = "off"
    SHRINKING = "shrinking"  # on each axis that shrinks (ONNX, Pillow, PyTorch)
    ANY_SHRINKING = "any_shrinking"  # if any axis shrinks, on every axis by its own scale (OpenVINO's `linear`)


class AtRunTime(Word):
    """A target that is an input of the model at run time."""

    SIZES = "sizes"
    SCALES = "scales"


class Aspect(Word):
    """The bound that ``sizes`` are when the aspect ratio is kept."""

    STRETCH = "stretch"
    NOT_LARGER = "not_larger"
    NOT_SMALLER = "not_smaller"

    @property
    def takes_smallest(self) -> bool:
        """Whether all axes take the smallest of their scales, or the largest. Raises ValueError for ``STRETCH``."""
        match self:
            case Aspect.NOT_LARGER:
                return True
            case Aspect.NOT_SMALLER:
                return False
            case Aspect.STRETCH:
                raise ValueError("every axis has a scale of its own")
            case _:
                assert_never(self)


class Step(Word):
    """Source pixels per output index where ``scales`` are given (with ``sizes`` it is always input / output)."""

    GIVEN = "given"  # 1 / scale
    GIVEN_UNLESS_EQUAL = "given_unless_equal"  # the same, but an axis that keeps its size is copied
    GIVEN_UNLESS_DOUBLED = "given_unless_doubled"  # and one that doubles takes each pixel twice (PyTorch's nearest)
    GIVEN_UNLESS_ALL_EQUAL = "given_unless_all_equal"  # an image is copied if every axis keeps its size (OpenCV)
    RATIO = "ratio"  # input / output; scales only determine the output sizes


class Border(Word):
    """The pixels beyond an image."""

    EDGE = "edge"  # the last pixel, repeated
    MIRRORED = "mirrored"  # the image, mirrored at the middle of the last pixel
    SYMMETRIC = "symmetric"  # the image, mirrored at the edge of the last pixel


class Length(Word):
    """The output size in the formulas of ``align_corners`` and ``tf_crop_and_resize``."""

    WHOLE = "whole"  # the number of output elements
    FRACTIONAL = "fractional"  # scale * input size, before it is rounded down


class Arithmetic(Word):
    """The number type in which sizes and coordinates are computed; results differ where a coordinate falls on a tie."""

    EXACT = "exact"  # rationals
    ONNXRUNTIME = "onnxruntime"  # float32 in onnxruntime's order, ties recognised within 1e-6
    OPENVINO = "openvino"  # float32 in the order of OpenVINO's CPU plugin
    LITERT = "litert"  # float32 in the order of LiteRT's kernels, which multiply by the step
    TENSORRT = "tensorrt"  # float32 for the sizes that scales give, as TensorRT's builder; rationals for coordinates
    PILLOW = "pillow"  # float64 in Pillow's order; for nearest a running total
    OPENCV = "opencv"  # float64 in OpenCV's order, then float32
    OPENCV_EXACT = "opencv_exact"  # float64 in OpenCV's order; for nearest integers over 2**16
    OPENCV_ADDED = "opencv_added"  # float64: the running total of Pillow's nearest, with the sizes of OpenCV
    IPP = "ipp"  # float64, then float32: Intel's library within OpenCV, for images that it supports; else opencv
    TORCH = "torch"  # float32 for nearest, else float64, in PyTorch's order
    TORCH_FUSED = "torch_fused"  # larger outputs: nearest-exact rounds a product and a difference as one
    TORCH_DOUBLE = "torch_double"  # larger outputs: nearest in float64, for images of float64
    TENSORFLOW = "tensorflow"  # float32 in TensorFlow's order; cubic weights from a table of 1024 steps per pixel
    JAX = "jax"  # float32 in JAX's order for nearest, else float64
    SCIPY = "scipy"  # float64 in SciPy's order

    @property
    def is_library(self) -> bool:
        """Whether this is an image library's arithmetic, with weights computed in its order (``library_weights``)."""
        return self in _LIBRARIES

    @property
    def rounds_lengths(self) -> bool:
        """Whether ``scales`` give sizes that are rounded half to even instead of down."""
        return self in _ROUNDED

    @property
    def reads_unweighted(self) -> bool:
        """Whether its runtime reads inputs of weight 0 as well, so that infinities reach more outputs."""
        return self in (Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO)


_ROUNDED = {Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.OPENCV_ADDED, Arithmetic.IPP, Arithmetic.SCIPY}


def _is_of_library(arithmetic: Arithmetic) -> bool:
    match arithmetic:
        case Arithmetic.EXACT | Arithmetic.ONNXRUNTIME | Arithmetic.OPENVINO | Arithmetic.LITERT | Arithmetic.TENSORRT:
            return False
        case Arithmetic.PILLOW | Arithmetic.TENSORFLOW | Arithmetic.JAX | Arithmetic.SCIPY:
            return True
        case Arithmetic.OPENCV | Arithmetic.OPENCV_EXACT | Arithmetic.OPENCV_ADDED | Arithmetic.IPP:
            return True
        case Arithmetic.TORCH | Arithmetic.TORCH_FUSED | Arithmetic.TORCH_DOUBLE:
            return True
        case _:
            assert_never(arithmetic)


_LIBRARIES = frozenset(filter(_is_of_library, Arithmetic))  # a set, since every plan asks


class IntegerRounding(Word):
    """The rounding of a sum to an integer. Values outside the range of the type become its minimum or maximum."""

    HALF_EVEN = "half_even"  # 0.5 to 0, 1.5 to 2
    HALF_UP = "half_up"  # 0.5 to 1, -0.5 to 0
    HALF_AWAY = "half_away"  # 0.5 to 1, -0.5 to -1
    CUT_OFF = "cut_off"  # towards 0


class Unrounded(Word):
    """The end of a sum that another sum follows."""

    KEPT = "kept"  # all bits are kept


SumRounding = IntegerRounding | Unrounded
"""The end of one of several sums."""


class Integers(Word):
    """Integer results of a runtime or a library: in several steps, or in sums of its own."""

    ONNXRUNTIME = "onnxruntime"  # truncated for linear; half up after each axis under antialias
    OPENVINO = "openvino"  # half to even: once, or after each axis of 8-bit images in Pillow modes
    LITERT = "litert"  # integer weights; sums of 8 bits round half up, others half away from zero (``litert_weights``)
    LITERT_KERNEL = "litert_kernel"  # the same without XNNPACK: 8 bits as others
    OPENCV_AREA = "opencv_area"  # by the ratios of the axes: integral, fractional, growing (``plan.library_passes``)
    RATIONAL = "rational"  # exact sums of rational weights, rounded once, half to even (``executor.exact_weights``)
    IPP = "ipp"  # rounded once, half to even: fused sums of float32, in the orders of ``plan.library_weights``


class Between(Word):
    """The precision of the sums along one axis before the next axis is summed."""

    ROUNDED = "rounded"  # rounded, and clipped to the range of the type
    KEPT = "kept"  # all bits are kept
    SHORTENED = "shortened"  # OpenCV's linear: 4 bits are truncated, and 16 of each product


class Passes(Word):
    """The axis that is summed first."""

    LAST_FIRST = "last_first"  # the width of an image
    UNLESS_TALL = "unless_tall"  # the last; but the first if it is over 100 times as long and shrinks (Pillow 12)
    BY_LOSS = "by_loss"  # the last; but the first if it loses more than twice as many pixels as the last (Pillow 13)
    AT_ONCE = "at_once"  # none: each value times its weights, the first axis's before the others' (SciPy)


class Alpha(Word):
    """The effect of the last channel of an 8-bit image on the others."""

    SEPARATE = "separate"  # none
    PREMULTIPLIED = "premultiplied"  # they are multiplied by it before, and divided by it after (Pillow)
