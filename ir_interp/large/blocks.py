"""A lazy array of Dask, resized block by block: every block takes what it needs of the chunks under it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.arguments import shown
from ir_interp.errors import ShapeError
from ir_interp.executor.resize import region, resize
from ir_interp.plan.geometry import plan
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec

Array = NDArray[Any]
Chunks = tuple[tuple[int, ...], ...]
Slices = tuple[slice, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """A resize, its target known, of an array of a shape and an element type that lies in chunks."""

    spec: ResizeSpec
    shape: Shape
    dtype: np.dtype[Any]
    chunks: Chunks


def resized(x: Any, spec: ResizeSpec, chunks: Any = None) -> Any:
    """Return an array of Dask, resized as a spec that is bound to its shape says: its bits are those of ``resize``.

    Each chunk of ``x`` is one task, as before, from which the blocks that need it take their parts; no part keeps the
    chunk. Raises ShapeError where ``chunks`` are not those of the output.
    """
    import dask.array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    out_shape = plan(spec, x.shape).out_shape
    wanted = chosen(x.chunks, x.shape, out_shape) if chunks is None else _given(chunks, out_shape, x.dtype)
    name = f"ir-interp-resize-{tokenize(x, spec, wanted)}"
    places = itertools.product(*(range(len(each)) for each in wanted))
    tasks = tasks_of(name, x.name, Work(spec, x.shape, x.dtype, x.chunks), wanted, places)
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[x])
    return dask.array.Array(graph, name, wanted, meta=x._meta, shape=out_shape)


def _given(chunks: Any, shape: Shape, dtype: np.dtype[Any]) -> Chunks:
    import dask.array

    try:
        found: Chunks = dask.array.core.normalize_chunks(chunks, shape, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"chunks {shown(chunks)} do not fit the output, {list(shape)}: {error}") from None
    return found


def chosen(chunks: Chunks, in_shape: Shape, out_shape: Shape) -> Chunks:
    """Return chunks of an output: over those of the input where it shrinks, and no longer than they where it grows."""
    found = []
    for lengths, size, out in zip(chunks, in_shape, out_shape, strict=True):
        if out == size:
            found.append(lengths)
            continue
        longest = max(lengths, default=0)
        parts = max(1, -(-out // size)) if size else 1
        each = max(1, round(longest * out / size / parts)) if size else 1
        found.append(_cut(out, each))
    return tuple(found)


def _cut(length: int, each: int) -> tuple[int, ...]:
    """Return a length in parts that are alike, but for the last."""
    whole, rest = divmod(length, each)
    return (each,) * whole + (rest,) * (rest > 0 or not whole)


def edges_of(chunks: Sequence[int]) -> list[int]:
    """Return where the chunks of an axis begin, and where the last ends."""
    return [0, *itertools.accumulate(chunks)]


def tasks_of(name: str, source: str, work: Work, chunks: Chunks, places: Iterable[tuple[int, ...]]) -> dict[Any, Any]:
    """Return a graph of the blocks of an output at some places among its ``chunks``, over the chunks of ``source``."""
    from dask._task_spec import List, Task, TaskRef

    tasks: dict[Any, Any] = {}
    out_edges, in_edges = list(map(edges_of, chunks)), list(map(edges_of, work.chunks))
    for place in places:
        piece = tuple(slice(edges[i], edges[i + 1]) for edges, i in zip(out_edges, place, strict=True))
        needed = region(work.spec, work.shape, piece)
        parts, targets = [], []
        for number, (chunk, cut, target) in enumerate(overlaps(needed, in_edges)):
            key: tuple[Any, ...] = (source, *chunk)
            lengths = tuple(each[i] for each, i in zip(work.chunks, chunk, strict=True))
            if any(part != slice(0, length) for part, length in zip(cut, lengths, strict=True)):
                whole, key = key, (f"cut-{name}", *place, number)
                tasks[key] = Task(key, part_of, TaskRef(whole), cut)
            parts.append(TaskRef(key))
            targets.append(target)
        at = (name, *place)
        tasks[at] = Task(at, block, List(*parts), targets, work, piece, needed)
    return tasks


def overlaps(needed: Slices, edges: list[list[int]]) -> Iterator[tuple[tuple[int, ...], Slices, Slices]]:
    """Yield the chunks under a piece: their places, what of each is needed, and where in the piece that belongs."""
    axes = []
    for piece, those in zip(needed, edges, strict=True):
        first = int(np.searchsorted(those, piece.start, side="right")) - 1
        found = []
        for i in range(first, len(those) - 1):
            start, stop = max(piece.start, those[i]), min(piece.stop, those[i + 1])
            if those[i] >= piece.stop:
                break
            if stop > start:
                source = slice(start - those[i], stop - those[i])
                found.append((i, source, slice(start - piece.start, stop - piece.start)))
        axes.append(found)
    for each in itertools.product(*axes):
        yield tuple(i for i, _, _ in each), tuple(s for _, s, _ in each), tuple(t for _, _, t in each)


def part_of(chunk: Array, source: Slices) -> Array:
    """Return a part of a chunk, which does not keep the rest of it in memory."""
    return np.array(chunk[source])


def block(parts: Sequence[Array], targets: Sequence[Slices], work: Work, piece: Slices, needed: Slices) -> Array:
    """Return a piece of the output, of the parts of the input that it needs, each with its place in these."""
    lengths = tuple(each.stop - each.start for each in needed)
    if len(parts) == 1 and parts[0].shape == lengths:
        return resize(parts[0], work.spec, region=piece, whole=work.shape)
    x = np.empty(lengths, work.dtype)
    for part, target in zip(parts, targets, strict=True):
        x[target] = part
    return resize(x, work.spec, region=piece, whole=work.shape)
