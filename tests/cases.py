"""One table of facts: a row is a spec, and how each dialect says it, or why it cannot.

The attributes of a row are read in every dialect and must mean the spec; the spec is written in every dialect and must
give these attributes, or be refused for this difference. ``shape`` is the input's, for rows that hold for it alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Coordinates,
    Crop,
    Cubic,
    Linear,
    Nearest,
    Pad,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Step,
)


@dataclass(frozen=True, slots=True)
class Said:
    """A sentence in one version of a dialect."""

    version: int
    attributes: dict[str, Any]
    grade: str = "exact"


@dataclass(frozen=True, slots=True)
class Refused:
    """No exact form; the message of the refusal ends so."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A spec and the dialects' words for it."""

    id: str
    spec: ResizeSpec
    shape: tuple[int | None, ...] = (1, 2, 5, 7)
    said: dict[str, Said | Refused] = field(default_factory=dict)


NCHW = (1, 2, 5, 7)
SIZES = Sizes((10, 14))
DOUBLE = Scales((2.0, 2.0))


def _spec(kernel: Any, coordinates: Any, target: Any = SIZES, **more: Any) -> ResizeSpec:
    return ResizeSpec(
        **{"kernel": kernel, "coordinates": coordinates, "target": target, "axes": (2, 3)}
        | {"arithmetic": Arithmetic.ONNXRUNTIME}
        | more
    )


def _onnx(mode: str, coordinates: str, **more: Any) -> Said:
    grade = more.pop("grade", "exact")
    version = more.pop("version", 19)
    words = {"mode": mode, "coordinate_transformation_mode": coordinates, **more}
    target = {} if {"sizes", "scales"} & more.keys() else {"sizes": (10, 14)}
    return Said(version, {"axes": (2, 3)} | words | target, grade)


def _ir(mode: str, coordinates: str, **more: Any) -> Said:
    grade = more.pop("grade", "exact")
    scales = {"shape_calculation_mode": "scales"} if "scales" in more else {"shape_calculation_mode": "sizes"}
    target = {} if {"sizes", "scales"} & more.keys() else {"sizes": (10, 14)}
    words = {"mode": mode, **scales, "coordinate_transformation_mode": coordinates, **more}
    return Said(11, words | {"axes": (2, 3)} | target, grade)


def _trt(mode: str, coordinates: str, **more: Any) -> Said:
    grade = more.pop("grade", "exact")
    target = {} if "scales" in more else {"shape": (1, 2, 10, 14)}
    return Said(10, {"resize_mode": mode, "coordinate_transformation": coordinates, **more, **target}, grade)


FOR_SHAPE = "exact for this shape"
TIES = "exact but for float32 ties"

CASES = [
    Case(
        id="linear half_pixel",
        spec=_spec(Linear(), Coordinates.HALF_PIXEL),
        said={
            "onnx": _onnx("linear", "half_pixel"),
            "openvino": _ir("linear_onnx", "half_pixel"),
            "tensorrt": _trt("LINEAR", "HALF_PIXEL", selector_for_single_pixel="FORMULA"),
            "tflite": Refused("axes [1, 2] (needed: [2, 3])"),
        },
    ),
    Case(
        id="linear align_corners",
        spec=_spec(Linear(), Coordinates.ALIGN_CORNERS),
        said={
            "onnx": _onnx("linear", "align_corners"),
            "openvino": _ir("linear_onnx", "align_corners"),
            "tensorrt": _trt("LINEAR", "ALIGN_CORNERS"),
        },
    ),
    Case(
        id="linear asymmetric by whole scales",
        spec=_spec(Linear(), Coordinates.ASYMMETRIC, DOUBLE),
        said={
            "onnx": _onnx("linear", "asymmetric", scales=(2.0, 2.0)),
            "openvino": _ir("linear_onnx", "asymmetric", scales=(2.0, 2.0)),
            "tensorrt": _trt("LINEAR", "ASYMMETRIC", scales=(1.0, 1.0, 2.0, 2.0)),
        },
    ),
    Case(
        id="linear pytorch_half_pixel: TensorRT takes the upper pixel",
        spec=_spec(Linear(), Coordinates.PYTORCH_HALF_PIXEL, Sizes((1, 14))),
        said={
            "onnx": _onnx("linear", "pytorch_half_pixel", sizes=(1, 14)),
            "openvino": Said(
                11,
                {
                    "mode": "linear_onnx",
                    "shape_calculation_mode": "sizes",
                    "coordinate_transformation_mode": "pytorch_half_pixel",
                    "axes": (2, 3),
                    "sizes": (1, 14),
                },
            ),
            "tensorrt": Said(
                10,
                {
                    "resize_mode": "LINEAR",
                    "coordinate_transformation": "HALF_PIXEL",
                    "selector_for_single_pixel": "UPPER",
                    "shape": (1, 2, 1, 14),
                },
            ),
        },
    ),
    Case(
        id="linear half_pixel_symmetric is half_pixel where sizes are given",
        spec=_spec(Linear(), Coordinates.HALF_PIXEL_SYMMETRIC),
        said={
            "onnx": _onnx("linear", "half_pixel_symmetric"),
            "openvino": _ir("linear_onnx", "half_pixel"),
            "tensorrt": _trt("LINEAR", "HALF_PIXEL", selector_for_single_pixel="FORMULA"),
        },
    ),
    Case(
        id="linear half_pixel_symmetric by a scale that leaves a rest is nothing else",
        spec=_spec(Linear(), Coordinates.HALF_PIXEL_SYMMETRIC, Scales((0.7, 0.7))),
        said={
            "onnx": _onnx("linear", "half_pixel_symmetric", scales=(0.7, 0.7)),
            "openvino": Refused("coordinates half_pixel (needed: half_pixel_symmetric)"),
        },
    ),
    Case(
        id="nearest floor asymmetric",
        spec=_spec(Nearest(rounding=Rounding.FLOOR), Coordinates.ASYMMETRIC, DOUBLE),
        said={
            "onnx": _onnx("nearest", "asymmetric", nearest_mode="floor", scales=(2.0, 2.0)),
            "openvino": _ir("nearest", "asymmetric", nearest_mode="floor", scales=(2.0, 2.0)),
            "tensorrt": _trt("NEAREST", "ASYMMETRIC", nearest_rounding="FLOOR", scales=(1.0, 1.0, 2.0, 2.0)),
        },
    ),
    Case(
        id="nearest round half down",
        spec=_spec(Nearest(rounding=Rounding.ROUND_PREFER_FLOOR), Coordinates.HALF_PIXEL),
        said={
            "onnx": _onnx("nearest", "half_pixel", nearest_mode="round_prefer_floor"),
            "openvino": _ir("nearest", "half_pixel", nearest_mode="round_prefer_floor", grade=FOR_SHAPE),
            "tensorrt": _trt(
                "NEAREST",
                "HALF_PIXEL",
                selector_for_single_pixel="FORMULA",
                nearest_rounding="HALF_DOWN",
                grade=FOR_SHAPE,
            ),
        },
    ),
    Case(
        id="nearest tf_half_pixel_for_nn floor is half_pixel, half up",
        spec=_spec(Nearest(rounding=Rounding.FLOOR), Coordinates.TF_HALF_PIXEL_FOR_NN),
        shape=(1, 2, None, None),
        said={
            "onnx": _onnx("nearest", "half_pixel", nearest_mode="round_prefer_ceil", grade=TIES),
            "openvino": _ir("nearest", "tf_half_pixel_for_nn", nearest_mode="floor"),
            "tensorrt": _trt(
                "NEAREST",
                "HALF_PIXEL",
                selector_for_single_pixel="FORMULA",
                nearest_rounding="HALF_UP",
                grade=TIES,
            ),
        },
    ),
    Case(
        id="nearest `simple` is floor where no axis shrinks",
        spec=_spec(Nearest(rounding=Rounding.SIMPLE), Coordinates.ASYMMETRIC, DOUBLE),
        shape=(1, 2, None, None),
        said={
            "onnx": _onnx("nearest", "asymmetric", nearest_mode="floor", scales=(2.0, 2.0)),
            "openvino": _ir("nearest", "asymmetric", nearest_mode="simple", scales=(2.0, 2.0)),
            "tensorrt": _trt("NEAREST", "ASYMMETRIC", nearest_rounding="FLOOR", scales=(1.0, 1.0, 2.0, 2.0)),
        },
    ),
    Case(
        id="nearest at a float32 tie: onnxruntime takes the pixel above, OpenVINO the one below",
        spec=_spec(Nearest(rounding=Rounding.ROUND_PREFER_CEIL), Coordinates.ASYMMETRIC, Sizes((4, 7))),
        shape=(1, 2, 7, 7),
        said={
            "onnx": _onnx("nearest", "asymmetric", nearest_mode="round_prefer_ceil", sizes=(4,), axes=(2,)),
            "openvino": Refused("float32 decides: output 2 of axis 2 (7 -> 4) takes other source pixels"),
        },
    ),
    Case(
        id="a length that float32 decides: 5 * 1.4 is 7 there",
        spec=_spec(Linear(), Coordinates.ALIGN_CORNERS, Scales((1.4, 1.0))),
        said={
            "onnx": _onnx("linear", "align_corners", scales=(1.4,), axes=(2,)),
            "tensorrt": Said(
                10,
                {
                    "resize_mode": "LINEAR",
                    "coordinate_transformation": "ALIGN_CORNERS",
                    "scales": (1.0, 1.0, 1.4, 1.0),
                },
                FOR_SHAPE,
            ),
        },
    ),
    Case(
        id="cubic",
        spec=_spec(Cubic(a=-0.5), Coordinates.HALF_PIXEL),
        said={
            "onnx": _onnx("cubic", "half_pixel", cubic_coeff_a=-0.5),
            "openvino": _ir("cubic", "half_pixel", cube_coeff=-0.5),
            "tensorrt": _trt("CUBIC", "HALF_PIXEL", selector_for_single_pixel="FORMULA", cubic_coeff=-0.5),
        },
    ),
    Case(
        id="cubic without taps outside: Interpolate has no word for it",
        spec=_spec(Cubic(a=-0.75, exclude_outside=True), Coordinates.HALF_PIXEL),
        said={
            "onnx": _onnx("cubic", "half_pixel", exclude_outside=1, cubic_coeff_a=-0.75),
            "openvino": Refused("exclude_outside false (needed: true)"),
            "tensorrt": _trt(
                "CUBIC", "HALF_PIXEL", selector_for_single_pixel="FORMULA", exclude_outside=True, cubic_coeff=-0.75
            ),
        },
    ),
    Case(
        id="antialias without taps outside is Pillow's",
        spec=_spec(Linear(antialias=Antialias.SHRINKING, exclude_outside=True), Coordinates.HALF_PIXEL, Sizes((3, 4))),
        said={
            "onnx": _onnx("linear", "half_pixel", antialias=1, exclude_outside=1, sizes=(3, 4)),
            "openvino": Said(
                11,
                {"mode": "bilinear_pillow", "shape_calculation_mode": "sizes", "axes": (2, 3), "sizes": (3, 4)},
            ),
            "tensorrt": Refused("antialias off (needed: shrinking), exclude_outside false (needed: true)"),
        },
    ),
    Case(
        id="antialias that piles weight on the edge: ONNX alone",
        spec=_spec(Linear(antialias=Antialias.SHRINKING), Coordinates.HALF_PIXEL, Sizes((3, 4))),
        said={
            "onnx": _onnx("linear", "half_pixel", antialias=1, sizes=(3, 4)),
            "openvino": Refused("antialias off (needed: shrinking)"),
            "tensorrt": Refused("antialias off (needed: shrinking)"),
        },
    ),
    Case(
        id="antialias changes nothing where no axis shrinks",
        spec=_spec(Linear(antialias=Antialias.SHRINKING), Coordinates.HALF_PIXEL),
        said={
            "onnx": _onnx("linear", "half_pixel", antialias=1),
            "openvino": _ir("linear_onnx", "half_pixel", grade=FOR_SHAPE),
        },
    ),
    Case(
        id="crop",
        spec=_spec(Linear(), Crop(roi=((0.1, 0.9), (0.2, 0.8)), extrapolation=1.5)),
        said={
            "onnx": _onnx(
                "linear", "tf_crop_and_resize", extrapolation_value=1.5, roi=(0.1, 0.2, 0.9, 0.8), sizes=(10, 14)
            ),
            "openvino": Refused("coordinates half_pixel (needed: tf_crop_and_resize)"),
        },
    ),
    Case(
        id="a crop whose scales multiply its window, as ONNX's page has it",
        spec=_spec(Linear(), Crop(roi=((0.0, 0.5), (0.0, 1.0)), scales_window=True), DOUBLE),
        shape=(1, 2, None, None),
        said={
            "onnx": Refused("output length none (needed: of the window)"),
            "openvino": Refused(
                "output length none (needed: of the window), coordinates half_pixel (needed: tf_crop_and_resize)"
            ),
        },
    ),
    Case(
        id="the same of known lengths, which sizes say",
        spec=_spec(Linear(), Crop(roi=((0.0, 0.5), (0.0, 1.0)), scales_window=True), DOUBLE),
        said={
            "onnx": _onnx(
                "linear",
                "tf_crop_and_resize",
                roi=(0.0, 0.0, 0.5, 1.0),
                sizes=(5, 14),
                extrapolation_value=0.0,
                grade=FOR_SHAPE,
            ),
        },
    ),
    Case(
        id="a crop of a window as long as the axis",
        spec=_spec(Linear(), Crop(roi=((0.5, 1.5), (-1.0, 0.0)), scales_window=True), DOUBLE),
        said={
            "onnx": _onnx(
                "linear",
                "tf_crop_and_resize",
                roi=(0.5, -1.0, 1.5, 0.0),
                scales=(2.0, 2.0),
                grade=FOR_SHAPE,
                extrapolation_value=0.0,
            ),
        },
    ),
    Case(
        id="fractional scales by the ratio of lengths, as ONNX's page and TensorRT have it",
        spec=_spec(Linear(), Coordinates.HALF_PIXEL, Scales((1.5, 1.5)), step=Step.RATIO, arithmetic=Arithmetic.EXACT),
        shape=(1, 2, None, None),
        said={
            "onnx": Refused("step given (needed: ratio)"),
            "tensorrt": _trt(
                "LINEAR",
                "HALF_PIXEL",
                selector_for_single_pixel="FORMULA",
                scales=(1.0, 1.0, 1.5, 1.5),
                grade=TIES,  # the builder rounds size * scale to float32
            ),
        },
    ),
    Case(
        id="an aspect policy stepped by the ratio of lengths, as ONNX's page has it",
        spec=_spec(
            Linear(),
            Coordinates.HALF_PIXEL,
            Sizes((8, 8)),
            aspect=Aspect.NOT_LARGER,
            step=Step.RATIO,
        ),
        shape=(1, 2, None, None),
        said={"onnx": Refused("step none (needed: ratio)")},
    ),
    Case(
        id="half a pixel further on axes that stay, too",
        spec=_spec(Linear(), Coordinates.TF_HALF_PIXEL_THROUGHOUT),
        shape=(1, 2, None, None),
        said={
            "onnx": Refused("coordinates half_pixel (needed: tf_half_pixel_throughout)"),
            "openvino": Refused("coordinates half_pixel (needed: tf_half_pixel_throughout)"),
        },
    ),
    Case(
        id="aspect policy",
        spec=_spec(Linear(), Coordinates.HALF_PIXEL, Sizes((10, 10)), aspect=Aspect.NOT_LARGER),
        said={
            "onnx": _onnx("linear", "half_pixel", keep_aspect_ratio_policy="not_larger", sizes=(10, 10)),
            "openvino": Refused("aspect policy stretch (needed: not_larger)"),
        },
    ),
    Case(
        id="nearest simple: floor where all axes grow",
        spec=_spec(Nearest(rounding=Rounding.SIMPLE), Coordinates.ALIGN_CORNERS, arithmetic=Arithmetic.EXACT),
        said={
            "onnx": _onnx("nearest", "align_corners", nearest_mode="floor", grade=FOR_SHAPE),
            "openvino": _ir("nearest", "align_corners", nearest_mode="simple", grade=FOR_SHAPE),
        },
    ),
    Case(
        id="nearest simple, up and down: Resize-10 does that",
        spec=_spec(Nearest(rounding=Rounding.SIMPLE), Coordinates.ASYMMETRIC, Sizes((3, 12))),
        said={
            "onnx": Said(
                10, {"mode": "nearest", "scales": (1.0, 1.0, 0.6000000238418579, 1.7142857313156128)}, FOR_SHAPE
            ),
            "openvino": _ir("nearest", "asymmetric", nearest_mode="simple", sizes=(3, 12)),
        },
    ),
    Case(
        id="pads",
        spec=_spec(
            Linear(),
            Coordinates.ASYMMETRIC,
            pads=(Pad(axis=2, begin=1, end=0),),
            arithmetic=Arithmetic.OPENVINO,
        ),
        said={
            "onnx": Refused("pads none (needed: [2, 1, 0])"),
            "openvino": Said(
                11,
                {
                    "mode": "linear_onnx",
                    "shape_calculation_mode": "sizes",
                    "coordinate_transformation_mode": "asymmetric",
                    "axes": (2, 3),
                    "sizes": (10, 14),
                    "pads_begin": (0, 0, 1, 0),
                    "pads_end": (0, 0, 0, 0),
                },
            ),
        },
    ),
    Case(
        id="area",
        spec=_spec(Area(), Coordinates.ASYMMETRIC, Sizes((2, 3)), arithmetic=Arithmetic.OPENVINO),
        said={
            "onnx": Refused("kernel nearest (needed: area)"),
            "openvino": Said(1, {"mode": "area", "align_corners": False, "axes": (2, 3), "sizes": (2, 3)}),
        },
    ),
    Case(
        id="TFLite bilinear, channels last",
        spec=_spec(Linear(), Coordinates.HALF_PIXEL, axes=(1, 2), arithmetic=Arithmetic.EXACT),
        shape=(1, 5, 7, 2),
        said={
            "tflite": Said(
                1,
                {
                    "op": "RESIZE_BILINEAR",
                    "align_corners": False,
                    "half_pixel_centers": True,
                    "size": (10, 14),
                },
            ),
            "onnx": Said(
                19,
                {
                    "mode": "linear",
                    "coordinate_transformation_mode": "half_pixel",
                    "axes": (1, 2),
                    "sizes": (10, 14),
                },
            ),
        },
    ),
]
