"""Conversions of float16 by integer arithmetic, several times as fast as NumPy's casts; finite values only.

A float16 shifted left by 13 bits is a float32 whose exponent is 112 too small: 127 - 15.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**15  # elements whose scratch memory stays in the nearest caches
_REBIAS = np.float32(2.0**112)
_SIGN_AND_VALUE = np.array(0x8FFFE000, np.uint32).view(np.int32)
_LEAST_NORMAL = 0x38800000  # 2**-14: what lies below is rounded in another place
_EXPONENT = 112 << 23
_INFINITY = 0x7C00
_kept = threading.local()


def load(values: NDArray[np.float16], target: NDArray[np.float32]) -> None:
    """Fill ``target``, which is contiguous, with finite ``values`` of the same shape."""
    for half, single in zip(values, target, strict=True):
        if not half.flags.c_contiguous:
            single[...] = half
            continue
        bits, wide = half.view(np.int16).reshape(-1), single.reshape(-1)
        for start in range(0, bits.size, _BLOCK):
            part = wide[start : start + _BLOCK]
            whole = part.view(np.int32)
            whole[...] = bits[start : start + _BLOCK]
            np.left_shift(whole, 13, out=whole)
            np.bitwise_and(whole, _SIGN_AND_VALUE, out=whole)
            np.multiply(part, _REBIAS, out=part)


def store(values: NDArray[np.float32], target: NDArray[np.float16]) -> None:
    """Fill ``target`` with ``values``, contiguous and no NaN, rounded half to even; what is too large is infinite."""
    for single, half in zip(values, target, strict=True):
        if not half.flags.c_contiguous:
            half[...] = single
            continue
        wide, narrow = single.reshape(-1), half.reshape(-1)
        with np.errstate(over="ignore"):
            for start in range(0, wide.size, _BLOCK):
                _store_block(wide[start : start + _BLOCK], narrow[start : start + _BLOCK])


def _store_block(single: NDArray[np.float32], half: NDArray[np.float16]) -> None:
    bits = single.view(np.uint32)
    value, other = (_scratch(which)[: bits.size] for which in (0, 1))
    np.bitwise_and(bits, 0x7FFFFFFF, out=value)
    if np.subtract(value, 1, out=other).min(initial=_LEAST_NORMAL) < _LEAST_NORMAL - 1:  # 0 wraps around
        half[...] = single
        return
    np.maximum(value, _EXPONENT, out=value)
    np.right_shift(value, 13, out=other)
    np.bitwise_and(other, 1, out=other)
    np.subtract(value, _EXPONENT - 0xFFF, out=value)
    np.add(value, other, out=value)
    np.right_shift(value, 13, out=value)
    np.minimum(value, _INFINITY, out=value)
    np.right_shift(bits, 16, out=other)
    np.bitwise_and(other, 0x8000, out=other)
    np.bitwise_or(value, other, out=value)
    half.view(np.uint16)[...] = value


def is_finite(x: NDArray[np.float16]) -> bool:
    """Say whether a contiguous array holds neither infinity nor NaN."""
    bits = x.view(np.uint16).reshape(-1)
    blocks = (bits[start : start + _BLOCK] & _INFINITY for start in range(0, bits.size, _BLOCK))
    return all(block.max() < _INFINITY for block in blocks)


def _scratch(which: int) -> NDArray[np.uint32]:
    """Return an array of this thread's own: fresh memory costs more than the arithmetic."""
    buffers: Any = _kept.__dict__.setdefault("buffers", {})
    if which not in buffers:
        buffers[which] = np.empty(_BLOCK, np.uint32)
    return np.asarray(buffers[which])
