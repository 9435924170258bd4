"""Resizes from one Zarr array to another, chunk by chunk, which resume after any interruption."""

from __future__ import annotations

import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.arrays.request import Request as Call
from ir_interp.errors import IrInterpError, ReadError, ShapeError, SpecError
from ir_interp.executor.missing_pixels import Missing
from ir_interp.executor.resize import planned
from ir_interp.files.paths import exists
from ir_interp.large import budget, pyramid
from ir_interp.large.dealing import Dealer
from ir_interp.large.journal import Journal, Ledger
from ir_interp.large.layout import Layout, Place, Slices, Work, regular
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec, Sizes
from ir_interp.version import VERSION

Array = NDArray[Any]
Told = Callable[[str, int, int], None]
_ADVICE = "pip install 'ir-interp[dask]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A resize of the Zarr array ``source`` into ``destination``; each of several ``levels`` resizes the previous one.

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
    """Write a Zarr array, or a group of arrays if ``levels`` is set; return the first and the last shape.

    Until it is complete, the result is named ``destination`` with .partial appended. The same call again resumes it.
    Raises ReadError for a source that is not a Zarr array, IrInterpError if ``destination`` exists, or if another
    resize to it was interrupted.
    """
    source = _opened(request.source)
    request.check(tuple(source.shape))
    if exists(request.destination):
        raise IrInterpError(f"{request.destination} exists already; remove it, or choose another name")
    layouts = list(_layouts(request, source))
    image = None if request.levels is None else pyramid.image_of(request.source, source, layouts[-1].work)
    partial = request.destination.with_name(f"{request.destination.name}.partial")
    journal = Journal(partial, _identity(request, source, layouts))
    memory = budget.left(request.memory)
    array = source
    with journal:
        for level, layout in enumerate(layouts, start=0 if image else 1):
            path = partial / str(level) if image else partial
            array = _level(array, path, layout, Ledger(journal, level), memory, progress)
        if image:
            works = [layout.work for layout in layouts]
            pyramid.describe(partial, image, works, source.metadata.zarr_format)
        journal.finish(request.destination)
    return tuple(source.shape), tuple(array.shape)


def spec_for(source: Path, call: Call) -> ResizeSpec:
    """Return the spec of a call for a Zarr array, whose dimensions may have names. Raises as the call does."""
    array = _opened(source)
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS", ())
    return call.bound(tuple(array.shape), np.dtype(array.dtype).name, names=names)


def _opened(path: Path) -> Any:
    """Return a Zarr array. Raises ReadError for anything else."""
    try:
        import zarr
    except ImportError:
        raise IrInterpError(f"Zarr is not installed: {_ADVICE}") from None
    try:
        from ir_interp.large.store_files import RegularFiles, check_array, check_metadata

        check_metadata(path)
        found = zarr.open(RegularFiles(path, read_only=True), mode="r") if exists(path) else zarr.open(path, mode="r")
    except (MemoryError, ReadError):
        raise
    except Exception as error:  # of any kind, since metadata are untrusted
        raise ReadError(f"not a Zarr array: {getattr(error, 'strerror', None) or error}", str(path)) from None
    if isinstance(found, zarr.Group):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that are neither arrays nor groups
            names = ", ".join(sorted(found.array_keys())) or "none"
        raise ReadError(f"a Zarr group; expected an array in it, as in {path.name}/0; it has {names}", str(path))
    check_array(found, path)
    return found


def _layouts(request: Request, source: Any) -> Iterator[Layout]:
    """Yield the resize of each level and its chunks; for a pyramid, a copy comes first."""
    shape, lengths = tuple(source.shape), tuple(source.shards or source.chunks)
    if request.levels is not None:
        copy = replace(planned(request.spec, shape, **request.target).spec, target=None, axes=tuple(range(len(shape))))
        work = Work(replace(copy, target=Sizes(shape)), shape, np.dtype(source.dtype), regular(shape, lengths))
        yield Layout(work, regular(shape, lengths))
    for _ in range(request.levels or 1):
        bound = planned(request.spec, shape, **request.target)
        _check_axes(shape, bound.out_shape)
        work = Work(bound.spec, shape, np.dtype(source.dtype), regular(shape, lengths), request.missing)
        lengths = budget.lengths_of_chunks(work, lengths, request.memory)
        if source.shards is not None:  # one thread writes a whole shard at once
            lengths = _of_whole_chunks(lengths, source.chunks)
        yield Layout(work, regular(bound.out_shape, lengths))
        shape = bound.out_shape
        if request.levels is not None and isinstance(work.spec.target, Sizes):
            raise SpecError("levels need scales, applied to each level in turn; this resize has sizes")


def _check_axes(before: Shape, after: Shape) -> None:
    """Raise ShapeError for an axis that would become empty, which is hardly intended."""
    for axis, (length, left) in enumerate(zip(before, after, strict=True)):
        if length and not left:
            raise ShapeError(f"axis {axis} of size {length} would become empty; is it the axis to resize?")


def _of_whole_chunks(lengths: Shape, inner: Shape) -> Shape:
    """Return the shape of shards that hold complete chunks."""
    return tuple(-(-each // chunk) * chunk for each, chunk in zip(lengths, inner, strict=True))


def _identity(request: Request, source: Any, layouts: list[Layout]) -> dict[str, Any]:
    """Return the identity of a call; only the same call may resume an interrupted one."""
    return {
        "program": VERSION,
        "source": str(request.source.resolve()),
        "shape": list(source.shape),
        "dtype": str(source.dtype),
        "spec": repr(layouts[-1].work.spec),
        "missing": repr(request.missing),
        "levels": request.levels,
        "chunks": [layout.longest for layout in layouts],
    }


def _level(source: Any, path: Path, layout: Layout, ledger: Ledger, memory: int, progress: Told) -> Any:
    """Return one array after writing all its chunks."""
    import zarr
    from zarr.core.buffer import default_buffer_prototype

    target, buffer = _created(source, path, layout), default_buffer_prototype().nd_buffer
    left = {place for place in layout.places if not ledger.is_done(place)}
    total = math.prod(map(len, layout.chunks))
    done = itertools.count(total - len(left) + 1)
    what = f"level {ledger.level}, {'x'.join(map(str, target.shape))}"
    lock = threading.Lock()

    def read(piece: Slices, values: Array) -> None:
        try:
            source.get_basic_selection(piece, out=buffer.from_numpy_array(values))
        except MemoryError:
            raise
        except Exception as error:  # of any codec
            problem = getattr(error, "strerror", None) or error
            raise ReadError(
                f"a chunk cannot be read: {problem}", str(source.store_path).removeprefix("file://")
            ) from None

    def write(place: Place, values: Array) -> None:
        target[layout.piece(place)] = values
        ledger.add(place)
        with lock:
            progress(what, next(done), total)

    progress(what, total - len(left), total)
    for strip in budget.strips(layout, memory):
        Dealer(layout, [place for place in strip if place in left], read, write).run(budget.threads(layout, memory))
    return zarr.open_array(path, mode="r")


def _created(source: Any, path: Path, layout: Layout) -> Any:
    """Return the output array, created or opened from an earlier call."""
    import zarr

    with suppress(OSError, ValueError):
        return zarr.open_array(path, mode="r+")
    lengths: dict[str, Any] = {"chunks": layout.longest}
    if source.shards is not None:
        lengths = {"chunks": source.chunks, "shards": _of_whole_chunks(layout.longest, source.chunks)}
    return zarr.create_array(
        store=path,
        shape=layout.work.out_shape,
        dtype=source.dtype,
        fill_value=source.fill_value,
        attributes=dict(source.attrs),
        compressors=source.compressors or None,
        filters=source.filters or None,
        zarr_format=source.metadata.zarr_format,
        **lengths,
        **_of_format(source),
    )


def _of_format(source: Any) -> dict[str, Any]:
    """Return the layout and the names of chunks, in the terms of the format of Zarr."""
    if source.metadata.zarr_format == 2:
        encoding = {"name": "v2", "separator": source.metadata.dimension_separator}
        return {"order": source.order, "chunk_key_encoding": encoding}
    return {
        "serializer": source.serializer,
        "dimension_names": source.metadata.dimension_names,
        "chunk_key_encoding": source.metadata.chunk_key_encoding,
    }
