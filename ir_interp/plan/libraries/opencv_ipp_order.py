"""The order of sums in Intel's library (IPP) within OpenCV.

It is unpublished; derived by running OpenCV 4.14 and 5.0 on images that isolate each sum. For 8 bits and three
channels it is the order on processors with AVX-512; others differ by 1 in one value of 10**5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum, auto

import numpy as np
from numpy.typing import NDArray

from ir_interp.array_types import Array
from ir_interp.plan.axes import kernels
from ir_interp.shapes import Shape, resolve_axes
from ir_interp.spec import Arithmetic, Cubic, Linear, ResizeSpec

CHANNELS = (1, 3, 4)
_BLOCK = 4  # outputs of a row that are computed together


@dataclass(frozen=True, slots=True)
class Order:
    """Chains of taps: each is added up in order, then one chain to the other.

    With ``fused``, a product that is added to a sum keeps all its bits, and one rounding follows.
    """

    chains: tuple[tuple[int, ...], ...]
    fused: bool


@dataclass(frozen=True, slots=True)
class Orders:
    """The order across the width for each of the four rows, which are then summed ``down`` the height."""

    across: tuple[Order, Order, Order, Order]
    down: Order


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """Outputs, by their rows and columns, that are summed in the same orders.

    Sums of two neighbours have none: a fused product adds their weighted difference to the first.
    """

    rows: NDArray[np.intp]
    columns: NDArray[np.intp]
    orders: Orders | None


def takes(spec: ResizeSpec, shape: Shape) -> bool:
    """Return whether the library accepts images of a shape, pads included: two axes, not too short, few channels."""
    axes = sorted(resolve_axes(spec.axes, len(shape)))
    if spec.arithmetic is not Arithmetic.IPP or len(axes) != 2 or axes[1] != axes[0] + 1:
        return False
    if not isinstance(spec.kernel, Linear | Cubic):
        return False
    channels = math.prod(shape[axes[1] + 1 :])
    return channels in CHANNELS and min(shape[axis] for axis in axes) >= 2 * kernels.radius(spec.kernel)


_FORWARD, _SECOND_FIRST = Order(((0, 1, 2, 3),), True), Order(((1, 0, 2, 3),), True)
_PAIRS, _FUSED_PAIRS = Order(((0, 1), (2, 3)), False), Order(((1, 0), (3, 2)), True)
_ALTERNATE, _FUSED_ALTERNATE = Order(((0, 2), (1, 3)), False), Order(((0, 2), (1, 3)), True)
_OUTER_INNER = Order(((3, 0), (2, 1)), True)

_EDGE = {
    "uint8": Orders((_FORWARD,) * 4, _FUSED_PAIRS),
    "uint16": Orders((_FORWARD, _SECOND_FIRST, _SECOND_FIRST, _FORWARD), _ALTERNATE),
}
_BLOCKS = {
    "uint8": {1: _PAIRS, 3: _FORWARD, 4: _FUSED_ALTERNATE},
    "uint16": {1: _PAIRS, 3: _OUTER_INNER, 4: _OUTER_INNER},
}
_REST = {
    "uint8": {1: _ALTERNATE, 3: _FORWARD, 4: _OUTER_INNER},
    "uint16": {1: _ALTERNATE, 3: _OUTER_INNER, 4: _OUTER_INNER},
}


def patches(rows: Array, columns: Array, channels: int, dtype: str) -> tuple[Patch, ...]:
    """Return groups of outputs with the same order of sums, by the taps of rows and columns [out, taps].

    With four taps, separate groups are those with out-of-bounds taps (for 8 bits in columns only), and the columns of
    an incomplete block.
    """
    if columns.shape[1] == 2:
        return (Patch(np.arange(len(rows)), np.arange(len(columns)), None),)
    width = dtype if dtype in _EDGE else "uint16"
    high, wide = (_reaching(pairs) for pairs in (rows, columns))
    edges, inner = np.flatnonzero(wide), np.flatnonzero(~wide)
    if width == "uint8":
        high = np.zeros_like(high)
    among, beyond = np.flatnonzero(~high), np.flatnonzero(high)
    whole = len(inner) // _BLOCK * _BLOCK

    def inside(order: Order) -> Orders:
        return Orders((order,) * 4, _FUSED_PAIRS)

    patch_list = (
        Patch(among, inner[:whole], inside(_BLOCKS[width][channels])),
        Patch(among, inner[whole:], inside(_REST[width][channels])),
        Patch(among, edges, _EDGE[width]),
        Patch(beyond, np.arange(len(columns)), _EDGE[width]),
    )
    return tuple(patch for patch in patch_list if patch.rows.size and patch.columns.size)


class Across(IntEnum):
    """The orders in which rows of bytes are summed."""

    PAIRS = auto()
    FORWARD = auto()
    ALTERNATE = auto()
    FUSED_ALTERNATE = auto()
    OUTER_INNER = auto()


_ACROSS = {
    _PAIRS: Across.PAIRS,
    _FORWARD: Across.FORWARD,
    _ALTERNATE: Across.ALTERNATE,
    _FUSED_ALTERNATE: Across.FUSED_ALTERNATE,
    _OUTER_INNER: Across.OUTER_INNER,
}


def across(columns: Array, channels: int) -> NDArray[np.uint8]:
    """Return the order in which each output of a row of bytes is summed, as an ``Across``.

    ``columns`` are the four taps of all outputs of a row. All rows have the same order, and are then summed in two
    fused pairs.
    """
    orders = np.zeros(len(columns), np.uint8)
    for patch in patches(columns[:1], columns, channels, "uint8"):
        assert patch.orders is not None
        assert patch.orders.down == _FUSED_PAIRS
        orders[patch.columns] = _ACROSS[patch.orders.across[0]]
    return orders


def _reaching(indices: Array) -> NDArray[np.bool_]:
    """Return which outputs have out-of-bounds taps, which read the edge."""
    return np.asarray((indices[:, 0] == indices[:, 1]) | (indices[:, 2] == indices[:, 3]))
