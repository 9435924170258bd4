"""Scale factors (fx and fy) that may have resized an image: simple ones, and those that keep the aspect ratio."""

from __future__ import annotations

import math
from collections.abc import Iterator

from ir_interp.array_types import Array
from ir_interp.origins.layouts import Layout, Steps, whole

_DIGITS = (1, 2, 3)
_EQUAL, _UNEQUAL = 6, 3  # simple factors that are tried for both axes at once, and for each axis


def factored(before: Array, after: Array) -> list[Steps]:
    """Return resizes by factors that give an image the size of the result, the simplest factors first."""
    lengths, sizes = before.shape[:2], after.shape[:2]
    written = [list(_decimals(length, size)) for length, size in zip(lengths, sizes, strict=True)]
    ratios = [size / length for length, size in zip(lengths, sizes, strict=True)]
    equal = [*[factor for factor in written[0] if factor in written[1]][:_EQUAL], *ratios]
    pairs = [(factor, factor) for factor in equal]
    first, second = ((factor, *those[:_UNEQUAL]) for factor, those in zip(ratios, written, strict=True))
    pairs += [(one, other) for one in first for other in second]
    exact = all(float(factor * length).is_integer() for factor, length in zip(ratios, lengths, strict=True))
    return [_by(pair) for pair in dict.fromkeys(pairs) if not (exact and pair == tuple(ratios))]


def _decimals(length: int, size: int) -> Iterator[float]:
    """Yield factors with few digits, and thirds, that give one size from another under any rounding."""
    yield from (third / 3 for third in range(1, 9) if third % 3 and abs(length * third / 3 - size) < 1)
    seen = set()
    for digits in _DIGITS:
        unit = 10**digits
        for count in range(math.floor((size - 1) / length * unit), math.ceil((size + 1) / length * unit) + 1):
            factor = count / unit
            if factor > 0 and factor not in seen and abs(length * factor - size) < 1:
                seen.add(factor)
                yield factor


def _by(scales: tuple[float, float]) -> Steps:
    def layout(before: Array, after: Array) -> Layout:
        return Layout(x=before, sizes=(after.shape[0], after.shape[1]), place=whole(after), scales=scales)

    return Steps(layout=layout, text=f"by factors fy={scales[0]:.6g}, fx={scales[1]:.6g}")
