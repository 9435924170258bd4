"""Memory budget of a chunked resize: the chunk sizes of an output, the number of waiting blocks, and of threads.

Half of the budget is for blocks that wait for their parts, the other half for reading and computing in threads.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator

from ir_interp.executor.compiled import loop_runner
from ir_interp.executor.resize import planned, region
from ir_interp.executor.strategies.case import in_steps
from ir_interp.files.memory import resident_bytes
from ir_interp.large.dask_blocks import chosen
from ir_interp.large.layout import Layout, Place, Slices, Work, lengths_of
from ir_interp.shapes import Shape

_BYTES_OF_SUMS = 24  # per input of a block, if integers are summed in steps, which compute the whole block at once
_BYTES_OF_TILES = 2**25  # if they are summed in tiles, as floats are
_BYTES_OF_LOOPS = 112 * 2**20  # compiled loops, once loaded
_BYTES_OF_PROGRAM = 160 * 2**20  # the program with Zarr, before it reads a chunk
_COPIES = 3  # of a chunk: as stored, as decoded, and in its place
_BLOCKS_AT_ONCE = 8  # minimum number of blocks that memory should hold


def of_program() -> int:
    """Return the bytes that the program takes without any block of an image."""
    return _BYTES_OF_PROGRAM + _BYTES_OF_LOOPS * loop_runner.is_installed()


def left(memory: int) -> int:
    """Return the part of ``memory`` that the program leaves, at least a quarter, even if that exceeds ``memory``."""
    return max(memory - resident_bytes() - _BYTES_OF_LOOPS * loop_runner.is_installed(), memory // 4)


def lengths_of_chunks(work: Work, chunk_shape: Shape, memory: int) -> Shape:
    """Return the chunk shape of an output: that of the input, or smaller if memory does not hold such a block.

    If the output shrinks, a block reads several chunks; its chunks then cover fewer chunks of the input.
    """
    out_shape = work.out_shape
    chunk = tuple(max(min(length, size), 1) for length, size in zip(chunk_shape, out_shape, strict=True))
    least = [max(lengths_of_axis, default=1) for lengths_of_axis in chosen(work.chunks, work.shape, out_shape)]
    while _bytes_of_block(work, chunk) > memory // _BLOCKS_AT_ONCE:
        halves = zip(chunk, least, strict=True)
        halved = tuple(max(low, -(-length // 2), 1) if length > low else length for length, low in halves)
        if halved == chunk:
            break
        chunk = halved
    return chunk


def threads(layout: Layout, memory: int) -> int:
    """Return the number of threads that memory allows, at most one per core."""
    work = layout.work
    block = layout.longest
    chunk = math.prod(max(lengths_of_axis, default=1) for lengths_of_axis in work.chunks)
    bytes_of_thread = _bytes_of_block(work, block) + _COPIES * max(chunk, math.prod(block)) * work.dtype.itemsize
    return max(1, min(os.cpu_count() or 1, memory // 2 // bytes_of_thread))


def strips(layout: Layout, memory: int) -> Iterator[list[Place]]:
    """Yield the blocks in strips along the first axis, each as many blocks across as may wait at a time.

    A block waits for chunks of the row below it, so about as many blocks wait as a row has. Chunks at the sides of a
    strip are read again.
    """
    first, *others = (range(len(chunk)) for chunk in layout.chunks)
    across = list(itertools.product(*others))
    below = 2 + math.prod(map(len, others[1:]))  # blocks that the row below has by then
    most = max(1, memory // 2 // max(1, _bytes_waiting(layout)) - below)
    # The fewest strips that memory allows, all about as wide: each border between two is read twice.
    width = -(-len(across) // -(-len(across) // most)) if across else 1
    for start in range(0, len(across), width):
        yield [(row, *place) for row in first for place in across[start : start + width]]


def _bytes_waiting(layout: Layout) -> int:
    """Return the bytes that wait per block across: those of one block, or those of a row of chunks for several."""
    work = layout.work
    height, *others = layout.most_needed
    return max(height, *work.chunks[0]) * math.prod(others) * work.dtype.itemsize


def _bytes_of_block(work: Work, block_shape: Shape) -> int:
    """Return the approximate memory that a block of an output takes while it is computed."""
    elements = math.prod(lengths_of(_middle(work, block_shape)))
    bound = planned(work.spec, work.shape)
    sums = elements * _BYTES_OF_SUMS if in_steps(bound, work.dtype) else _BYTES_OF_TILES
    return (elements + math.prod(block_shape)) * work.dtype.itemsize + sums


def _middle(work: Work, block_shape: Shape) -> Slices:
    """Return the piece of the input that a block in the middle of an output needs."""
    starts = (max(0, (size - extent) // 2) for size, extent in zip(work.out_shape, block_shape, strict=True))
    piece = tuple(slice(at, at + extent) for at, extent in zip(starts, block_shape, strict=True))
    return region(work.spec, work.shape, piece)
