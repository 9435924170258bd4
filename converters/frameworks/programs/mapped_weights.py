"""Weights of a .pt2 file, mapped into memory where ``torch.export.load`` would copy them."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZIP_STORED, ZipFile


@contextmanager
def mapped(path: Path) -> Iterator[None]:
    """Let torch map the weights of a file, whose pages the system reads and drops; a compressed one is copied."""
    from torch.export.pt2_archive import _package as package

    with ZipFile(path) as archive:
        is_stored = all(member.compress_type == ZIP_STORED for member in archive.infolist())
    original: Any = package.PT2ArchiveReader

    def reader(archive: Any) -> Any:
        opened = original(archive)
        opened.archive_file = _MappedRecords(opened.archive_file, path)
        return opened

    package.PT2ArchiveReader = reader if is_stored else original
    try:
        yield
    finally:
        package.PT2ArchiveReader = original


class _MappedRecords:
    """The records of an archive as torch reads them, except those of tensors."""

    def __init__(self, records: Any, path: Path) -> None:
        self._records, self._path = records, path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._records, name)

    def get_storage_from_record(self, name: str, count: int, dtype: Any) -> Any:
        """Return a record as a tensor. Its pages are private: a program that writes to it does not change the file."""
        import torch

        place = self._records.get_record_offset(name)
        start = place - place % mmap.ALLOCATIONGRANULARITY
        with self._path.open("rb") as file:
            # One mapping for each record: Linux refuses a private one that is larger than its memory.
            size = place - start + count * dtype.itemsize
            pages = mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY, offset=start)
        return torch.frombuffer(pages, dtype=dtype, count=count, offset=place - start)
