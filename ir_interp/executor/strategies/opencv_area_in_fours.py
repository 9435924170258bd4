"""Blocks of 16-bit pixels, which OpenCV adds four at a time to a float32 sum; beyond 2**24 that loses bits."""

from __future__ import annotations

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays.store import rounded
from ir_interp.plan.axes.geometry import Plan
from ir_interp.plan.pieces import Piece
from ir_interp.spec import IntegerRounding


def run(x: Array, bound: Plan, piece: Piece) -> Array:
    """Return integers ``x``, padded already, averaged in blocks, whose rows are added sequentially."""
    apart = x[..., None]
    for stage in piece.passes(bound, x.dtype.name):  # the width, then the height
        taken = stage.indices[stage.weights > 0].reshape(len(stage.indices), -1)
        blocks = np.moveaxis(np.take(apart, taken, axis=stage.axis), stage.axis + 1, -2)
        apart = blocks.reshape(*blocks.shape[:-2], -1)
    count = apart.shape[-1]
    whole = count // 4 * 4
    # OpenCV adds four pixels in integers, and these sums sequentially in float32.
    fours = apart[..., :whole].reshape(*apart.shape[:-1], -1, 4).sum(axis=-1)
    terms = np.concatenate([fours, apart[..., whole:]], axis=-1).astype(np.float32)
    means = np.add.accumulate(terms, axis=-1)[..., -1] * (np.float32(1) / np.float32(count))
    return rounded(means, IntegerRounding.HALF_EVEN, x.dtype).astype(x.dtype)
