"""The layout of a chunked resize: the chunks under each block of the output, and the parts between them.

A lazy Dask array is resized block by block: every block reads what it needs from the chunks under it. For images on
disk, ``Dealer`` reads chunks one by one, and computes a block when it has all its parts.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from itertools import product
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np

from ir_interp.arguments import shown
from ir_interp.errors import ShapeError
from ir_interp.executor import missing_pixels
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import planned, region, resize
from ir_interp.executor.threads import alone, cached_property
from ir_interp.plan.taps import plan
from ir_interp.shapes import Array, Shape
from ir_interp.specs import ResizeSpec

Chunks = tuple[tuple[int, ...], ...]
"""The sizes of the chunks of an array, by axis."""

Place = tuple[int, ...]
"""Index of a chunk or block, by axis."""

Slices = tuple[slice, ...]
_NONE = Missing()


@dataclass(frozen=True, slots=True)
class Work:
    """A resize with a known target, for a chunked array of a shape and an element type.

    Some of its pixels may be ``missing``; ``is_masked`` means that its chunks have masks. ``has_mask_band`` means that
    the last entry of the first axis is a mask of all others, not 0 where pixels are there; chunks hold all of them.
    """

    spec: ResizeSpec
    shape: Shape
    dtype: np.dtype[Any]
    chunks: Chunks
    missing: Missing = _NONE
    is_masked: bool = False
    has_mask_band: bool = False

    @property
    def out_shape(self) -> Shape:
        """The shape of the output."""
        return planned(self.spec, self.shape).out_shape

    def resized(self, x: Array, piece: Slices) -> Array:
        """Return a piece of the output from the part of the input that it needs."""
        if self.has_mask_band:
            return self._resized_with_mask_band(x, piece)
        if self.is_masked or self.missing.nodata is not None:
            return missing_pixels.resize(x, self.spec, self.missing, piece, self.shape)
        return resize(x, self.spec, region=piece, whole=self.shape)

    def _resized_with_mask_band(self, x: Array, piece: Slices) -> Array:
        bands, *others = self.shape
        of_bands = (slice(0, bands - 1), *piece[1:])
        masked = np.ma.MaskedArray(x[:-1], np.broadcast_to(x[-1:] == 0, x[:-1].shape))
        y = missing_pixels.resize(masked, self.spec, self.missing, of_bands, (bands - 1, *others))
        is_there = ~np.ma.getmaskarray(y)[:1]
        return np.concatenate([np.ma.getdata(y), is_there.astype(self.dtype)])


Index = TypeVar("Index")
Cut = TypeVar("Cut")


@dataclass(frozen=True, slots=True)
class Taken(Generic[Index, Cut]):
    """The part of a chunk that a block takes: ``cut`` of the chunk becomes ``target`` of the block's input.

    ``portion`` is the fraction of the chunk.
    """

    block: Index
    chunk: Index
    cut: Cut
    target: Cut
    portion: float


Share = Taken[int, slice]
"""The part of a chunk that a block takes along one axis."""
Part = Taken[Place, Slices]
Shares = tuple[list[Share], ...]
"""The shares along each axis; the parts are their combinations."""


@dataclass(frozen=True)
class Layout:
    """The blocks of an output in ``chunks``, over the chunks of its input."""

    work: Work
    chunks: Chunks

    @property
    def longest(self) -> Shape:
        """The shape of the longest block along each axis."""
        return tuple(max(chunk, default=1) for chunk in self.chunks)

    @property
    def most_needed(self) -> Shape:
        """The largest input that a block needs along each axis."""
        return tuple(max(lengths_of(tuple(pieces)), default=0) for pieces in self._needed)

    @property
    def places(self) -> Iterator[Place]:
        """All blocks, row by row."""
        return itertools.product(*(range(len(chunk)) for chunk in self.chunks))

    def piece(self, block: Place) -> Slices:
        """Return the piece of the output that a block is."""
        return tuple(axis[i] for axis, i in zip(self._pieces, block, strict=True))

    def needed(self, block: Place) -> Slices:
        """Return the piece of the input that a block needs."""
        # An empty block needs nothing, though each axis by itself may need something.
        if 0 in lengths_of(self.piece(block)):
            return (slice(0, 0),) * len(block)
        return tuple(axis[i] for axis, i in zip(self._needed, block, strict=True))

    def under(self, block: Place) -> Iterator[Part]:
        """Yield the parts of chunks that a block takes."""
        return parts(self.shares_under(block))

    def over(self, chunk: Place) -> Iterator[Part]:
        """Yield the parts of a chunk that each block takes."""
        return parts(self.shares_over(chunk))

    def shares_under(self, block: Place) -> Shares:
        """Return the shares of chunks that a block takes, along each axis."""
        return tuple(axis[i] for axis, i in zip(self._under, block, strict=True))

    def shares_over(self, chunk: Place) -> Shares:
        """Return the shares of a chunk that blocks take, along each axis."""
        return tuple(axis[i] for axis, i in zip(self._over, chunk, strict=True))

    def source(self, chunk: Place) -> Slices:
        """Return the piece of the input that a chunk is."""
        return tuple(slice(edges[i], edges[i + 1]) for edges, i in zip(self._edges, chunk, strict=True))

    @cached_property
    def _edges(self) -> list[list[int]]:
        return list(map(edges_of, self.work.chunks))

    @cached_property
    def _pieces(self) -> list[list[slice]]:
        return [[slice(*edge) for edge in itertools.pairwise(edges_of(chunk))] for chunk in self.chunks]

    @cached_property
    def _needed(self) -> list[list[slice]]:
        """The inputs of blocks, axis by axis, since the input along one axis does not depend on the other axes."""
        spec, shape = self.work.spec, self.work.shape
        corner = [slice(0, 1)] * len(shape)
        return [
            [region(spec, shape, (*corner[:axis], piece, *corner[axis + 1 :]))[axis] for piece in pieces]
            for axis, pieces in enumerate(self._pieces)
        ]

    @cached_property
    def _under(self) -> list[list[list[Share]]]:
        pairs = zip(self._needed, self._edges, strict=True)
        return [[list(_shares(block, piece, edges)) for block, piece in enumerate(needed)] for needed, edges in pairs]

    @cached_property
    def _over(self) -> list[list[list[Share]]]:
        over: list[list[list[Share]]] = [[[] for _ in chunk] for chunk in self.work.chunks]
        for axis, blocks in enumerate(self._under):
            for share in itertools.chain.from_iterable(blocks):
                over[axis][share.chunk].append(share)
        return over


def edges_of(chunks: Sequence[int]) -> list[int]:
    """Return the starts of the chunks of an axis, and the end of the last."""
    return [0, *itertools.accumulate(chunks)]


def regular(shape: Shape, chunk_shape: Shape) -> Chunks:
    """Return the chunks of an array for one chunk shape; the last chunk of each axis may be smaller."""
    cut = zip(shape, chunk_shape, strict=True)
    return tuple((chunk,) * (size // chunk) + ((size % chunk,) if size % chunk else ()) for size, chunk in cut)


def lengths_of(slices: Slices) -> Shape:
    """Return the shape of a piece."""
    return tuple(cut.stop - cut.start for cut in slices)


def _shares(block: int, needed: slice, edges: Sequence[int]) -> Iterator[Share]:
    """Yield a block's shares of each chunk along an axis."""
    # The last chunk that starts at or before: chunks of size 0 at the same edge are passed over.
    first = int(np.searchsorted(edges, needed.start, side="right")) - 1
    for chunk, (begin, end) in enumerate(itertools.pairwise(edges[first:]), start=first):
        if begin >= needed.stop:
            break
        start, stop = max(needed.start, begin), min(needed.stop, end)
        if stop > start:
            cut, target = slice(start - begin, stop - begin), slice(start - needed.start, stop - needed.start)
            yield Taken(block, chunk, cut, target, (stop - start) / (end - begin))


def parts(shares: Shares) -> Iterator[Part]:
    """Yield the parts that are the combinations of the shares along each axis."""
    for choice in itertools.product(*shares):
        yield Taken(
            block=tuple(share.block for share in choice),
            chunk=tuple(share.chunk for share in choice),
            cut=tuple(share.cut for share in choice),
            target=tuple(share.target for share in choice),
            portion=math.prod(share.portion for share in choice),
        )


_NONE_MISSING = Missing()


def resized_dask(x: Any, spec: ResizeSpec, chunks: object = None, missing: Missing = _NONE_MISSING) -> object:
    """Return a Dask array, resized by a spec that is bound to its shape, with the bits of ``resize``.

    Each chunk of ``x`` remains one task, from which blocks take their parts; no part keeps the chunk in memory. Raises
    ShapeError if ``chunks`` do not fit the output.
    """
    import dask.array
    from dask.base import tokenize
    from dask.highlevelgraph import HighLevelGraph

    out_shape = plan(spec, x.shape).out_shape
    target_chunks = (
        chosen_chunks(x.chunks, x.shape, out_shape) if chunks is None else _given(chunks, out_shape, x.dtype)
    )
    name = f"ir-interp-resize-{tokenize(x, spec, target_chunks, missing)}"
    work = Work(spec, x.shape, x.dtype, x.chunks, missing, is_masked=isinstance(x._meta, np.ma.MaskedArray))
    tasks = tasks_of(name, x.name, Layout(work, target_chunks))
    graph = HighLevelGraph.from_collections(name, tasks, dependencies=[x])
    return dask.array.Array(graph, name, target_chunks, meta=x._meta, shape=out_shape)


def _given(chunks: object, shape: Shape, dtype: np.dtype[Any]) -> Chunks:
    import dask.array

    try:
        normalised: Chunks = dask.array.core.normalize_chunks(chunks, shape, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise ShapeError(f"chunks {shown(chunks)} do not fit the output, {list(shape)}: {error}") from None
    return normalised


def chosen_chunks(chunks: Chunks, in_shape: Shape, out_shape: Shape) -> Chunks:
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

    tasks: dict[object, object] = {}
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


Read = Callable[[Slices, Array], object]
Write = Callable[[Place, Array], object]


def for_each(items: Iterator[Place], do: Callable[[Place], object], threads: int) -> None:
    """Call ``do`` for all items, on ``threads`` threads. An error in one stops the others before their next item."""
    lock = threading.Lock()
    is_over = False

    def work() -> None:
        while True:
            with lock:
                item = None if is_over else next(items, None)
            if item is None:
                return
            do(item)

    def work_alone() -> None:
        with alone():
            work()

    # With several threads here, each resize runs alone: its own threads would only compete with these.
    with ThreadPoolExecutor(threads) as pool:
        try:
            working = [pool.submit(work if threads == 1 else work_alone) for _ in range(threads)]
            for future in wait(working, return_when=FIRST_EXCEPTION).done:
                future.result()
        finally:
            is_over = True


class Dealer:
    """Computes the ``blocks`` of a layout and reads each chunk once.

    ``read`` fills an array with a piece of the input, ``write`` takes a finished block; threads call both.
    """

    def __init__(self, layout: Layout, blocks: Sequence[Place], read: Read, write: Write) -> None:
        self._layout = layout
        self._left = set(blocks)
        self._read, self._write = read, write
        self._waiting: dict[Place, _Waiting] = {}
        self._lock = threading.Lock()
        self._buffers = _Buffers(math.prod(layout.most_needed), layout.work.dtype)
        self._chunks = self._ordered(blocks)

    def run(self, threads: int) -> None:
        """Compute all blocks on ``threads`` threads. An error in one stops the others before their next chunk."""
        for_each(self._chunks, self._deal, threads)

    def _ordered(self, blocks: Sequence[Place]) -> Iterator[Place]:
        """Yield the chunks under some blocks in the order of these. A block entirely within pads has none."""
        seen: set[Place] = set()
        for block in blocks:
            parts = list(self._layout.under(block))
            if not parts:
                self._make(block, self._empty(block))
            for part in parts:
                if part.chunk not in seen:
                    seen.add(part.chunk)
                    yield part.chunk

    def _deal(self, chunk: Place) -> None:
        """Read a chunk, give every block its part, and compute the blocks that are complete.

        If a block needs the whole chunk, it is read directly into that block's input.
        """
        parts = [part for part in self._layout.over(chunk) if part.block in self._left]
        whole_part = next((part for part in parts if part.portion == 1), None)
        piece = self._layout.source(chunk)
        values = self._place_of(whole_part) if whole_part else np.empty(lengths_of(piece), self._layout.work.dtype)
        self._read(piece, values)
        for part in parts:
            if part is not whole_part:  # copied, so that the part does not keep the chunk in memory
                with self._lock:
                    self._waiting_of(part.block).parts.append((part.target, np.array(values[part.cut])))
        for part in parts:
            self._complete(part.block)

    def _waiting_of(self, block: Place) -> _Waiting:
        if block not in self._waiting:
            self._waiting[block] = _Waiting(sum(1 for _ in self._layout.under(block)))
        return self._waiting[block]

    def _place_of(self, part: Part) -> Array:
        """Return the position of a part in the input of its block."""
        with self._lock:
            waiting = self._waiting_of(part.block)
            if waiting.x is None:
                waiting.x = self._empty(part.block)
            return waiting.x[part.target]

    def _complete(self, block: Place) -> None:
        """Record one more part of a block, and compute the block if it was the last."""
        with self._lock:
            waiting = self._waiting[block]
            waiting.missing -= 1
            if waiting.missing:
                return
            del self._waiting[block]
            x = self._empty(block) if waiting.x is None else waiting.x
        for target, values in waiting.parts:
            x[target] = values
        self._make(block, x)

    def _empty(self, block: Place) -> Array:
        return self._buffers.taken(lengths_of(self._layout.needed(block)))

    def _make(self, block: Place, x: Array) -> None:
        work = self._layout.work
        self._write(block, work.resized(x, self._layout.piece(block)))
        self._buffers.give_back(x)


@dataclass(slots=True)
class _Waiting:
    """A block that waits for parts: the number of missing parts, and those that have arrived.

    Its input ``x`` is allocated with the first chunk of which it needs everything. Before that it may hold a strip of
    one pixel from each of a row of chunks.
    """

    missing: int
    parts: list[tuple[Slices, Array]] = field(default_factory=list)
    x: Array | None = None


class _Buffers:
    """Reusable memory for the inputs of blocks: the system is slow to allocate and release such amounts."""

    def __init__(self, longest: int, dtype: np.dtype[Any]) -> None:
        self._longest, self._dtype = longest, dtype
        self._free: list[Array] = []

    def taken(self, shape: Shape) -> Array:
        flat = self._free.pop() if self._free else np.empty(self._longest, self._dtype)
        return flat[: math.prod(shape)].reshape(shape)

    def give_back(self, x: Array) -> None:
        assert isinstance(x.base, np.ndarray)
        self._free.append(x.base)
