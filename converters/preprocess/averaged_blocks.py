"""Pixels that are averaged in blocks before a resize, as nodes: Pillow's ``reducing_gap``, for static sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import InexactError
from ir_interp.executor.strategies.pillow_blocks import BITS, inverses
from ir_interp.plan.axes.prefilter_taps import Blocks
from ir_interp.plan.libraries.pillow_reduce import Reduced
from ir_interp.resize_op import ResizeOp

from ..onnx.onnx_primitives import NodeTensor

Array = NDArray[Any]
_BRIGHTEST = 255
_SHIFT = 9  # bits of a reciprocal that are split off: the rest holds a sum of 2**32 in 24 bits
_MOST_IN_SINGLE = 2**24  # float32 holds every integer up to it


def averaged(op: ResizeOp, x: NodeTensor, found: Reduced, lengths: tuple[int, int]) -> NodeTensor:
    """Return ``x``, integers [channels, height, width], averaged: (sum + n / 2) * int(2**24 / n) / 2**24, truncated.

    Raises InexactError for blocks whose sums float32 cannot hold, if ``x`` is float32.
    """
    height, width = (np.diff(each.edges) for each in found.blocks)
    counts = height[:, None] * width
    most = (_BRIGHTEST + 1) * int(counts.max())
    if x.dtype == "float32" and most * 2**_SHIFT > _MOST_IN_SINGLE:
        raise InexactError(op.name, "float32 nodes", reason=f"they cannot hold sums of {counts.max()} pixels")
    tables = [_table(each, length).astype(x.dtype) for each, length in zip(found.blocks, lengths, strict=True)]
    down, across = (x.of(table) for table in (tables[0], tables[1].T))
    sums = down @ (x @ across) + (counts // 2).astype(x.dtype)
    low = inverses(counts) % 2**_SHIFT
    high = (inverses(counts) - low) // 2**_SHIFT
    above = sums * high.astype(x.dtype) + ((sums * low.astype(x.dtype)) / 2.0**_SHIFT).floor()
    made: NodeTensor = (above / 2.0 ** (BITS - _SHIFT)).floor()
    return made


def _table(each: Blocks, length: int) -> Array:
    """Return which pixels a block holds [blocks, pixels]."""
    places, edges = np.arange(length), each.edges
    return (places >= edges[:-1, None]) & (places < edges[1:, None])
