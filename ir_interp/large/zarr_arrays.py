"""Zarr arrays as chunked images: in folders, ZIP files and at URLs; and the levels of a pyramid as OME-Zarr metadata.

Positions of the pixels of each level are written as 0.4 in Zarr 2, 0.5 in Zarr 3. Source:
ngff.openmicroscopy.org/0.5, "multiscales" metadata, and the same of 0.4.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ir_interp.errors import IrInterpError, ReadError, SpecError
from ir_interp.executor.resize import planned
from ir_interp.files.writing import exists
from ir_interp.large.layout import Layout, Place, Slices, Work, for_each
from ir_interp.plan.moved_coordinates import pixel_grid
from ir_interp.shapes import Array, Shape, resolve_axes

_TYPES = {"t": "time", "time": "time", "c": "channel", "channel": "channel"} | dict.fromkeys("zyx", "space")
_ORDER = ("time", "channel", "space")
_RANKS = range(2, 6)  # of an OME-Zarr image: 2 to 5 axes
_SPATIAL = (2, 3)  # how many of them are spatial


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """The OME-Zarr metadata of the array of a pyramid: its axes, and the positions of its pixels.

    ``others`` are the further metadata of its group, of channels for example.
    """

    axes: list[dict[str, Any]]
    scale: list[float]
    translation: list[float]
    others: Mapping[str, Any]


def image_of(known: Image | None, names: Sequence[object], work: Work) -> Image:
    """Return the metadata of an image: what is ``known``, or what follows from the names of its dimensions.

    Raises SpecError for axes that OME-Zarr does not have.
    """
    image = known or _by_names(names, work)
    types = [axis.get("type") for axis in image.axes]
    ordered = [kind for kind in types if kind in _ORDER]
    in_order = ordered == sorted(ordered, key=_ORDER.index)
    if len(types) not in _RANKS or types.count("space") not in _SPATIAL or not in_order or types[-1] != "space":
        names = ", ".join(str(axis["name"]) for axis in image.axes)
        expected = "levels are written as OME-Zarr, whose axes are time, channel and 2 or 3 spatial ones, in this order"
        raise SpecError(f"{expected}; this array has {names}")
    return image


def _by_names(names: Sequence[object], work: Work) -> Image:
    rank = len(work.shape)
    resized = resolve_axes(work.spec.axes, rank)
    names = names or [f"axis{i}" for i in range(rank - 2)] + ["y", "x"]
    axes = described_axes(names, resized)
    return Image(axes=axes, scale=[1.0] * rank, translation=[0.0] * rank, others={})


def described_axes(names: Sequence[object], spatial: Collection[int] = ()) -> list[dict[str, Any]]:
    """Return axes as OME-Zarr describes them: their types follow from their names, or from being ``spatial``."""
    axes = []
    for number, name in enumerate(map(str, names)):
        kind = _TYPES.get(name.lower(), "space" if number in spatial else None)
        axes.append({"name": name, "type": kind} if kind else {"name": name})
    return axes


def group_image(path: Path, rank: int) -> Image | None:
    """Return the metadata of an array in the group around it, if there is one.

    Raises ReadError for metadata that cannot be understood.
    """
    import zarr

    from ir_interp.large.store_files import store_of

    for group_path in (path.parent, path.parent.parent):
        try:
            store, inner = store_of(group_path)
            with closing(store):
                attributes: dict[str, object] = dict(zarr.open_group(store, path=inner, mode="r").attrs)
        except (OSError, ValueError, TypeError, KeyError):  # no group, or one of another kind
            continue
        try:
            image = _image_in(attributes.get("ome", attributes), path.relative_to(group_path).as_posix(), rank)
        except (AttributeError, TypeError, ValueError) as error:  # metadata are untrusted
            problem = error if isinstance(error, SpecError) else "malformed multiscales"
            raise ReadError(f"the OME-Zarr metadata around it cannot be read: {problem}", str(path)) from None
        if image is not None:
            return image
    return None


def _image_in(ome: Any, place: str, rank: int) -> Image | None:
    """Return what a group describes of the array at a place in it."""
    for image in ome.get("multiscales", ()) if isinstance(ome, Mapping) else ():
        for dataset in image.get("datasets", ()):
            if dataset.get("path") == place:
                moves = [*dataset.get("coordinateTransformations", ()), *image.get("coordinateTransformations", ())]
                scale, translation = _placed(moves, rank)
                others = {name: ome[name] for name in ("omero",) if name in ome}
                return Image(axes=_axes_of(image, rank), scale=scale, translation=translation, others=others)
    return None


def _axes_of(image: Mapping[str, Any], rank: int) -> list[dict[str, object]]:
    """Return the axes of an image: described since 0.4, names alone in 0.3, and all five without a name before.

    Raises SpecError for axes that are not those of the array.
    """
    axes = image.get("axes", "tczyx")
    if isinstance(axes, Sequence) and all(isinstance(axis, str) for axis in axes):
        axes = described_axes(axes)
    named = isinstance(axes, Sequence) and all(isinstance(a, Mapping) and isinstance(a.get("name"), str) for a in axes)
    if not named or len(axes) != rank:
        raise SpecError(f"axes {axes!r:.99}; expected a name for each of {rank}")
    return [dict(axis) for axis in axes]


def _placed(moves: Iterable[Mapping[str, Any]], rank: int) -> tuple[list[float], list[float]]:
    """Return the combined scale and translation of sequential transformations."""
    scale, translation = [1.0] * rank, [0.0] * rank
    for move in moves:
        values = move.get(str(move.get("type")))
        if move.get("type") == "scale" and values:
            scale = [a * float(b) for a, b in zip(scale, values, strict=True)]
            translation = [a * float(b) for a, b in zip(translation, values, strict=True)]
        elif move.get("type") == "translation" and values:
            translation = [a + float(b) for a, b in zip(translation, values, strict=True)]
        elif move.get("type") != "identity":
            raise SpecError(f"transformation {dict(move)!r:.99}; expected the values of a scale or a translation")
    return scale, translation


def describe_pyramid(path: Path, image: Image, works: Iterable[Work], zarr_format: Literal[2, 3]) -> None:
    """Write the positions of the pixels of the arrays 0, 1, 2 ... into their Zarr group."""
    import zarr

    scale, translation = list(image.scale), list(image.translation)
    datasets = []
    for level, work in enumerate(works):
        bound = planned(work.spec, work.shape)
        plans = {plan.axis: plan for plan in bound.axes}
        for axis, (pad, _) in enumerate(bound.padding):
            grid = pixel_grid(plans.get(axis), work.spec.kernel).behind(pad)
            translation[axis] += scale[axis] * grid.first
            scale[axis] *= grid.step
        moves = [{"type": "scale", "scale": list(scale)}, {"type": "translation", "translation": list(translation)}]
        datasets.append({"path": str(level), "coordinateTransformations": moves})
    multiscales = [{"name": path.name.removesuffix(".partial"), "axes": image.axes, "datasets": datasets}]
    attributes: dict[str, Any] = {"version": "0.5", "multiscales": multiscales, **image.others}
    if zarr_format == 2:
        attributes = {"multiscales": [{"version": "0.4", **multiscales[0]}], **image.others}
    else:
        attributes = {"ome": attributes}
    zarr.open_group(path, mode="a", zarr_format=zarr_format).attrs.update(attributes)


_NAMES = {"attributes": None, "dimension_names": None}  # metadata that say nothing about chunks
_ADVICE = "pip install 'ir-interp[dask]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZarrArray:
    """A Zarr array that is read piece by piece, from any number of threads, and the pattern of arrays made from it.

    ``label`` is what errors call it. ``names`` are those of its dimensions, empty if it has none; ``image`` is what
    OME-Zarr describes of it.
    """

    array: Any
    label: str
    names: Sequence[Any] = ()
    image: Image | None = None

    @property
    def shape(self) -> Shape:
        """The size of each axis."""
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    @property
    def chunks(self) -> Shape:
        """The shape of what is read at once: a shard, or a chunk without shards."""
        return tuple(self.array.shards or self.array.chunks)

    @property
    def zarr_format(self) -> Literal[2, 3]:
        """The format of what is made from it."""
        return 2 if self.array.metadata.zarr_format == 2 else 3

    def read(self, piece: Slices, values: Array) -> None:
        """Fill an array with a piece. Raises ReadError for a chunk that cannot be decoded."""
        from zarr.core.buffer import default_buffer_prototype

        buffer = default_buffer_prototype().nd_buffer.from_numpy_array(values)
        with self._reading():
            self.array.get_basic_selection(piece, out=buffer)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Raise ReadError for an error of any store or codec."""
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            problem = getattr(error, "strerror", None) or error
            raise ReadError(f"a chunk cannot be read: {problem}", self.label) from None

    def stores_alike(self, target: Any) -> bool:
        """Return whether another Zarr array stores the same pixels as the same bytes under the same keys."""
        mine, other = ({**array.metadata.to_dict(), **_NAMES} for array in (self.array, target))
        return mine == other

    def copy_chunks(self, chunks: Iterable[Place], target: Any, finish: Callable[[Place], None], threads: int) -> None:
        """Copy chunks as they are stored to an array that stores alike, and pass each to ``finish``.

        Raises ReadError for a chunk that cannot be read.
        """
        from zarr.core.sync import sync

        def copy(chunk: Place) -> None:
            key = self.array.metadata.encode_chunk_key(chunk)
            with self._reading():
                stored = sync((self.array.store_path / key).get())
            if stored is not None:  # else all its pixels are the fill value
                sync((target.store_path / key).set(stored))
            finish(chunk)

        for_each(iter(chunks), copy, threads)

    def close(self) -> None:
        """Close the file, if it is one."""
        self.array.store.close()

    def aligned(self, chunks: Shape) -> Shape:
        """Return the chunks to write: shards hold whole chunks, since one thread writes each of them at once."""
        if self.array.shards is None:
            return chunks
        return tuple(-(-size // chunk) * chunk for size, chunk in zip(chunks, self.array.chunks, strict=True))

    def created(self, path: Path, layout: Layout) -> Any:
        """Return the output array of a layout in the same format, created or opened from an earlier call."""
        chunks: dict[str, Any] = {}
        if self.array.shards is not None:
            chunks = {"chunks": self.array.chunks, "shards": self.aligned(layout.longest)}
        return reopened(
            path,
            layout,
            dtype=self.array.dtype,
            fill_value=self.array.fill_value,
            attributes=dict(self.array.attrs),
            compressors=self.array.compressors or None,
            filters=self.array.filters or None,
            zarr_format=self.zarr_format,
            **chunks,
            **self._format(),
        )

    def _format(self) -> dict[str, object]:
        """Return how chunks are laid out and named, which each format of Zarr describes in its own terms."""
        metadata = self.array.metadata
        if self.zarr_format == 2:
            encoding = {"name": "v2", "separator": metadata.dimension_separator}
            return {"order": self.array.order, "chunk_key_encoding": encoding}
        return {
            "serializer": self.array.serializer,
            "dimension_names": self.names or None,
            "chunk_key_encoding": metadata.chunk_key_encoding,
        }


def reopened(path: Path, layout: Layout, **form: Any) -> object:
    """Return the output array of a layout as an earlier call created it, or a new one of this ``form``."""
    import zarr

    # An interrupted call left the array; the journal has checked that it was the same call.
    with suppress(OSError, ValueError):
        return zarr.open_array(path, mode="r+")
    return zarr.create_array(store=path, shape=layout.work.out_shape, **{"chunks": layout.longest, **form})


def _reason(error: Exception) -> str:
    """Return why an array cannot be opened, without the names of Zarr's own objects."""
    reason = str(getattr(error, "strerror", None) or error)
    return "it holds no zarr.json, .zarray or .zgroup" if "StorePath(" in reason else reason


def opened(path: Path) -> ZarrArray:
    """Return the Zarr array at a path: of a folder, in ``big.zarr.zip``, or at a URL such as s3://bucket/big.zarr.

    Raises ReadError for anything else, and IrInterpError without zarr.
    """
    try:
        import zarr

        from ir_interp.large.store_files import check_array, check_metadata, store_of
    except ImportError:
        raise IrInterpError(f"Zarr is not installed: {_ADVICE}") from None
    with ExitStack() as stack:
        try:
            check_metadata(path)
            store, inner = store_of(path)
            stack.callback(store.close)
            node = zarr.open(store, path=inner, mode="r")
        except (MemoryError, ReadError, ImportError):
            raise
        except Exception as error:  # of any kind, since metadata are untrusted
            if type(error) is FileNotFoundError and not exists(path):
                raise ReadError("does not exist", str(path)) from None
            raise ReadError(f"not a Zarr array: {_reason(error)}", str(path)) from None
        if isinstance(node, zarr.Group):
            problem = f"a Zarr group; expected an array in it, as in {path.name}/0; it has {_members(node)}"
            raise ReadError(problem, str(path))
        check_array(node, path)
        image = group_image(path, len(node.shape))
        stack.pop_all()
        return ZarrArray(array=node, label=str(path), names=_names(node, image), image=image)


def _members(group: Any) -> str:
    """Return the names of the arrays in a group, or why they cannot be listed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files that are neither arrays nor groups
        try:
            return ", ".join(sorted(group.array_keys())) or "none"
        except MemoryError:
            raise
        except Exception as error:  # of any kind, since metadata are untrusted
            return f"arrays that cannot be listed: {_reason(error)}"


def _names(array: Any, image: Image | None) -> Sequence[Any]:
    """Return the names of the axes of an array: its own in Zarr 3, those of xarray in Zarr 2, or those of OME-Zarr."""
    of_zarr = getattr(array.metadata, "dimension_names", None)
    of_xarray = array.attrs.get("_ARRAY_DIMENSIONS")
    of_image = [axis["name"] for axis in image.axes] if image else None
    fitting = (
        names for names in (of_zarr, of_xarray, of_image) if isinstance(names, Sequence) and len(names) == array.ndim
    )
    return next(fitting, ())
