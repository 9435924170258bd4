"""float16 to float32 by integer arithmetic, several times as fast as NumPy's cast; finite values only.

A float16 shifted left by 13 bits is a float32 whose exponent is 112 too small: 127 - 15.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_BLOCK = 2**15  # elements whose scratch memory stays in the nearest caches
_REBIAS = np.float32(2.0**112)
_SIGN_AND_VALUE = np.array(0x8FFFE000, np.uint32).view(np.int32)
_INFINITY = 0x7C00


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


def is_finite(x: NDArray[np.float16]) -> bool:
    """Say whether a contiguous array holds neither infinity nor NaN."""
    bits = x.view(np.uint16).reshape(-1)
    blocks = (bits[start : start + _BLOCK] & _INFINITY for start in range(0, bits.size, _BLOCK))
    return all(block.max() < _INFINITY for block in blocks)
