"""Maps sampled between their pixels, at places known at run time."""

from __future__ import annotations

import operator
from functools import reduce

from ..onnx.onnx_primitives import NodeTensor
from .tensors import squeezed

Places = tuple[NodeTensor, NodeTensor]
"""Places of samples: y, x."""


def bilinear(
    pixels: NodeTensor, first: NodeTensor, places: Places, lengths: tuple[int, int], *, wide: bool = False
) -> NodeTensor:
    """Return values at places, which are limited to the map.

    ``pixels`` are all of all maps in a row [pixels, ...], ``first`` is where the map of each place begins in there.
    If the pixels are ``wide``, [pixels, channels], the places have a last axis of size 1 for these.
    """
    cells, shares = [], []
    for place, length in zip(places, lengths, strict=True):
        inside = place.maximum(0).minimum(length - 1)
        cell = inside.floor()
        following = (cell + 1).minimum(length - 1)
        share = inside - cell
        cells.append([index.cast("int64") for index in (cell, following)])
        shares.append([1 - share, share])
    width = first.of(lengths[1])
    parts = []
    for row, high in zip(cells[0], shares[0], strict=True):
        begin = first + row * width
        for column, across in zip(cells[1], shares[1], strict=True):
            values = pixels.take(begin + column, 0)
            values = squeezed(values, -2) if wide else values
            parts.append((high * across, values))
    return reduce(operator.add, [share * values for share, values in parts])


def is_within(places: Places, lengths: tuple[int, int], before: float, after: float) -> NodeTensor:
    """Return which places lie in a map, or so little before and after it."""
    beyond = (
        compare(place, end)
        for place, length in zip(places, lengths, strict=True)
        for compare, end in ((operator.lt, -before), (operator.gt, length + after))
    )
    outside: NodeTensor = reduce(operator.or_, beyond)
    return ~outside
