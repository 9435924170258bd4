"""The layout of a chunked resize: the chunks under each block of the output, and the parts between them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ir_interp.caching import cached_property
from ir_interp.executor import missing_pixels
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import planned, region, resize
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec

Chunks = tuple[tuple[int, ...], ...]
"""The sizes of the chunks of an array, by axis."""

Place = tuple[int, ...]
"""Index of a chunk or block, by axis."""

Slices = tuple[slice, ...]
_NONE = Missing()


@dataclass(frozen=True, slots=True)
class Work:
    """A resize with a known target, for a chunked array of a shape and an element type.

    Some of its pixels may be ``missing``; ``is_masked`` means that its chunks have masks.
    """

    spec: ResizeSpec
    shape: Shape
    dtype: np.dtype[Any]
    chunks: Chunks
    missing: Missing = _NONE
    is_masked: bool = False

    @property
    def out_shape(self) -> Shape:
        """The shape of the output."""
        return planned(self.spec, self.shape).out_shape

    def resized(self, x: NDArray[Any], piece: Slices) -> NDArray[Any]:
        """Return a piece of the output from the part of the input that it needs."""
        if self.is_masked or self.missing.nodata is not None:
            return missing_pixels.resize(x, self.spec, self.missing, piece, self.shape)
        return resize(x, self.spec, region=piece, whole=self.shape)


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
