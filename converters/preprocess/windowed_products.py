"""Products of an image with tables of weights, in windows: outputs of a small image read few pixels of a large one."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.plan.libraries.passes import Pass

from ..onnx.onnx_primitives import NodeTensor, node

_GROUP = 16
"""Outputs that share a window. Of 4, 8, 16 and 32, 16 was the fastest for 12 megapixels to 224 in onnxruntime."""
_FEW = 2
"""Pixels of an output that are taken one by one: a product with a table would multiply mostly zeros."""
Tables = Sequence[NDArray[Any]]


def without_unused(
    x: NodeTensor, made: Sequence[Pass], lengths: tuple[int, int]
) -> tuple[NodeTensor, list[Pass], list[int]]:
    """Return an image [height, width, channels] without unused rows and columns; its passes; its size.

    Rows and columns stay if most are read: removing them costs more than it saves.
    """
    passes, size = list(made), list(lengths)
    for place, each in sorted(enumerate(passes), key=lambda item: item[1].axis):
        used = np.unique(each.indices)
        if 2 * len(used) <= lengths[each.axis]:
            x = x.take(used, each.axis)
            size[each.axis] = len(used)
            passes[place] = replace(each, indices=np.searchsorted(used, each.indices))
    return x, passes, size


def products(x: NodeTensor, tables: Tables, axis: int, dtype: str) -> list[NodeTensor]:
    """Return planes [channels, height, width] times each of some tables [out, in] along height (0) or width (1).

    Values become ``dtype`` inside each window, so that a large image of uint8 is never converted as a whole.
    """
    if max(int(np.count_nonzero(table, axis=1).max()) for table in tables) <= _FEW:
        return [_gathered(x, table, axis, dtype) for table in tables]
    windows = list(_windows(tables))
    length = tables[0].shape[1]
    if 2 * sum(stop - start for _, start, stop in windows) >= length * len(windows):
        wide = x.cast(dtype)
        return [_product(wide, table, axis) for table in tables]
    pieces: list[list[NodeTensor]] = [[] for _ in tables]
    for outputs, start, stop in windows:
        places = (x.of([number], "int64") for number in (start, stop, axis + 1))
        window = node("Slice", x, *places).cast(dtype)
        for table, results in zip(tables, pieces, strict=True):
            results.append(_product(window, table[outputs, start:stop], axis))
    return [node("Concat", *results, axis=axis + 1) for results in pieces]


def _gathered(x: NodeTensor, weights: NDArray[Any], axis: int, dtype: str) -> NodeTensor:
    """Return the same product as a sum of pixels times their weights."""
    order = np.argsort(weights == 0, axis=1, kind="stable")[:, :_FEW]  # pixels with a weight first
    terms = []
    for index in order.T:
        column = np.take_along_axis(weights, index[:, None], 1).astype(dtype)
        terms.append(x.take(index, axis + 1).cast(dtype) * (column if axis == 0 else column[:, 0]))
    return reduce(operator.add, terms)


def _windows(tables: Tables) -> Iterator[tuple[slice, int, int]]:
    """Yield groups of outputs, and the first and the last pixel, exclusive, that any of them reads."""
    rows = tables[0].shape[0]
    for first in range(0, rows, _GROUP):
        outputs = slice(first, first + _GROUP)
        read = np.flatnonzero(np.any([table[outputs].any(0) for table in tables], axis=0))
        yield outputs, int(read[0]) if read.size else 0, int(read[-1]) + 1 if read.size else 1


def _product(x: NodeTensor, weights: NDArray[Any], axis: int) -> NodeTensor:
    table = x.of((weights if axis == 0 else weights.T)[None])  # of the rank of x: see ``single_precision``
    return table @ x if axis == 0 else x @ table
