"""OpenVINO: sizes beyond which its CPU plugin computes something else (2026.4, x86), each found by running it.

A Gather of single elements (all sizes behind its axis are 1, static or not), and a static one of up to 16
behind its axis, runs in separate code. It addresses bytes by signed 32-bit integers; and if a dimension is
dynamic, it computes the row and column at which each thread begins in float32. Whether the indices are constants makes
no difference. A single thread begins at 0 and is right.

GatherElements (up to 2^31 elements), a Gather of longer pieces, and all other operations of resizes, including native
Interpolates, are right beyond 2^24 elements, static and dynamic. ``tests/openvino/test_real_sizes.py`` shows the
faults, ``tests/sweeps/real_sizes.py`` the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LargestGather:
    """The number of input or output elements up to which a runtime's Gather is right.

    ``static`` if the shape is static, ``dynamic`` otherwise.
    """

    static: float
    dynamic: float


# For runtimes without such a fault.
ANY_SIZE = LargestGather(static=math.inf, dynamic=math.inf)

LARGEST_GATHER = LargestGather(static=2**29 - 2**10, dynamic=2**24 - 2**10)
"""Static: 2^31 bytes of 32-bit numbers, beyond which the plugin crashes. Dynamic: every thread begins where it should.

Beyond 2^24 the first row of a thread other than the first is read at the wrong columns. The 2^10 are for the product of
sizes, which is computed in float32 itself.
"""
