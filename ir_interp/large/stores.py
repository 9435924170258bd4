"""Resizes from one image on disk to another, chunk by chunk, which resume after any interruption.

Half of the memory budget is for blocks that wait for their parts, the other half for reading and computing in threads.
A journal has a line for each finished chunk, so that another call can resume.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ir_interp.containers import Request as Call
from ir_interp.errors import IrInterpError, ReadError, ShapeError, SpecError
from ir_interp.executor import loop_runner, missing_pixels
from ir_interp.executor.cases import in_steps
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import planned, region
from ir_interp.files.kinds import is_tiff
from ir_interp.files.memory import resident_bytes
from ir_interp.files.writing import exists, opened_alone, real
from ir_interp.large import geotiff, microscopy, zarr_arrays
from ir_interp.large.geotiff import Raster
from ir_interp.large.layout import Dealer, Layout, Place, Slices, Work, chosen_chunks, lengths_of, regular
from ir_interp.large.zarr_arrays import ZarrArray
from ir_interp.shapes import Array, Shape
from ir_interp.specs import ResizeSpec, Sizes
from ir_interp.version import VERSION

_BYTES_OF_SUMS = 24  # per input of a block, if integers are summed in steps, which compute the whole block at once
_BYTES_OF_TILES = 2**25  # if they are summed in tiles, as floats are
_BYTES_OF_LOOPS = 112 * 2**20  # compiled loops, once loaded
_BYTES_OF_PROGRAM = 160 * 2**20  # the program with Zarr, before it reads a chunk
_COPIES = 3  # of a chunk: as stored, as decoded, and in its place
_BLOCKS_AT_ONCE = 8  # minimum number of blocks that memory should hold


def bytes_of_program() -> int:
    """Return the bytes that the program takes without any block of an image."""
    return _BYTES_OF_PROGRAM + _BYTES_OF_LOOPS * loop_runner.is_installed()


def bytes_left(memory: int) -> int:
    """Return the part of ``memory`` that the program leaves, at least a quarter, even if that exceeds ``memory``."""
    return max(memory - resident_bytes() - _BYTES_OF_LOOPS * loop_runner.is_installed(), memory // 4)


def lengths_of_chunks(work: Work, chunk_shape: Shape, memory: int) -> Shape:
    """Return the chunk shape of an output: that of the input, or smaller if memory does not hold such a block.

    If the output shrinks, a block reads several chunks; its chunks then cover fewer chunks of the input.
    """
    out_shape = work.out_shape
    chunk = tuple(max(min(length, size), 1) for length, size in zip(chunk_shape, out_shape, strict=True))
    least = [max(lengths_of_axis, default=1) for lengths_of_axis in chosen_chunks(work.chunks, work.shape, out_shape)]
    while _bytes_of_block(work, chunk) > memory // _BLOCKS_AT_ONCE:
        halves = zip(chunk, least, strict=True)
        halved = tuple(max(low, -(-length // 2), 1) if length > low else length for length, low in halves)
        if halved == chunk:
            break
        chunk = halved
    return chunk


def thread_count(layout: Layout, memory: int) -> int:
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


class Journal:
    """The finished chunks, one per line, after a line that identifies the resize. A truncated line is ignored."""

    def __init__(self, partial: Path, identity: dict[str, Any]) -> None:
        self.partial = partial
        self.path = partial.with_name(f"{partial.name}.done")
        self.done: set[str] = set()
        self._lock = threading.Lock()
        for path in (self.partial, self.path):
            if path.is_symlink():
                raise IrInterpError(f"{path} is a link, through which nothing is written; remove it")
        self._file = opened_alone(self.path)
        try:
            self._begin(json.dumps(identity))
        except BaseException:
            self._file.close()
            raise

    def _begin(self, head: str) -> None:
        """Read the finished chunks; without a complete first line there are none."""
        first, *lines = self._file.read().decode("latin-1").split("\n")
        if not lines and head.startswith(first):  # it may be truncated
            shutil.rmtree(self.partial, ignore_errors=True)
            self._file.truncate(0)
            self._write(head)
        elif not lines or first != head:
            raise IrInterpError(f"{self.path} records another, unfinished resize; remove it and {self.partial.name}")
        else:
            self.done = set(lines[:-1])  # after the last line feed there is nothing, or a truncated line
            # The next line would otherwise continue a truncated one.
            self._file.truncate(self._file.tell() - len(lines[-1]))
        for path in self.partial.rglob("*"):
            if stat.S_IFMT(path.lstat().st_mode) not in (stat.S_IFREG, stat.S_IFDIR):
                raise IrInterpError(
                    f"{path} is a link, a pipe or a device, which no unfinished resize has; "
                    f"remove {self.partial.name} and {self.path.name}"
                )

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: str) -> None:
        """Record that a chunk has been written."""
        with self._lock:
            self.done.add(line)
            self._write(line)

    def _write(self, line: str) -> None:
        self._file.write(line.encode() + b"\n")
        self._file.flush()  # at once, so that a process that is killed has recorded its finished chunks

    def finish(self, result: Path, destination: Path) -> None:
        """Rename the result, which is the folder or a file in it, to its final name."""
        for left in self.partial.rglob("*.partial"):  # left by Zarr when it was killed
            left.unlink()
        result.replace(destination)
        shutil.rmtree(self.partial, ignore_errors=True)
        self.path.unlink()

    def forget(self) -> None:
        """Remove the unfinished result."""
        shutil.rmtree(self.partial, ignore_errors=True)
        self.path.unlink(missing_ok=True)


@contextmanager
def _left_resumable(journal: Journal) -> Iterator[None]:
    """Remove an unfinished result if the resize is refused, since the same call would be refused again.

    Finished chunks stay if another one cannot be read, as when a network fails.
    """
    try:
        yield
    except IrInterpError as error:
        if not isinstance(error, ReadError) or not journal.done:
            journal.forget()
        raise


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines of a journal for one level."""

    journal: Journal
    level: int

    def is_done(self, place: tuple[int, ...]) -> bool:
        """Return whether the chunk at a place is finished."""
        return self._line(place) in self.journal.done

    def add(self, place: tuple[int, ...]) -> None:
        """Record that the chunk at a place is finished."""
        self.journal.add(self._line(place))

    def _line(self, place: tuple[int, ...]) -> str:
        return f"{self.level}/{'.'.join(map(str, place))}"


_COPY = 0  # the level of a pyramid that copies the source
Told = Callable[[str, int, int], None]
Source = ZarrArray | Raster
"""An image on disk that is read piece by piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A resize of the image ``source`` into ``destination``; each of several ``levels`` resizes the previous one.

    ``target`` holds sizes, scales or arithmetic that replace those of the spec, as for ``resize``; some pixels may be
    ``missing``. ``check`` raises ShapeError for a shape of the source that must not be resized.
    """

    source: Path
    destination: Path
    spec: ResizeSpec
    target: Mapping[str, Any] = field(default_factory=dict)
    missing: Missing = field(default_factory=Missing)
    levels: int | None = None
    memory: int = 2**30
    check: Callable[[Shape], None] = lambda shape: None


def resize_store(request: Request, progress: Told) -> tuple[Shape, Shape]:
    """Write a resized image, or a pyramid if ``levels`` is set; return the first and the last shape.

    Zarr arrays and TIFF files of microscopes become Zarr; GeoTIFF files become cloud-optimised GeoTIFF. Until it is
    complete, the result is named ``destination`` with .partial appended. The same call again resumes it. Raises
    ReadError for any other source, IrInterpError if ``destination`` exists, or if another resize to it was interrupted.
    """
    with closing(opened(request.source, request.destination)) as source:
        return _resized(request, source, progress)


def _resized(request: Request, source: Source, progress: Told) -> tuple[Shape, Shape]:
    if isinstance(source, Raster) and request.missing.nodata is None:
        request = replace(request, missing=replace(request.missing, nodata=source.nodata))
    if isinstance(source, Raster):
        source.check(request.spec)
    request.check(source.shape)
    if real(request.destination) == real(request.source):
        raise IrInterpError(f"{request.destination} is an input and would be overwritten; choose another name")
    if exists(request.destination):
        raise IrInterpError(f"{request.destination} exists already; remove it, or choose another name")
    layouts = list(_layouts(request, source))
    works = [layout.work for layout in layouts]
    image = None
    if request.levels is not None and not isinstance(source, Raster):
        image = zarr_arrays.image_of(source.image, source.names, works[-1])
        source = replace(source, names=[axis["name"] for axis in image.axes])  # OME-Zarr 0.5 requires them in arrays
    is_group = request.levels is not None or isinstance(source, Raster)
    partial = request.destination.with_name(f"{request.destination.name}.partial")
    journal = Journal(partial, _identity(request, source, layouts))
    run = _Run(request=request, source=source, memory=bytes_left(request.memory), progress=progress)
    with journal, _left_resumable(journal):
        paths = [partial / str(level) if is_group else partial for level in range(len(layouts))]
        if isinstance(source, Raster) and request.levels is not None:
            paths[_COPY] = source.path  # GDAL reads the image from the file itself
        array: Source = source
        for level, (layout, path) in enumerate(zip(layouts, paths, strict=True), start=0 if request.levels else 1):
            if path != request.source:
                array = run.level(array, path, layout, Ledger(journal, level))
        result = partial
        if isinstance(source, Raster):
            result = partial / "result.tif"
            geotiff.write_cloud_optimised(result, source, paths, works)
        elif image is not None:
            zarr_arrays.describe_pyramid(partial, image, works, source.zarr_format)
        journal.finish(result, request.destination)
    has_mask = isinstance(source, Raster) and source.has_mask
    before, after = ((shape[0] - has_mask, *shape[1:]) for shape in (source.shape, array.shape))
    return before, after


def opened(path: Path, destination: Path) -> Source:
    """Return the image at a path that is to become ``destination``. Raises as ``resize_store``."""
    if not is_tiff(path):
        return zarr_arrays.opened(path)
    return geotiff.opened_raster(path) if is_tiff(destination) else microscopy.opened_microscopy(path)


def spec_for(source: Path, destination: Path, call: Call) -> tuple[ResizeSpec, str]:
    """Return the spec of a call for an image, whose axes may have names, and its element type. Raises as the call."""
    with closing(opened(source, destination)) as image:
        if isinstance(image, Raster) and call.axes is None:
            call = replace(call, axes=image.names[1:])
        mode = image.mode if isinstance(image, Raster) else None
        if isinstance(image, Raster) and call.is_own and image.alpha == image.profile["count"]:
            mode = "RGBA"  # colours and alpha, however many colours there are
        return call.bound(image.shape, image.dtype.name, names=image.names, mode=mode), image.dtype.name


def _layouts(request: Request, source: Source) -> Iterator[Layout]:
    """Yield the resize of each level and its chunks; for a pyramid, a copy comes first."""
    shape, chunk_shape = source.shape, source.chunks
    has_mask = isinstance(source, Raster) and source.has_mask
    if has_mask and request.levels is not None:
        raise SpecError("levels of a raster with a mask are not written; run each level by itself, or use nodata")
    if request.levels is not None:
        copy = replace(planned(request.spec, shape, **request.target).spec, target=None, axes=tuple(range(len(shape))))
        work = Work(replace(copy, target=Sizes(shape)), shape, source.dtype, regular(shape, chunk_shape))
        yield Layout(work, regular(shape, chunk_shape))
    for level in range(1, 1 + (request.levels or 1)):
        bound = planned(request.spec, shape, **request.target)
        _check_axes(shape, bound.out_shape, level if request.levels else None)
        if request.missing.nodata is not None or has_mask:
            missing_pixels.check(bound)
        chunks = regular(shape, chunk_shape)
        work = Work(bound.spec, shape, source.dtype, chunks, request.missing, has_mask_band=has_mask)
        chunk_shape = lengths_of_chunks(work, chunk_shape, request.memory)
        chunk_shape = source.aligned(chunk_shape)
        yield Layout(work, regular(bound.out_shape, chunk_shape))
        shape = bound.out_shape
        if request.levels is not None and isinstance(work.spec.target, Sizes):
            raise SpecError("levels need scales, applied to each level in turn; this resize has sizes")


def _check_axes(before: Shape, after: Shape, level: int | None) -> None:
    """Raise ShapeError for an axis that would become empty, or longer in a level, which is hardly intended."""
    for axis, (size, left) in enumerate(zip(before, after, strict=True)):
        if size and not left:
            problem = f"axis {axis} of size {size} would become empty"
            if level is not None and level > 1:
                raise ShapeError(f"{problem} at level {level}; expected at most {level - 1} levels")
            raise ShapeError(f"{problem}; is it the axis to resize?")
        if level is not None and left > size:
            raise ShapeError(f"axis {axis} grows from {size} to {left}; expected levels that shrink, as by 0.5")


def _identity(request: Request, source: Source, layouts: list[Layout]) -> dict[str, Any]:
    """Return the identity of a call; only the same call may resume an interrupted one."""
    return {
        "program": VERSION,
        "source": str(request.source.resolve()),
        "shape": list(source.shape),
        "dtype": str(source.dtype),
        # Another release may compute other bits, and other options other chunks: neither may finish this one.
        "spec": repr(layouts[-1].work.spec),
        "missing": repr(request.missing),
        "levels": request.levels,
        "chunks": [layout.longest for layout in layouts],
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """Settings that the levels of a resize share; ``memory`` is the part of the request's that the program leaves."""

    request: Request
    source: Source
    memory: int
    progress: Told

    def level(self, image: Source, path: Path, layout: Layout, ledger: Ledger) -> ZarrArray:
        """Return one array made from an image, in the format of the source, all of whose chunks are written."""
        import zarr

        target = self.source.created(path, layout)
        left = {place for place in layout.places if not ledger.is_done(place)}
        total = math.prod(map(len, layout.chunks))
        done = itertools.count(total - len(left) + 1)
        lock = threading.Lock()

        def report(count: int) -> None:
            used, allowed = resident_bytes() >> 20, self.request.memory >> 20
            what = f"level {ledger.level}, {'x'.join(map(str, target.shape))}, {used} of {allowed} MiB"
            self.progress(what, count, total)

        def finish(place: Place) -> None:
            ledger.add(place)
            with lock:
                report(next(done))

        def write(place: Place, values: Array) -> None:
            target[layout.piece(place)] = values
            finish(place)

        report(total - len(left))
        threads = thread_count(layout, self.memory)
        if ledger.level == _COPY and isinstance(image, ZarrArray) and image.stores_alike(target):
            image.copy_chunks(left, target, finish, threads)
            return replace(image, array=target)
        for strip in strips(layout, self.memory):
            places = [place for place in strip if place in left]
            Dealer(layout, places, image.read, write).run(threads)
        return ZarrArray(array=zarr.open_array(path, mode="r"), label=str(path))
