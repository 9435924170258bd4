"""Zarr stores in untrusted folders and ZIP files: regular files inside the store alone, no code, bounded sizes."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype, default_buffer_prototype
from zarr.storage import FsspecStore, LocalStore, ZipStore

from ir_interp.errors import ReadError
from ir_interp.files.archives import archive_of
from ir_interp.files.kinds import check_regular, is_zip, name_of, opened
from ir_interp.files.writing import exists, real

_ARRAYS = ("zarr.json", ".zarray")
_METADATA = (*_ARRAYS, ".zgroup", ".zattrs")
_PICKLE = "pickle"  # in the names of codecs that run code


class RegularFiles(LocalStore):
    """A store that reads regular files below its root, and refuses pipes, devices and links to the outside.

    Each file is opened once, without waiting, and checked while it is open, since another process may replace it.
    """

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file. Raises OSError for a file that is not of the store."""
        return await asyncio.to_thread(self.get_sync, key, prototype=prototype, byte_range=byte_range)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return the bytes of parts of files. Raises OSError as ``get``."""
        return [await self.get(key, prototype, byte_range) for key, byte_range in key_ranges]

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file. Raises OSError as ``get``."""
        path = Path(self.root, key)
        try:
            with opened(path) as file:
                if not real(Path(name_of(file))).is_relative_to(real(Path(self.root))):
                    raise OSError(errno.EINVAL, f"{key} points outside the store", str(path))
                start, end = _range(byte_range, os.fstat(file.fileno()).st_size)
                file.seek(start)
                content = file.read(max(0, end - start))
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None
        return (prototype or default_buffer_prototype()).buffer.from_bytes(content)


def _range(request: ByteRequest | None, size: int) -> tuple[int, int]:
    """Return where the requested bytes of a file of ``size`` bytes start and end."""
    match request:
        case None:
            return 0, size
        case RangeByteRequest():
            return request.start, request.end
        case OffsetByteRequest():
            return request.offset, size
        case SuffixByteRequest():
            return max(0, size - request.suffix), size
    raise TypeError(f"unknown request {request!r}")


class StoredFiles(ZipStore):
    """A ZIP file as Zarr writes it: its members are not compressed, so none is larger than the file."""

    def __init__(self, path: Path) -> None:
        self._file = opened(path)  # until the store is closed, which opens this file by its descriptor
        try:
            with archive_of(self._file, path) as archive:
                archive.check_files()
                compressed = archive.compressed
            if compressed:
                problem = f"{compressed[0]} is compressed in it; expected members that are stored, as zip -0 does"
                raise ReadError(problem, str(path))
        except BaseException:
            self._file.close()
            raise
        super().__init__(Path(name_of(self._file)), mode="r", read_only=True)

    def close(self) -> None:
        """Close the file."""
        if self._is_open:
            super().close()
        self._file.close()


def store_of(path: Path) -> tuple[LocalStore | ZipStore | FsspecStore, str]:
    """Return the store of a path, and the path of a node in it.

    A store is a folder, a ZIP file on the way to the node, or a URL unless a folder has that name. Raises ReadError for
    a ZIP file with compressed members.
    """
    for place in (path, *path.parents):
        if is_zip(place) and place.is_file():
            return StoredFiles(place), path.relative_to(place).as_posix().removeprefix(".")
    url = _URL.sub(r"\1://", path.as_posix())
    if url != path.as_posix() and not exists(path):
        return FsspecStore.from_url(url, read_only=True), ""
    return RegularFiles(path, read_only=True), ""


_URL = re.compile(r"^([a-z][a-z0-9+.-]+):/+")  # pathlib makes one slash of two


def _is_reported(record: logging.LogRecord) -> bool:
    """Return whether asyncio should log a record; not for a task of Zarr that failed beside a reported one."""
    problem = record.exc_info[1] if record.exc_info else None
    return not (isinstance(problem, OSError) and record.getMessage().startswith("Task exception was never retrieved"))


logging.getLogger("asyncio").addFilter(_is_reported)


def check_metadata(path: Path) -> None:
    """Check the files that describe an array.

    Raises OSError if one is not a regular file, and ReadError if two versions of Zarr describe the array: each reader
    would choose its own.
    """
    for name in _METADATA:
        if exists(path / name):
            check_regular(path / name)
    described = [name for name in _ARRAYS if exists(path / name)]
    if len(described) > 1:
        raise ReadError(f"{' and '.join(described)} both describe an array; expected one of them", str(path))


def check_array(array: Any, path: Path) -> None:
    """Raise ReadError for an array whose codecs run code, or whose chunks have no elements."""
    metadata = array.metadata.to_dict()
    if not isinstance(array.metadata.attributes, dict):
        raise ReadError("its attributes are not a JSON object; expected names with values", str(path))
    codecs = json.dumps([metadata.get(part) for part in ("codecs", "filters", "compressor")], default=str)
    # Zarr 2 and 3 name codecs under different keys, so the whole description is searched.
    if _PICKLE in codecs.lower():
        problem = "its codecs unpickle, which would run code from the file; expected codecs without pickle"
        raise ReadError(problem, str(path))
    if 0 in array.chunks:
        raise ReadError(f"chunks of shape {list(array.chunks)}; expected at least 1 along each axis", str(path))
