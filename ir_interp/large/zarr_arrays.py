"""Zarr arrays as chunked images: in folders, ZIP files and at URLs."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError, ReadError
from ir_interp.files.paths import exists
from ir_interp.large.dealing import for_each
from ir_interp.large.layout import Layout, Place, Slices
from ir_interp.large.pyramid import Image, group_image
from ir_interp.shapes import Shape

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

    def read(self, piece: Slices, values: NDArray[Any]) -> None:
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

    def _format(self) -> dict[str, Any]:
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


def reopened(path: Path, layout: Layout, **form: Any) -> Any:
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
    try:
        check_metadata(path)
        store, inner = store_of(path)
        node = zarr.open(store, path=inner, mode="r")
    except (MemoryError, ReadError, ImportError):
        raise
    except Exception as error:  # of any kind, since metadata are untrusted
        if type(error) is FileNotFoundError and not exists(path):
            raise ReadError("does not exist", str(path)) from None
        raise ReadError(f"not a Zarr array: {_reason(error)}", str(path)) from None
    if isinstance(node, zarr.Group):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about files that are neither arrays nor groups
            names = ", ".join(sorted(node.array_keys())) or "none"
        raise ReadError(f"a Zarr group; expected an array in it, as in {path.name}/0; it has {names}", str(path))
    check_array(node, path)
    image = group_image(path, len(node.shape))
    return ZarrArray(array=node, label=str(path), names=_names(node, image), image=image)


def _names(array: Any, image: Image | None) -> Sequence[Any]:
    """Return the names of the axes of an array: its own in Zarr 3, those of xarray in Zarr 2, or those of OME-Zarr."""
    of_zarr = getattr(array.metadata, "dimension_names", None)
    of_xarray = array.attrs.get("_ARRAY_DIMENSIONS")
    of_image = [axis["name"] for axis in image.axes] if image else None
    fitting = (
        names for names in (of_zarr, of_xarray, of_image) if isinstance(names, Sequence) and len(names) == array.ndim
    )
    return next(fitting, ())
