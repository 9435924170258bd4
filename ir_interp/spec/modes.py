"""The words of a spec: what can be chosen, and the formula of each choice."""

from __future__ import annotations

from enum import Enum


class Word(Enum):
    """A choice that is written as its value."""

    __hash__ = object.__hash__  # members are single objects; Enum's own hash is a call of Python

    def __str__(self) -> str:
        return str(self.value)


class Coordinates(Word):
    """How an output index becomes a source coordinate (computed in ``plan.axes.coordinates``)."""

    HALF_PIXEL = "half_pixel"
    HALF_PIXEL_SYMMETRIC = "half_pixel_symmetric"
    PYTORCH_HALF_PIXEL = "pytorch_half_pixel"
    ALIGN_CORNERS = "align_corners"
    ASYMMETRIC = "asymmetric"
    TF_HALF_PIXEL_FOR_NN = "tf_half_pixel_for_nn"
    TF_HALF_PIXEL_THROUGHOUT = "tf_half_pixel_throughout"  # of axes that keep their length too (ONNX's page)
    TFLITE_CORNERS = "tflite_corners"  # of TFLite's nearest with align_corners and half_pixel_centers

    @property
    def formula(self) -> str:
        """The source coordinate of output index ``i``."""
        return _FORMULAS[self]


_FORMULAS = {
    Coordinates.HALF_PIXEL: "(i + 1/2) * step - 1/2",
    Coordinates.HALF_PIXEL_SYMMETRIC: "(i + 1/2) * step - 1/2, centred",
    Coordinates.PYTORCH_HALF_PIXEL: "(i + 1/2) * step - 1/2, but 0 for a single output",
    Coordinates.ALIGN_CORNERS: "i * (in - 1) / (out - 1)",
    Coordinates.ASYMMETRIC: "i * step",
    Coordinates.TF_HALF_PIXEL_FOR_NN: "(i + 1/2) * step",
    Coordinates.TF_HALF_PIXEL_THROUGHOUT: "(i + 1/2) * step, where the length stays too",
    Coordinates.TFLITE_CORNERS: "(i + 1/2) * (in - 1) / (out - 1)",
}


class Rounding(Word):
    """Which neighbour a nearest resize takes."""

    ROUND_PREFER_FLOOR = "round_prefer_floor"
    ROUND_PREFER_CEIL = "round_prefer_ceil"
    FLOOR = "floor"
    CEIL = "ceil"
    SIMPLE = "simple"  # on each axis: ceil where it shrinks, floor elsewhere

    def of(self, formula: str) -> str:
        """Return ``formula``, rounded."""
        return f"{_ROUNDED[self]}({formula})"


_ROUNDED = {
    Rounding.ROUND_PREFER_FLOOR: "round half down",
    Rounding.ROUND_PREFER_CEIL: "round half up",
    Rounding.FLOOR: "floor",
    Rounding.CEIL: "ceil",
    Rounding.SIMPLE: "ceil where an axis shrinks, else floor",
}


class Antialias(Word):
    """Whether a kernel is widened to cover all the source pixels that fall into one output pixel."""

    OFF = "off"
    SHRINKING = "shrinking"  # on each axis that shrinks (ONNX, Pillow, PyTorch)
    ANY_SHRINKING = "any_shrinking"  # if any axis shrinks, on every axis by its own scale (OpenVINO's `linear`)


class AtRunTime(Word):
    """A target that is an input of the model."""

    SIZES = "sizes"
    SCALES = "scales"


class Aspect(Word):
    """What ``sizes`` bound when the aspect ratio is kept."""

    STRETCH = "stretch"
    NOT_LARGER = "not_larger"
    NOT_SMALLER = "not_smaller"


class Step(Word):
    """Source units per output index where ``scales`` are given (with ``sizes`` it is always input / output)."""

    GIVEN = "given"  # 1 / scale
    GIVEN_UNLESS_EQUAL = "given_unless_equal"  # the same, but an axis that keeps its length is copied
    GIVEN_UNLESS_DOUBLED = "given_unless_doubled"  # and one that doubles takes each pixel twice (PyTorch's nearest)
    GIVEN_UNLESS_ALL_EQUAL = "given_unless_all_equal"  # an image is copied where every axis keeps its length (OpenCV)
    RATIO = "ratio"  # input / output; scales only determine the output lengths


class Border(Word):
    """Which pixels lie beyond an image."""

    EDGE = "edge"  # the last one, again and again
    MIRRORED = "mirrored"  # those of the image, mirrored at the middle of the last one
    SYMMETRIC = "symmetric"  # the same, mirrored at its edge


class Length(Word):
    """What plays the output length in ``align_corners`` and ``tf_crop_and_resize``."""

    WHOLE = "whole"  # the number of output elements
    FRACTIONAL = "fractional"  # scale * input length, before it is rounded down


class Arithmetic(Word):
    """In what numbers lengths and coordinates are computed: they differ where a coordinate falls on a tie."""

    EXACT = "exact"  # rationals
    ONNXRUNTIME = "onnxruntime"  # float32 in onnxruntime's order, ties recognised within 1e-6
    OPENVINO = "openvino"  # float32 in the order of OpenVINO's CPU plugin
    LITERT = "litert"  # float32 in the order of LiteRT's kernels, which multiply by the step
    PILLOW = "pillow"  # float64 in Pillow's order: of nearest a running total
    OPENCV = "opencv"  # float64 in OpenCV's order, then float32
    OPENCV_EXACT = "opencv_exact"  # float64 in OpenCV's order; of nearest whole numbers over 2**16
    OPENCV_ADDED = "opencv_added"  # float64: the running total of Pillow's nearest, with the lengths of OpenCV
    IPP = "ipp"  # float64, then float32: Intel's library within OpenCV, of the images that it takes; of others opencv
    TORCH = "torch"  # float32 for nearest, else float64, in PyTorch's order
    TORCH_FUSED = "torch_fused"  # of larger outputs: nearest-exact rounds a product and a difference as one
    TORCH_DOUBLE = "torch_double"  # of larger outputs: nearest in float64, for images of float64
    TENSORFLOW = "tensorflow"  # float32 in TensorFlow's order; cubic weights from a table of 1024 steps a pixel
    JAX = "jax"  # float32 in JAX's order for nearest, else float64
    SCIPY = "scipy"  # float64 in SciPy's order

    @property
    def is_library(self) -> bool:
        """Whether an image library computes so: its weights, too, are found in its own order (``library_weights``)."""
        return self in _LIBRARIES

    @property
    def rounds_lengths(self) -> bool:
        """Whether ``scales`` make lengths that are rounded half to even, not down."""
        return self in _ROUNDED_LENGTHS


_RUNTIMES = {Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO, Arithmetic.LITERT}
_ROUNDED_LENGTHS = {Arithmetic.OPENCV, Arithmetic.OPENCV_EXACT, Arithmetic.OPENCV_ADDED, Arithmetic.IPP}
_LIBRARIES = frozenset(Arithmetic) - {Arithmetic.EXACT} - _RUNTIMES


class IntegerRounding(Word):
    """How a sum becomes an integer. What an integer type does not hold becomes its least or its largest value."""

    HALF_EVEN = "half_even"  # 0.5 to 0, 1.5 to 2
    HALF_UP = "half_up"  # 0.5 to 1, -0.5 to 0
    HALF_AWAY = "half_away"  # 0.5 to 1, -0.5 to -1
    CUT_OFF = "cut_off"  # towards 0

    @property
    def code(self) -> int:
        """The number by which compiled loops know a rounding; 0 is none."""
        return _CODES[self]


_CODES = {rounding: 1 + place for place, rounding in enumerate(IntegerRounding)}


class Integers(Word):
    """How a runtime or a library makes integers: in several steps, or in sums of its own."""

    ONNXRUNTIME = "onnxruntime"  # cut off in linear; half up after each axis under antialias
    OPENVINO = "openvino"  # half to even: once, or after each axis of 8-bit images in Pillow modes
    LITERT = (
        "litert"  # whole weights: of 8 bits half up, of others half away from zero (``plan.runtimes.litert_weights``)
    )
    OPENCV_AREA = (
        "opencv_area"  # by the ratios of the axes: whole ones, others, growing ones (``plan.libraries.passes``)
    )
    IPP = "ipp"  # rounded once, half to even: fused sums of float32, in the orders of ``opencv_ipp_order``


class Between(Word):
    """What becomes of the sums along one axis before the next axis is summed."""

    ROUNDED = "rounded"  # they are rounded, and cut at the largest and the least value
    KEPT = "kept"  # all their bits are kept
    SHORTENED = "shortened"  # OpenCV's linear: 4 bits are cut off, and 16 of each product


class Passes(Word):
    """Which axis is summed first."""

    LAST_FIRST = "last_first"  # of an image the width
    UNLESS_TALL = "unless_tall"  # the last; but the first where that is over 100 times as long, and shrinks (Pillow 12)
    BY_LOSS = "by_loss"  # the last; but the first where that loses pixels, over twice as many as the last (Pillow 13)


class Alpha(Word):
    """What the last channel of an 8-bit image does to the others."""

    SEPARATE = "separate"  # nothing
    PREMULTIPLIED = "premultiplied"  # they are multiplied by it before, and divided by it after (Pillow)
