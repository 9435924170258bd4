"""TFLite ``RESIZE_BILINEAR`` and ``RESIZE_NEAREST_NEIGHBOR``.

Source: the reference kernels resize_bilinear.h and resize_nearest_neighbor.h of TensorFlow Lite, and the checks of
resize_bilinear.cc. Images are NHWC. Numbers are those of LiteRT 2.3 (``tests/sources/test_tflite.py``).
"""

from __future__ import annotations

from ir_interp.errors import SpecError
from ir_interp.specs import Arithmetic, AtRunTime, Coordinates, Integers, Linear, Nearest, ResizeSpec, Rounding, Sizes
from ir_interp.translation.dialect import Attributes, Context, Dialect, since

_AXES = (1, 2)  # height and width of [batch, height, width, channels]


def read(attributes: Attributes, context: Context) -> ResizeSpec:
    """Return the meaning of an operator's options and its ``size`` input (height, width)."""
    if context.shape is not None and len(context.shape) != 4:
        raise SpecError(f"an image has 4 axes (batch, height, width, channels), not {len(context.shape)}")
    corners, half = attributes["align_corners"], attributes["half_pixel_centers"]
    if attributes["op"] == "RESIZE_BILINEAR":
        if corners and half:
            raise SpecError("align_corners and half_pixel_centers exclude each other in RESIZE_BILINEAR")
        kernel: Linear | Nearest = Linear()
        centred = Coordinates.HALF_PIXEL
    else:  # round half up between corners, else floor((i + 1/2) * step) or floor(i * step)
        kernel = Nearest(rounding=Rounding.ROUND_PREFER_CEIL if corners else Rounding.FLOOR)
        centred = Coordinates.TFLITE_CORNERS if corners else Coordinates.TF_HALF_PIXEL_FOR_NN
    size = attributes.get("size")
    is_summed_later = size is None and isinstance(kernel, Linear)
    if is_summed_later and context.dtype == "uint8":
        raise SpecError("the sums of LiteRT for uint8 and a size of run time are unknown; expected a constant size")
    return ResizeSpec(
        kernel=kernel,
        coordinates=centred if half else Coordinates.ALIGN_CORNERS if corners else Coordinates.ASYMMETRIC,
        axes=_AXES,
        target=AtRunTime.SIZES if size is None else Sizes(tuple(size)),
        arithmetic=Arithmetic.LITERT,
        integers=Integers.LITERT_KERNEL if is_summed_later and context.dtype == "int8" else None,
    )


DIALECT = Dialect(
    name="tflite",
    versions=(1,),
    vocabulary={
        "op": {"RESIZE_BILINEAR": since(1), "RESIZE_NEAREST_NEIGHBOR": since(1)},
        "align_corners": {False: since(1), True: since(1)},
        "half_pixel_centers": {True: since(1), False: since(1)},
    },
    numbers={"sizes": ("size", since(1))},
    defaults={"align_corners": (False, since(1)), "half_pixel_centers": (False, since(1))},
    omitted={},
    read=read,
)
