"""Weights of LiteRT (2.3) for integer bilinear sums: integers, at its own coordinates.

8-bit weights are those of XNNPACK, to which LiteRT delegates: 11 bits of a float32 position. Others are those of its
own kernel (``ResizeBilinearInteger`` of resize_bilinear.h): 10 bits of a position that is itself an integer of 1/1024
pixel. It also resizes int8 to a size of run time, which XNNPACK does not take. Derived by running both on random
operators, ``tests/sources/test_tflite.py``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.axes.coordinates import AxisPlan
from ir_interp.spec import Coordinates, IntegerRounding, Integers, Linear, ResizeSpec

Whole = NDArray[np.int64]
_COORDINATES = (Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS, Coordinates.HALF_PIXEL)
# Fractional bits of a weight, in XNNPACK's kernel and in LiteRT's own.
_OF_XNNPACK, _OWN = 11, 10


def is_known(spec: ResizeSpec) -> bool:
    """Return whether the integers of a resize are summed as LiteRT does."""
    is_own = spec.rounds in (Integers.LITERT, Integers.LITERT_KERNEL)
    return is_own and spec.kernel == Linear() and spec.coordinates in _COORDINATES


def is_of_xnnpack(spec: ResizeSpec, dtype: str) -> bool:
    """Return whether XNNPACK computes a resize of integers."""
    return spec.rounds is Integers.LITERT and dtype in ("int8", "uint8")


def rounding(spec: ResizeSpec, dtype: str) -> IntegerRounding:
    """Return how the sum along the last axis is rounded."""
    return IntegerRounding.HALF_UP if is_of_xnnpack(spec, dtype) else IntegerRounding.HALF_AWAY


def weights(spec: ResizeSpec, axis: AxisPlan, dtype: str) -> tuple[NDArray[np.intp], Whole, int]:
    """Return the two pixels of each output, their weights [out, 2], and the number of fractional bits."""
    bits = fractional_bits(spec, dtype)
    if is_of_xnnpack(spec, dtype):
        positions = axis.index.astype(np.float32)
        in_size, outputs = np.float32(axis.in_size), np.float32(axis.out_size)
        with np.errstate(divide="ignore", invalid="ignore"):  # a single output has no step between corners
            low, far = of_float32(spec.coordinates, positions, in_size, outputs, np)
    else:
        numbers = axis.index.astype(np.int64)
        low, far = of_integers(spec.coordinates, numbers, axis.in_size, axis.out_size, np, operator.floordiv)
    low, far = low.astype(np.int64), far.astype(np.int64)
    high = np.minimum(low + 1, axis.in_size - 1)
    return np.stack([low, high], axis=1).astype(np.intp), np.stack([2**bits - far, far], axis=1), bits


def fractional_bits(spec: ResizeSpec, dtype: str) -> int:
    """Return the number of fractional bits of the weights for integers of a type."""
    return _OF_XNNPACK if is_of_xnnpack(spec, dtype) else _OWN


def of_float32(coordinates: Any, index: Any, in_size: Any, outputs: Any, xp: Any) -> tuple[Any, Any]:
    """Return the first pixel of each output ``index``, and the weight of the second, as float32.

    Arrays or tensors, of float32 throughout; ``xp`` holds the functions for them.
    """
    step = in_size / outputs
    if coordinates is Coordinates.ALIGN_CORNERS:
        step = xp.where(outputs > 1, (in_size - 1) / (outputs - 1), step)
    # ``positive`` keeps a graph's runtime from fusing the product into the sum that follows; XNNPACK rounds both.
    at = xp.positive(index * step)
    if coordinates is Coordinates.HALF_PIXEL:
        at = at + (xp.positive(step * 0.5) - 0.5)
    at = xp.clip(at, 0.0, in_size - 1)
    low = xp.floor(at)
    return low, xp.rint((at - low) * 2.0**_OF_XNNPACK)


def reads_beyond(spec: ResizeSpec, axis: AxisPlan) -> bool:
    """Say whether LiteRT's own kernel reads behind an axis: its step, rounded to 10 bits, may be too long."""
    last = np.int64(axis.out_size - 1)
    at = _places(spec.coordinates, last, axis.in_size, axis.out_size, np, operator.floordiv)
    return bool(at // 2**_OWN >= axis.in_size)


def of_integers(
    coordinates: Any, index: Any, in_size: Any, outputs: Any, xp: Any, divided: Callable[[Any, Any], Any]
) -> tuple[Any, Any]:
    """Return the same as ``of_float32``, of integers throughout; ``divided`` rounds quotients down."""
    one, at = 2**_OWN, _places(coordinates, index, in_size, outputs, xp, divided)
    low = xp.clip(divided(at, one), 0, in_size - 1)
    return low, xp.where(at < 0, 0, at - low * one)


def _places(coordinates: Any, index: Any, in_size: Any, outputs: Any, xp: Any, divided: Any) -> Any:
    """Return where outputs lie, in 1/1024 pixel."""
    one = 2**_OWN
    pixels, parts = in_size, outputs
    if coordinates is Coordinates.ALIGN_CORNERS:
        pixels, parts = (xp.where(outputs > 1, count - 1, count) for count in (in_size, outputs))
    # The step itself is rounded to 1/1024 pixel, so output i lies up to i/2048 pixels off.
    step = divided(pixels * one + divided(parts, 2), parts)
    at = index * step
    return at + (divided(step, 2) - one // 2) if coordinates is Coordinates.HALF_PIXEL else at
