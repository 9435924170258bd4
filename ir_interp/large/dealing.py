"""Scheduling of blocks: chunks are read one by one, and a block is computed when it has all its parts."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ir_interp.array_types import Array
from ir_interp.executor.arrays.threads import alone
from ir_interp.large.layout import Layout, Part, Place, Slices, lengths_of
from ir_interp.shapes import Shape

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
