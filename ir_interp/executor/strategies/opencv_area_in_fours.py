"""Blocks of 16-bit pixels, which OpenCV adds four at a time to a float32 sum; beyond 2**24 that loses bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.executor.arrays.store import rounded
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.libraries.passes import passes
from ir_interp.plan.pieces import Piece
from ir_interp.spec import IntegerRounding

Array = NDArray[Any]


def run(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, averaged in blocks, whose rows are added sequentially."""
    apart = x[..., None]
    for each in (piece.of_pass(step) for step in passes(bound, x.dtype.name)):  # the width, then the height
        taken = each.indices[each.weights > 0].reshape(len(each.indices), -1)
        blocks = np.moveaxis(np.take(apart, taken, axis=each.axis), each.axis + 1, -2)
        apart = blocks.reshape(*blocks.shape[:-2], -1)
    count = apart.shape[-1]
    whole = count // 4 * 4
    fours = apart[..., :whole].reshape(*apart.shape[:-1], -1, 4).sum(axis=-1)
    terms = np.concatenate([fours, apart[..., whole:]], axis=-1).astype(np.float32)
    means = np.add.accumulate(terms, axis=-1)[..., -1] * (np.float32(1) / np.float32(count))
    return rounded(means, IntegerRounding.HALF_EVEN, x.dtype).astype(x.dtype)
