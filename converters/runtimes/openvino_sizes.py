"""OpenVINO: from which size on its CPU plugin computes something else (2026.4, x86), each seen by running it.

A Gather that is of one element each (all lengths behind its axis are 1), of tensors that have a dynamic dimension, is
done by code that finds the place where each thread begins in float32, and jumps in a signed number of 32 bits of
bytes. Indices may be constants. Everything else that a resize is made of here is right at those sizes
(``tests/openvino/test_real_sizes.py``), GatherElements among it.
"""

from __future__ import annotations

LARGEST_GATHER = 2**24 - 2**10
"""Elements that go in or come out of a Gather, up to which every thread begins where it should.

Beyond 2^24 the first row of a thread other than the first is read at the wrong columns. The rest is for the product of
lengths, which is computed in float32 itself.
"""
