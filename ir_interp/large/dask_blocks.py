"""Lazy Dask arrays, resized block by block: every block reads what it needs from the chunks under it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ir_interp.arguments import shown
from ir_interp.array_types import Array
from ir_interp.errors import ShapeError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.large.layout import Chunks, Layout, Place, Shares, Slices, Work, lengths_of, parts
from ir_interp.plan.axes.geometry import plan
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec

_NONE = Missing()


def resized(x: Any, spec: ResizeSpec, chunks: Any = None, missing: Missing = _NONE) -> Any:
    """Return a Dask array, resized by a spec that is bound to its shape, with the bits of ``resize``.

    Each chunk of ``x`` remains one task, from which blocks take their parts; no part keeps the chunk in memory. Raises
    ShapeError if ``chunks`` do not fit the output.
    """
    import dask.array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    out_shape = plan(spec, x.shape).out_shape
    target_chunks = chosen(x.chunks, x.shape, out_shape) if chunks is None else _given(chunks, out_shape, x.dtype)
    name = f"ir-interp-resize-{tokenize(x, spec, target_chunks, missing)}"
    work = Work(spec, x.shape, x.dtype, x.chunks, missing, is_masked=isinstance(x._meta, np.ma.MaskedArray))
    tasks = tasks_of(name, x.name, Layout(work, target_chunks))
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[x])
    return dask.array.Array(graph, name, target_chunks, meta=x._meta, shape=out_shape)


def _given(chunks: Any, shape: Shape, dtype: np.dtype[Any]) -> Chunks:
    import dask.array

    try:
        normalised: Chunks = dask.array.core.normalize_chunks(chunks, shape, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"chunks {shown(chunks)} do not fit the output, {list(shape)}: {error}") from None
    return normalised


def chosen(chunks: Chunks, in_shape: Shape, out_shape: Shape) -> Chunks:
    """Return chunks of an output: aligned with those of the input where it shrinks, and not longer where it grows."""
    chunks_of_axes = []
    for sizes_of_chunks, size, out in zip(chunks, in_shape, out_shape, strict=True):
        if out == size:
            chunks_of_axes.append(sizes_of_chunks)
            continue
        longest = max(sizes_of_chunks, default=0)
        # A chunk becomes several along an axis that grows, none longer than itself.
        parts = max(1, -(-out // size)) if size else 1
        size_of_chunk = max(1, round(longest * out / size / parts)) if size else 1
        chunks_of_axes.append(_cut(out, size_of_chunk))
    return tuple(chunks_of_axes)


def _cut(axis_size: int, size: int) -> tuple[int, ...]:
    """Return a length split into equal parts; the last may be shorter."""
    whole, rest = divmod(axis_size, size)
    return (size,) * whole + (rest,) * (rest > 0 or not whole)


def tasks_of(name: str, source: str, layout: Layout) -> dict[Any, Any]:
    """Return a graph of the blocks of an output over the chunks of ``source``, with a task for each block and chunk.

    A block takes the chunk of which it needs most as a whole. Its strips of other chunks are cut out by one task for
    all blocks, so that no chunk is kept, or sent to another machine, for a strip of it.
    """
    from dask._task_spec import List, Task, TaskRef

    tasks: dict[Any, Any] = {}
    cut = f"cut-{name}"
    whole, strips = (
        {chunk: TaskRef((kind, *chunk)) for chunk in product(*map(range, map(len, layout.work.chunks)))}
        for kind in (source, cut)
    )
    cut_up = set()
    for place in layout.places:
        shares = layout.shares_under(place)
        taken = []
        for shares_of_chunk in product(*([(share.chunk, share.portion) for share in axis] for axis in shares)):
            chunk, portions = zip(*shares_of_chunk, strict=True)
            if prod(portions) > _MOST:
                taken.append(whole[chunk])
            else:
                taken.append(strips[chunk])
                cut_up.add(chunk)
        at = (name, *place)
        tasks[at] = Task(at, block, List(*taken), shares, layout.work, layout.piece(place), layout.needed(place))
    for chunk in cut_up:
        at = (cut, *chunk)
        tasks[at] = Task(at, strips_of, whole[chunk], layout.shares_over(chunk))
    return tasks


_MOST = 0.5  # of a chunk: beyond that a copy takes more memory than the rest of the chunk


def strips_of(chunk: Array, shares: Shares) -> dict[Place, Array]:
    """Return for each block its part of a chunk, as copies that do not keep the chunk in memory."""
    return {part.block: chunk[part.cut].copy() for part in parts(shares) if part.portion <= _MOST}


def block(taken: Sequence[Any], shares: Shares, work: Work, piece: Slices, needed: Slices) -> Array:
    """Return a piece of the output from the chunks and strips that its block takes."""
    shape = lengths_of(needed)
    both = list(zip(parts(shares), taken, strict=True))
    arrays = [chunk[part.cut] if part.portion > _MOST else chunk[part.block] for part, chunk in both]
    if len(arrays) == 1 and arrays[0].shape == shape:
        return work.resized(arrays[0], piece)
    x = (np.ma.empty if work.is_masked else np.empty)(shape, work.dtype)
    for array, (part, _) in zip(arrays, both, strict=True):
        x[part.target] = array
    return work.resized(x, piece)
