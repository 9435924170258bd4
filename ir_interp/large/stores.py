"""Resizes from one image on disk to another, chunk by chunk, which resume after any interruption."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ir_interp.array_types import Array
from ir_interp.arrays.request import Request as Call
from ir_interp.errors import IrInterpError, ShapeError, SpecError
from ir_interp.executor import missing_pixels
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import planned
from ir_interp.files.kinds import is_tiff
from ir_interp.files.memory import resident_bytes
from ir_interp.files.paths import exists, real
from ir_interp.large import budget, cloud_optimised, ome_tiff, pyramid, rasters, zarr_arrays
from ir_interp.large.dealing import Dealer
from ir_interp.large.journal import Journal, Ledger
from ir_interp.large.layout import Layout, Place, Work, regular
from ir_interp.large.rasters import Raster
from ir_interp.large.zarr_arrays import ZarrArray
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec, Sizes
from ir_interp.version import VERSION

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
        image = pyramid.image_of(source.image, source.names, works[-1])
        source = replace(source, names=[axis["name"] for axis in image.axes])  # OME-Zarr 0.5 requires them in arrays
    is_group = request.levels is not None or isinstance(source, Raster)
    partial = request.destination.with_name(f"{request.destination.name}.partial")
    journal = Journal(partial, _identity(request, source, layouts))
    run = _Run(request=request, source=source, memory=budget.left(request.memory), progress=progress)
    with journal:
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
            cloud_optimised.write(result, source, paths, works)
        elif image is not None:
            pyramid.describe(partial, image, works, source.zarr_format)
        journal.finish(result, request.destination)
    return source.shape, array.shape


def opened(path: Path, destination: Path) -> Source:
    """Return the image at a path that is to become ``destination``. Raises as ``resize_store``."""
    if not is_tiff(path):
        return zarr_arrays.opened(path)
    return rasters.opened(path) if is_tiff(destination) else ome_tiff.opened(path)


def spec_for(source: Path, destination: Path, call: Call) -> tuple[ResizeSpec, str]:
    """Return the spec of a call for an image, whose axes may have names, and its element type. Raises as the call."""
    with closing(opened(source, destination)) as image:
        if isinstance(image, Raster) and call.axes is None:
            call = replace(call, axes=image.names[1:])
        mode = image.mode if isinstance(image, Raster) else None
        return call.bound(image.shape, image.dtype.name, names=image.names, mode=mode), image.dtype.name


def _layouts(request: Request, source: Source) -> Iterator[Layout]:
    """Yield the resize of each level and its chunks; for a pyramid, a copy comes first."""
    shape, chunk_shape = source.shape, source.chunks
    if request.levels is not None:
        copy = replace(planned(request.spec, shape, **request.target).spec, target=None, axes=tuple(range(len(shape))))
        work = Work(replace(copy, target=Sizes(shape)), shape, source.dtype, regular(shape, chunk_shape))
        yield Layout(work, regular(shape, chunk_shape))
    for level in range(1, 1 + (request.levels or 1)):
        bound = planned(request.spec, shape, **request.target)
        _check_axes(shape, bound.out_shape, level if request.levels else None)
        if request.missing.nodata is not None:
            missing_pixels.check(bound)
        work = Work(bound.spec, shape, source.dtype, regular(shape, chunk_shape), request.missing)
        chunk_shape = budget.lengths_of_chunks(work, chunk_shape, request.memory)
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
        threads = budget.threads(layout, self.memory)
        if ledger.level == _COPY and isinstance(image, ZarrArray) and image.stores_alike(target):
            image.copy_chunks(left, target, finish, threads)
            return replace(image, array=target)
        for strip in budget.strips(layout, self.memory):
            places = [place for place in strip if place in left]
            Dealer(layout, places, image.read, write).run(threads)
        return ZarrArray(array=zarr.open_array(path, mode="r"), label=str(path))
