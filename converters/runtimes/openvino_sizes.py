"""OpenVINO: from which size on its CPU plugin computes something else (2026.4, x86), each seen by running it.

A Gather of single elements (the lengths behind its axis are all 1, be it known or not), and a static one of up to 16
behind its axis, is done by code of its own. It addresses bytes by signed numbers of 32 bits; and where a dimension is
dynamic, it finds the row and column at which each thread begins in float32. Whether the indices are constants does not
matter. One thread begins at 0 and is right.

Right beyond 2^24 elements, static and dynamic, are GatherElements (up to 2^31 elements), a Gather of longer pieces, and
all other operations that resizes are made of, native Interpolates among them. The faults are seen in
``tests/openvino/test_real_sizes.py``, the rest in ``tests/sweeps/real_sizes.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LargestGather:
    """Up to how many elements, of what goes in or comes out, a runtime's Gather is right.

    ``static`` where all lengths are known, ``dynamic`` where one is not.
    """

    static: float
    dynamic: float


ANY_SIZE = LargestGather(static=math.inf, dynamic=math.inf)

LARGEST_GATHER = LargestGather(static=2**29 - 2**10, dynamic=2**24 - 2**10)
"""Static: 2^31 bytes of 32-bit numbers, beyond which the plugin dies. Dynamic: every thread begins where it should.

Beyond 2^24 the first row of a thread other than the first is read at the wrong columns. The 2^10 are for the product of
lengths, which is computed in float32 itself.
"""
