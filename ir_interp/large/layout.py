"""Which chunks of an input lie under which blocks of an output, and which parts of them these take."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.caching import cached_property
from ir_interp.executor import missing_pixels
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import planned, region, resize
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec

Chunks = tuple[tuple[int, ...], ...]
"""The lengths of the chunks of an array, by axis."""

Place = tuple[int, ...]
"""Which chunk or block it is, by axis."""

Slices = tuple[slice, ...]
_NONE = Missing()


@dataclass(frozen=True, slots=True)
class Work:
    """A resize, its target known, of an array of a shape and an element type that lies in chunks.

    Some of its pixels may be ``missing``; ``is_masked`` says that its chunks have masks.
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
        """Return a piece of the output, of what it needs of the input."""
        if self.is_masked or self.missing.nodata is not None:
            return missing_pixels.resize(x, self.spec, self.missing, piece, self.shape)
        return resize(x, self.spec, region=piece, whole=self.shape)


@dataclass(frozen=True, slots=True)
class Share:
    """What a block takes of a chunk along one axis: the ``cut`` of the chunk is ``target`` of what the block needs.

    ``portion`` is how much of the chunk that is.
    """

    block: int
    chunk: int
    cut: slice
    target: slice
    portion: float


Shares = tuple[list[Share], ...]
"""Along each axis, what blocks take of chunks: parts are their combinations."""


@dataclass(frozen=True, slots=True)
class Part:
    """What a block takes of a chunk: the ``cut`` of the chunk, a ``portion`` of it, is ``target`` of what it needs."""

    block: Place
    chunk: Place
    cut: Slices
    target: Slices
    portion: float


@dataclass(frozen=True)
class Layout:
    """The blocks of an output in ``chunks``, over the chunks of its input."""

    work: Work
    chunks: Chunks

    @property
    def longest(self) -> Shape:
        """How long the longest block is, by axis."""
        return tuple(max(each, default=1) for each in self.chunks)

    @property
    def most_needed(self) -> Shape:
        """How much of each axis of the input a block needs at most."""
        return tuple(max(lengths_of(tuple(each)), default=0) for each in self._needed)

    @property
    def places(self) -> Iterator[Place]:
        """All blocks, row by row."""
        return itertools.product(*(range(len(each)) for each in self.chunks))

    def piece(self, block: Place) -> Slices:
        """Return which piece of the output a block is."""
        return tuple(each[i] for each, i in zip(self._pieces, block, strict=True))

    def needed(self, block: Place) -> Slices:
        """Return which piece of the input a block needs."""
        if 0 in lengths_of(self.piece(block)):
            return (slice(0, 0),) * len(block)
        return tuple(each[i] for each, i in zip(self._needed, block, strict=True))

    def under(self, block: Place) -> Iterator[Part]:
        """Yield what a block takes of each chunk."""
        return parts(self.shares_under(block))

    def over(self, chunk: Place) -> Iterator[Part]:
        """Yield what each block takes of a chunk."""
        return parts(self.shares_over(chunk))

    def shares_under(self, block: Place) -> Shares:
        """Return what a block takes of chunks, along each axis."""
        return tuple(each[i] for each, i in zip(self._under, block, strict=True))

    def shares_over(self, chunk: Place) -> Shares:
        """Return what blocks take of a chunk, along each axis."""
        return tuple(each[i] for each, i in zip(self._over, chunk, strict=True))

    def source(self, chunk: Place) -> Slices:
        """Return which piece of the input a chunk is."""
        return tuple(slice(each[i], each[i + 1]) for each, i in zip(self._edges, chunk, strict=True))

    @cached_property
    def _edges(self) -> list[list[int]]:
        return list(map(edges_of, self.work.chunks))

    @cached_property
    def _pieces(self) -> list[list[slice]]:
        return [[slice(*edge) for edge in itertools.pairwise(edges_of(each))] for each in self.chunks]

    @cached_property
    def _needed(self) -> list[list[slice]]:
        """What blocks need, axis by axis: what they need along one does not depend on the others."""
        spec, shape = self.work.spec, self.work.shape
        first = [slice(0, 1)] * len(shape)
        return [
            [region(spec, shape, (*first[:axis], piece, *first[axis + 1 :]))[axis] for piece in pieces]
            for axis, pieces in enumerate(self._pieces)
        ]

    @cached_property
    def _under(self) -> list[list[list[Share]]]:
        found = zip(self._needed, self._edges, strict=True)
        return [[list(_shares(block, piece, edges)) for block, piece in enumerate(needed)] for needed, edges in found]

    @cached_property
    def _over(self) -> list[list[list[Share]]]:
        over: list[list[list[Share]]] = [[[] for _ in each] for each in self.work.chunks]
        for axis, blocks in enumerate(self._under):
            for share in itertools.chain.from_iterable(blocks):
                over[axis][share.chunk].append(share)
        return over


def edges_of(chunks: Sequence[int]) -> list[int]:
    """Return where the chunks of an axis begin, and where the last ends."""
    return [0, *itertools.accumulate(chunks)]


def regular(shape: Shape, lengths: Shape) -> Chunks:
    """Return the chunks of an array that are alike, but for the last of each axis."""
    cut = zip(shape, lengths, strict=True)
    return tuple((each,) * (size // each) + ((size % each,) if size % each else ()) for size, each in cut)


def lengths_of(slices: Slices) -> Shape:
    """Return the shape of a piece."""
    return tuple(each.stop - each.start for each in slices)


def _shares(block: int, needed: slice, edges: Sequence[int]) -> Iterator[Share]:
    """Yield what a block takes of each chunk along an axis."""
    first = int(np.searchsorted(edges, needed.start, side="right")) - 1
    for chunk, (begin, end) in enumerate(itertools.pairwise(edges[first:]), start=first):
        if begin >= needed.stop:
            break
        start, stop = max(needed.start, begin), min(needed.stop, end)
        if stop > start:
            cut, target = slice(start - begin, stop - begin), slice(start - needed.start, stop - needed.start)
            yield Share(block, chunk, cut, target, (stop - start) / (end - begin))


def parts(shares: Shares) -> Iterator[Part]:
    """Yield the parts that shares along each axis make together."""
    for each in itertools.product(*shares):
        yield Part(
            block=tuple(share.block for share in each),
            chunk=tuple(share.chunk for share in each),
            cut=tuple(share.cut for share in each),
            target=tuple(share.target for share in each),
            portion=math.prod(share.portion for share in each),
        )
