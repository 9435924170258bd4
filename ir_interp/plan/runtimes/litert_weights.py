"""Weights of LiteRT (2.3) for integer bilinear sums: integers, at its own coordinates.

8-bit weights are those of XNNPACK, to which LiteRT delegates: 11 bits of a float32 position. Others are those of its
own kernel (``ResizeBilinearInteger`` of resize_bilinear.h): 10 bits of a position that is itself an integer of 1/1024
pixel. Derived by running both on random operators, ``tests/tflite/test_litert.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.spec import Coordinates, Linear, ResizeSpec

Whole = NDArray[np.int64]
_COORDINATES = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS, Coordinates.HALF_PIXEL)
_EIGHT_BITS, _OTHERS = 11, 10


def is_known(spec: ResizeSpec) -> bool:
    """Return whether LiteRT has a resize."""
    return spec.kernel == Linear() and spec.coordinates in _COORDINATES


def weights(spec: ResizeSpec, axis: AxisPlan, dtype: str) -> tuple[NDArray[np.intp], Whole, int]:
    """Return the two pixels of each output, their weights [out, 2], and the number of fractional bits."""
    if dtype in ("int8", "uint8"):
        low, far = _of_float32(spec.coordinates, axis.in_size, axis.out_size)
        bits = _EIGHT_BITS
    else:
        low, far = _of_whole_numbers(spec.coordinates, axis.in_size, axis.out_size)
        bits = _OTHERS
    high = np.minimum(low + 1, axis.in_size - 1)
    return np.stack([low, high], axis=1).astype(np.intp), np.stack([2**bits - far, far], axis=1), bits


def _of_float32(coordinates: Any, length: int, outputs: int) -> tuple[Whole, Whole]:
    single = np.float32
    corners = coordinates is Coordinates.ALIGN_CORNERS and outputs > 1
    step = single(length - 1) / single(outputs - 1) if corners else single(length) / single(outputs)
    at = np.arange(outputs, dtype=single) * step
    if coordinates is Coordinates.HALF_PIXEL:
        at = at + (single(0.5) * step - single(0.5))
    at = np.clip(at, single(0), single(length - 1))
    low = np.floor(at)
    return low.astype(np.int64), np.rint((at - low) * single(2**_EIGHT_BITS)).astype(np.int64)


def reads_beyond(spec: ResizeSpec, axis: AxisPlan) -> bool:
    """Say whether LiteRT's own kernel reads behind an axis: its step, rounded to 10 bits, may be too long."""
    at = _places(spec.coordinates, axis.in_size, axis.out_size)
    return bool(at[-1] // 2**_OTHERS >= axis.in_size)


def _of_whole_numbers(coordinates: Any, length: int, outputs: int) -> tuple[Whole, Whole]:
    one, at = 2**_OTHERS, _places(coordinates, length, outputs)
    low = np.clip(at // one, 0, length - 1)
    return low, np.where(at < 0, 0, at - low * one)


def _places(coordinates: Any, length: int, outputs: int) -> Whole:
    """Return where outputs lie, in 1/1024 pixel."""
    one = 2**_OTHERS
    corners = coordinates is Coordinates.ALIGN_CORNERS and outputs > 1
    pixels, parts = (length - 1, outputs - 1) if corners else (length, outputs)
    step = (one * pixels + parts // 2) // parts
    at: Whole = np.arange(outputs, dtype=np.int64) * step
    if coordinates is Coordinates.HALF_PIXEL:
        at += step // 2 - one // 2
    return at
