"""Zarr stores in untrusted folders: regular files inside the store only, no code, no invalid sizes."""

from __future__ import annotations

import errno
import json
import logging
from pathlib import Path
from typing import Any

from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import LocalStore

from ir_interp.errors import ReadError
from ir_interp.files.paths import exists, real
from ir_interp.files.sources import check_regular

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
    codecs = json.dumps([metadata.get(part) for part in ("codecs", "filters", "compressor")], default=str)
    if _PICKLE in codecs.lower():
        problem = "its codecs unpickle, which would run code from the file; expected codecs without pickle"
        raise ReadError(problem, str(path))
    if 0 in array.chunks:
        raise ReadError(f"chunks of shape {list(array.chunks)}; expected at least 1 along each axis", str(path))
