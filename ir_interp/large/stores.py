"""From one Zarr array to another, chunk by chunk: what is done stays done, however the program ends."""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.executor.prepared import in_steps
from ir_interp.executor.resize import planned, region
from ir_interp.large.blocks import Chunks, Slices, Work, block, chosen, edges_of, overlaps
from ir_interp.large.labelled import centres
from ir_interp.memory import resident_bytes
from ir_interp.shapes import Shape
from ir_interp.spec import ResizeSpec, Sizes
from ir_interp.version import VERSION

Array = NDArray[Any]
Told = Callable[[str, int, int], None]
Place = tuple[int, ...]
Pieces = Callable[[Place], Slices]
_BYTES_OF_SUMS = 24  # for each input of a block, where integers are summed in steps: these are made at once
_BYTES_OF_TILES = 2**26  # where they are summed in tiles, as floats are
_ADVICE = "pip install 'ir-interp[dask]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A resize of the Zarr array ``source`` into ``destination``; of several ``levels`` each of the one before.

    ``target`` holds sizes, scales or arithmetic in place of those of the spec, as for ``resize``.
    """

    source: Path
    destination: Path
    spec: ResizeSpec
    target: Mapping[str, Any] = field(default_factory=dict)
    levels: int | None = None
    memory: int = 2**30


def resize_store(request: Request, progress: Told) -> tuple[Shape, Shape]:
    """Write a Zarr array, or a group of them where ``levels`` are asked for; return the first and the last shape.

    What is written lies beside ``destination``, with .partial behind its name, until all of it is there. Another call
    for the same goes on with it. Raises ReadError for what is no array of Zarr, IrInterpError where ``destination`` is
    there already, or what was begun is something else.
    """
    source = _opened(request.source)
    if request.destination.exists():
        raise IrInterpError(f"{request.destination} is there already; remove it, or choose another name")
    works = list(_works(request, source))
    partial = request.destination.with_name(f"{request.destination.name}.partial")
    journal = Journal(partial, _identity(request, source, works))
    memory = max(request.memory - resident_bytes(), request.memory // 4)
    array = source
    with journal:
        for level, (work, chunks) in enumerate(works, start=1):
            path = partial if request.levels is None else partial / str(level)
            array = _level(array, path, work, chunks, Ledger(journal, level), memory, progress)
    if request.levels is not None:
        _describe(partial, source, works)
    journal.finish(request.destination)
    return tuple(source.shape), tuple(array.shape)


def _opened(path: Path) -> Any:
    """Return an array of Zarr. Raises ReadError where there is none."""
    try:
        import zarr
    except ImportError:
        raise IrInterpError(f"Zarr is not installed: {_ADVICE}") from None
    try:
        found = zarr.open(path, mode="r")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReadError(f"no array of Zarr: {error}", str(path)) from None
    if isinstance(found, zarr.Group):
        names = ", ".join(sorted(found.array_keys())) or "none"
        raise ReadError(f"a group of Zarr; expected an array in it, as in {path.name}/0; it has {names}", str(path))
    return found


def _works(request: Request, source: Any) -> Iterator[tuple[Work, Chunks]]:
    """Yield what is done for each level, and the chunks that it is written in."""
    shape, lengths = tuple(source.shape), tuple(source.chunks)
    for _ in range(request.levels or 1):
        bound = planned(request.spec, shape, **request.target)
        work = Work(bound.spec, shape, np.dtype(source.dtype), _regular(shape, lengths))
        lengths = _lengths_of_chunks(work, bound.out_shape, lengths, request.memory)
        yield work, _regular(bound.out_shape, lengths)
        shape = bound.out_shape
        if request.levels is not None and isinstance(work.spec.target, Sizes):
            raise SpecError("levels need scales, each level of the one before; this resize has sizes")


def _regular(shape: Shape, lengths: Shape) -> Chunks:
    cut = zip(shape, lengths, strict=True)
    return tuple((each,) * (size // each) + ((size % each,) if size % each else ()) for size, each in cut)


def _lengths_of_chunks(work: Work, out_shape: Shape, lengths: Shape, memory: int) -> Shape:
    """Return how long the chunks of an output are: as those of the input, or less where memory does not hold a block.

    A block reads several chunks where the output shrinks; then its chunks are made from fewer.
    """
    wanted = [min(each, size) for each, size in zip(lengths, out_shape, strict=True)]
    least = [max(each, default=1) for each in chosen(work.chunks, work.shape, out_shape)]
    while block_bytes(work, tuple(wanted)) > memory // 8:
        halved = [max(low, -(-each // 2)) if each > low else each for each, low in zip(wanted, least, strict=True)]
        if halved == wanted:
            break
        wanted = halved
    return tuple(max(each, 1) for each in wanted)


def block_bytes(work: Work, lengths: Shape) -> int:
    """Return about how much memory a block of an output takes while it is made."""
    out_shape = planned(work.spec, work.shape).out_shape
    middle = [max(0, (size - each) // 2) for size, each in zip(out_shape, lengths, strict=True)]
    piece = tuple(slice(at, at + each) for at, each in zip(middle, lengths, strict=True))
    needed = region(work.spec, work.shape, piece)
    elements = math.prod(each.stop - each.start for each in needed)
    sums = elements * _BYTES_OF_SUMS if in_steps(planned(work.spec, work.shape), work.dtype) else _BYTES_OF_TILES
    return int(elements * 2 * work.dtype.itemsize + sums)


def _threads(work: Work, chunks: Chunks, memory: int) -> int:
    each = block_bytes(work, tuple(max(lengths, default=1) for lengths in chunks))
    return max(1, min(os.cpu_count() or 1, memory // 2 // max(each, 1)))


def _identity(request: Request, source: Any, works: list[tuple[Work, Chunks]]) -> dict[str, Any]:
    """Return what makes two calls the same, so that one may go on where the other ended."""
    return {
        "program": VERSION,
        "source": str(request.source.resolve()),
        "shape": list(source.shape),
        "dtype": str(source.dtype),
        "spec": repr(works[0][0].spec),
        "levels": request.levels,
        "chunks": [[max(each, default=1) for each in chunks] for _, chunks in works],
    }


class Journal:
    """What is done: a line for every chunk, behind one that says of what. A line that was cut short does not count."""

    def __init__(self, partial: Path, identity: dict[str, Any]) -> None:
        self.partial = partial
        self.path = partial.with_name(f"{partial.name}.done")
        self.done: set[str] = set()
        head = json.dumps(identity)
        if self.path.exists():
            first, *lines = self.path.read_text(encoding="utf-8").split("\n")
            if first != head:
                raise IrInterpError(f"{self.path} tells of another resize, not finished; remove it and {partial.name}")
            self.done = set(lines[:-1])  # behind the last line feed there is nothing, or what was cut short
            self._cut_short(lines[-1])
        else:
            shutil.rmtree(partial, ignore_errors=True)
            self.path.write_text(head + "\n", encoding="utf-8")
        self._file = self.path.open("a", encoding="utf-8", newline="\n")
        self._lock = threading.Lock()

    def _cut_short(self, rest: str) -> None:
        if rest:
            os.truncate(self.path, self.path.stat().st_size - len(rest.encode()))

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, line: str) -> None:
        """Note that a chunk is done, which is written by now."""
        with self._lock:
            self._file.write(line + "\n")
            self._file.flush()

    def finish(self, destination: Path) -> None:
        """Give what was made its name."""
        for left in self.partial.rglob("*.partial"):  # by Zarr, when it was killed
            left.unlink()
        self.partial.replace(destination)
        self.path.unlink()


@dataclass(frozen=True, slots=True)
class Ledger:
    """The lines of a journal for one level."""

    journal: Journal
    level: int

    def is_done(self, place: tuple[int, ...]) -> bool:
        """Say whether the chunk at a place is done."""
        return self._line(place) in self.journal.done

    def add(self, place: tuple[int, ...]) -> None:
        """Note that it is."""
        self.journal.add(self._line(place))

    def _line(self, place: tuple[int, ...]) -> str:
        return f"{self.level}/{'.'.join(map(str, place))}"


def _level(source: Any, path: Path, work: Work, chunks: Chunks, ledger: Ledger, memory: int, progress: Told) -> Any:
    """Return one array, all of whose chunks are written."""
    import zarr

    target = _created(source, path, chunks, planned(work.spec, work.shape).out_shape)
    total, done = math.prod(map(len, chunks)), 0
    what = f"level {ledger.level}, {'x'.join(map(str, target.shape))}"
    out_edges = list(map(edges_of, chunks))
    lock = threading.Lock()

    def pieces(place: Place) -> Slices:
        return tuple(slice(each[i], each[i + 1]) for each, i in zip(out_edges, place, strict=True))

    def write(place: Place, values: Array) -> None:
        nonlocal done
        target[pieces(place)] = values
        ledger.add(place)
        with lock:
            done += 1
            progress(what, done, total)

    with ThreadPoolExecutor(_threads(work, chunks, memory)) as pool:
        for strip in _strips(work, chunks, pieces, memory):
            rows = [[place for place in row if not ledger.is_done(place)] for row in strip]
            with lock:
                done += sum(map(len, strip)) - sum(map(len, rows))
                progress(what, done, total)
            _run(source, work, pieces, rows, pool, write)
    return zarr.open_array(path, mode="r")


def _created(source: Any, path: Path, chunks: Chunks, shape: Shape) -> Any:
    """Return the array that is written; what an earlier call made of it, where there was one."""
    import zarr

    with suppress(OSError, ValueError):
        return zarr.open_array(path, mode="r+")
    return zarr.create_array(
        store=path,
        shape=shape,
        chunks=tuple(max(each, default=1) for each in chunks),
        dtype=source.dtype,
        fill_value=source.fill_value,
        attributes=dict(source.attrs),
        dimension_names=getattr(source.metadata, "dimension_names", None),
    )


def _strips(work: Work, chunks: Chunks, pieces: Pieces, memory: int) -> Iterator[list[list[Place]]]:
    """Yield the places of blocks in strips, each as rows one below the other, whose chunks memory holds.

    A row needs chunks that the next one needs, too; these are read once. At the sides of strips they are read again.
    """
    first, *others = (range(len(each)) for each in chunks)
    across = list(itertools.product(*others))
    width = len(across)
    middle = len(first) // 2

    def taken(count: int) -> int:
        keys = {key for place in across[:count] for key, _, _ in _under(work, pieces((middle, *place)))}
        lengths = (math.prod(each[i] for each, i in zip(work.chunks, key, strict=True)) for key in keys)
        return sum(lengths) * work.dtype.itemsize

    while width > 1 and taken(width) > memory // 2:
        width = -(-width // 2)
    for start in range(0, len(across), width):
        yield [[(row, *place) for place in across[start : start + width]] for row in first]


def _under(work: Work, piece: Slices) -> list[tuple[Place, Slices, Slices]]:
    return list(overlaps(region(work.spec, work.shape, piece), list(map(edges_of, work.chunks))))


def _run(
    source: Any,
    work: Work,
    pieces: Pieces,
    rows: list[list[Place]],
    pool: ThreadPoolExecutor,
    write: Callable[[Place, Array], None],
) -> None:
    """Make and write the blocks of a strip, row by row."""
    edges = list(map(edges_of, work.chunks))
    held: dict[Place, Array] = {}

    def read(key: Place) -> Array:
        values: Array = source[tuple(slice(each[i], each[i + 1]) for each, i in zip(edges, key, strict=True))]
        return values

    def make(place: Place) -> None:
        piece = pieces(place)
        parts = _under(work, piece)
        values = [held[key][cut] for key, cut, _ in parts]
        write(
            place, block(values, [target for _, _, target in parts], work, piece, region(work.spec, work.shape, piece))
        )

    for row in rows:
        wanted = {key for place in row for key, _, _ in _under(work, pieces(place))}
        held = {key: values for key, values in held.items() if key in wanted}
        missing = sorted(wanted - held.keys())
        held |= dict(zip(missing, pool.map(read, missing), strict=True))
        for _ in pool.map(make, row):
            pass


def _describe(path: Path, source: Any, works: list[tuple[Work, Chunks]]) -> None:
    """Say where the pixels of each level lie in the source, as OME-Zarr 0.5 does."""
    import zarr

    names = getattr(source.metadata, "dimension_names", None) or [f"axis{i}" for i in range(len(source.shape))]
    scale, shift = [1.0] * len(names), [0.0] * len(names)
    datasets = []
    for level, (work, _) in enumerate(works, start=1):
        bound = planned(work.spec, work.shape)
        for axis in bound.axes:
            first = centres(replace(axis, out_size=1), 1, work.spec)[0] - bound.padding[axis.axis][0]
            shift[axis.axis] += scale[axis.axis] * float(first)
            scale[axis.axis] *= float(axis.step)
        moves = [{"type": "scale", "scale": list(scale)}, {"type": "translation", "translation": list(shift)}]
        datasets.append({"path": str(level), "coordinateTransformations": moves})
    axes = [{"name": str(name)} for name in names]
    attributes: dict[str, Any] = {"ome": {"version": "0.5", "multiscales": [{"axes": axes, "datasets": datasets}]}}
    zarr.open_group(path, mode="a", zarr_format=3).attrs.update(attributes)
