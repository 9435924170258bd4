"""Zarr stores in untrusted folders and ZIP files: regular files inside the store alone, no code, bounded sizes."""

from __future__ import annotations

import errno
import json
import logging
import re
from pathlib import Path
from typing import Any

from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import FsspecStore, LocalStore, ZipStore

from ir_interp.errors import ReadError
from ir_interp.files.archives import opened_archive
from ir_interp.files.kinds import check_regular, is_zip
from ir_interp.files.writing import exists, real

_ARRAYS = ("zarr.json", ".zarray")
_METADATA = (*_ARRAYS, ".zgroup", ".zattrs")
_PICKLE = "pickle"  # in the names of codecs that run code


class RegularFiles(LocalStore):
    """A store that reads regular files below its root, and refuses pipes, devices and links to the outside."""

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file. Raises OSError for a file that is not of the store."""
        self._check(key)
        return await super().get(key, prototype, byte_range)

    def get_sync(
        self, key: str, *, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Return the bytes of a file. Raises OSError for a file that is not of the store."""
        self._check(key)
        return super().get_sync(key, prototype=prototype, byte_range=byte_range)

    def _check(self, key: str) -> None:
        path = Path(self.root, key)
        if exists(path) and not path.is_dir():
            check_regular(path)
            if not real(path).is_relative_to(real(Path(self.root))):
                raise OSError(errno.EINVAL, f"{key} points outside the store", str(path))


class StoredFiles(ZipStore):
    """A ZIP file as Zarr writes it: its members are not compressed, so none is larger than the file."""

    def __init__(self, path: Path) -> None:
        with opened_archive(path) as archive:
            archive.check_files()
            compressed = archive.compressed
        if compressed:
            problem = f"{compressed[0]} is compressed in it; expected members that are stored, as zip -0 does"
            raise ReadError(problem, str(path))
        super().__init__(path, mode="r", read_only=True)


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
