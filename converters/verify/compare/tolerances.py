"""Every tolerance of this program, and where it comes from; docs/verification.md has more about those of outputs."""

from __future__ import annotations

from collections.abc import Mapping

# Sums of n terms in another order differ by up to n/2 last places (2^-23) of float32; a convolution of 3x3 over 512
# channels has 4,608. Right segments of real models differ by up to 4e-5; of pairs of resizes that mean different
# things, 99.9 % differ by more than 7e-3 (tests/sweeps/least_difference.py).
OUTPUT = 1e-4
"""The difference allowed between outputs, relative to the largest value of each."""

# A source on slightly moved values is one sample of its noise, and the result another. A few numbers may all move
# little by chance in the first, so the second may be several times as far away.
NOISE = 4
"""How many times a source's own move its result may differ, where terms cancel to less than their last bits."""

MOST_NOISE = OUTPUT
"""The largest such difference, absolute: beyond it, a source is unsure of more than of the last bits of its terms."""

# A number that is stored in half precision is off by its last bit. Beyond that, float32 looks like half precision.
HALF_OUTPUT = 2**-10
"""The same for an output in half precision, and the most that any segment is allowed."""

# The same of bfloat16, which has three bits less.
BFLOAT16_OUTPUT = 2**-7
"""The same for an output in bfloat16."""


# Half precision has subnormal numbers, which are this far apart; runtimes flush those of the other types to 0.
_LEAST = {"float16": 2**-24, "bfloat16": 2**-126, "float32": 2**-126, "float64": 2**-1022}


def least(dtype: str) -> float:
    """Return the difference of neighbouring numbers next to 0 of an element type; integers are exact there."""
    return _LEAST.get(dtype, 0.0)


def of_output(dtype: str) -> float:
    """Return the difference allowed between outputs of an element type, relative to the largest value.

    Integers are exact: an index, a count or a size that is off by one is another, however large it is. If floats were
    rounded to them, the comparison of these floats decides, or the source's own noise.
    """
    if dtype.startswith(("int", "uint", "bool")):
        return 0.0
    return {"float16": HALF_OUTPUT, "bfloat16": BFLOAT16_OUTPUT}.get(dtype, OUTPUT)


# A level is a scale times an integer, and both are rounded to float32; its neighbours lie a thousand times as far away.
LEVEL = 1e-3
"""The part of a quantisation level by which a value on it may be off."""

# Each of two runtimes finds the level of x with four roundings of 2^-24 at most: those of the scale, of the quotient,
# of the lowest value's own place, and of their sum.
QUANTISING = 2**-21
"""How far float32 may misplace a value among levels, relative to the value and to the lowest level together."""

# A float32 coordinate of a long axis is off by as much, and so is the value between two neighbouring pixels.
SINGLE_RESIZE = 1e-3
"""The difference allowed in an audit between outputs of one resize of values from 0 to 1."""

# A copy may pass through float32, as OpenVINO's do, which moves values from 0 to 1 by 2^-25 at most.
COPY = 1e-6
"""The same for kernels that copy pixels."""

# Rounding decides which of two neighbours a nearest resize copies at ties.
TIES = 1e-3
"""The share of the pixels of a long nearest resize that may be other copies."""

# Runtimes round integers in several ways, all within 1 of each other.
INTEGERS = 1.0
"""The difference allowed between integers that a resize averaged."""

KIT: Mapping[str, float] = {"float16": 1e-2, "float32": OUTPUT, "float64": OUTPUT}
"""The difference allowed by a conformance kit between values from 0 to 1, by element type; INTEGERS else."""
