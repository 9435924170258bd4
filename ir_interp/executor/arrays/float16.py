"""Conversions between float16 and float32 in integer arithmetic, several times as fast as NumPy's casts; no NaN.

A float16 shifted left by 13 bits is a float32 whose exponent is too small by 112 = 127 - 15. The conversion back rounds
by an addition: added to 2^(e+13), a float32 of exponent e keeps the 11 bits that a float16 has.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**17  # elements; smaller blocks have closer scratch memory, but two threads then wait for each other
# 112 = 127 - 15, the difference of the biases; a product with a power of 2 is exact, and right for subnormals.
_REBIAS = np.array(2.0**112, np.float32)
# Without the copies of the sign that a conversion of int16 to int32 leaves between it and the value.
_SIGN_AND_VALUE = np.array(0x8FFFE000, np.uint32).view(np.int32)
_INFINITY = 0x7C00  # all bits of the exponent, which finite numbers never have

# Parts of a float32's bits; arrays without axes, since Python numbers make every call slower.
_VALUE, _EXPONENT, _SIGN_OF_HALF, _THIRTEEN, _SIXTEEN = (
    np.array(bits, np.uint32) for bits in (0x7FFFFFFF, 0x7F800000, 0x8000, 13, 16)
)
_BESIDE = np.array((13 << 23) + 0x800, np.uint32)  # 13 exponents more; 0x800 corrects what they add to the sum
_INFINITE = np.array(143 << 23, np.uint32)  # 2^16
_LEAST = np.full(_BLOCK, 113 << 23, np.uint32)  # 2^-14: float16 has no smaller exponent; maxima of arrays are faster
_kept = threading.local()  # two arrays of each thread, since fresh memory costs more than the arithmetic


def load(values: NDArray[np.float16], target: NDArray[np.float32]) -> None:
    """Fill ``target``, which is contiguous, with finite ``values`` of the same shape."""
    if values.flags.c_contiguous:
        bits, wide = values.view(np.int16).reshape(-1), target.reshape(-1)
        for start in range(0, bits.size, _BLOCK):
            _load_block(bits[start : start + _BLOCK], wide[start : start + _BLOCK])
    elif len(values) > 1:
        for item, place in zip(values, target, strict=True):
            load(item[None], place[None])
    else:
        target[...] = values


def _load_block(half: NDArray[np.int16], single: NDArray[np.float32]) -> None:
    bits = single.view(np.int32)
    bits[...] = half
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, _SIGN_AND_VALUE, out=bits)
    np.multiply(single, _REBIAS, out=single)


def store(values: NDArray[np.float32], target: NDArray[np.float16]) -> None:
    """Fill ``target`` with ``values``, contiguous and without NaN, rounded half to even; overflows become infinite."""
    if target.flags.c_contiguous:
        bits, narrow = values.view(np.uint32).reshape(-1), target.view(np.uint16).reshape(-1)
        for start in range(0, bits.size, _BLOCK):
            _store_block(bits[start : start + _BLOCK], narrow[start : start + _BLOCK])
    elif len(target) > 1:
        for item, place in zip(values, target, strict=True):
            store(item[None], place[None])
    else:
        target[...] = values


def _store_block(bits: NDArray[np.uint32], half: NDArray[np.uint16]) -> None:
    arrays = _kept.__dict__.pop("arrays", None)  # a call within this one, by a signal handler, finds none
    if arrays is None:
        arrays = np.empty((2, _BLOCK), np.uint32)
    value, power = (array[: bits.size] for array in arrays)
    np.bitwise_and(bits, _VALUE, out=value)
    if value.max() > _INFINITE:  # 2^16 rounds to the bits of an infinity; larger exponents would overflow
        np.minimum(value, _INFINITE, out=value)
    np.bitwise_and(value, _EXPONENT, out=power)
    np.maximum(power, _LEAST[: bits.size], out=power)
    np.add(power, _BESIDE, out=power)
    np.add(value.view(np.float32), power.view(np.float32), out=value.view(np.float32))
    np.right_shift(power, _THIRTEEN, out=power)
    np.add(value, power, out=value)
    np.right_shift(bits, _SIXTEEN, out=power)
    np.bitwise_and(power, _SIGN_OF_HALF, out=power)
    np.bitwise_or(value, power, out=value)  # the rest of the float32's exponent is beyond 16 bits
    half[...] = value
    _kept.arrays = arrays


def is_finite(x: NDArray[np.float16]) -> bool:
    """Return whether a contiguous array contains neither infinity nor NaN."""
    bits = x.view(np.uint16).reshape(-1)
    blocks = (bits[start : start + _BLOCK] & _INFINITY for start in range(0, bits.size, _BLOCK))
    return all(block.max() < _INFINITY for block in blocks)
