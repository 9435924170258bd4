"""ZIP archives in untrusted files: .keras, .pt2, .npz and Zarr stores.

Readers may disagree about an archive: one takes the first of two members with one name, another the last; and if
members are unpacked, ``./config.json`` overwrites ``config.json``. So an archive is refused if two members have one
name or, where members are files, if a name is not the only spelling of its path.
"""

from __future__ import annotations

import lzma
import stat
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, TypeVar
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from ir_interp.errors import ReadError
from ir_interp.files.kinds import opened
from ir_interp.files.memory import check_bytes

Value = TypeVar("Value")
_BROKEN = (
    BadZipFile, EOFError, KeyError, NotImplementedError, OverflowError, RuntimeError, ValueError, struct.error,
    lzma.LZMAError, zlib.error,
)  # fmt: skip
"""The errors of zipfile for a damaged archive, an unknown method and an encrypted member."""
_BLOCK = 2**20


class Archive:
    """An open archive with one member for each name."""

    def __init__(self, members: ZipFile, path: Path) -> None:
        self._members, self._path = members, path
        names = set[str]()
        for member in members.infolist():
            if member.orig_filename in names:
                raise self._refusal(member, "occurs twice; expected one member of each name")
            names.add(member.orig_filename)

    @property
    def names(self) -> list[str]:
        """The names of all members, in order."""
        return self._members.namelist()

    @property
    def compressed(self) -> list[str]:
        """The names of the members that are compressed."""
        return [member.filename for member in self._members.infolist() if member.compress_type != ZIP_STORED]

    def check_files(self) -> None:
        """Raise ReadError unless each member is a file or folder, named by the only spelling of a path inside."""
        for member in self._members.infolist():
            name = member.orig_filename
            path = PurePosixPath(name)
            is_canonical = name == (f"{path}/" if name.endswith("/") else str(path)) and not {"\\", "\0"} & set(name)
            is_inside = not path.is_absolute() and ".." not in path.parts and not PureWindowsPath(name).drive
            if not (is_canonical and is_inside and path.parts):
                raise self._refusal(member, "is not the path of a file in it, as in folder/file")
            kind = stat.S_IFMT(member.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise self._refusal(member, "is a link or a device; expected a file")
        files = {name.rstrip("/").casefold() for name in self.names}  # some file systems ignore case, as does PyTorch
        if len(files) < len(self.names):
            raise ReadError("two members of the archive become one file; expected names that differ", self._path.name)

    def check_size(self, allowed: int = 0) -> None:
        """Raise MemoryBoundError if the members together exceed the limit by more than ``allowed`` bytes."""
        check_bytes(sum(member.file_size for member in self._members.infolist()) - allowed, self._path.name)

    def read(self, name: str) -> bytes:
        """Return a member. Raises BadZipFile if it is missing or damaged, MemoryBoundError if it is too large."""
        check_bytes(_sound(lambda: self._members.getinfo(name)).file_size, self._path.name)
        return _sound(lambda: self._members.read(name))

    @contextmanager
    def opened(self, name: str) -> Iterator[IO[bytes]]:
        """Open a member to read it. Raises BadZipFile if it is missing or damaged."""
        with _sound(lambda: self._members.open(name)) as member:
            yield member

    def unpack(self, folder: Path) -> None:
        """Write all members to a new folder. Raises ReadError for a bad name, BadZipFile for a damaged archive."""
        self.check_files()
        for member in self._members.infolist():
            path = folder / member.orig_filename
            if member.orig_filename.endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with self.opened(member.filename) as source, path.open("xb") as target:
                while block := _sound(partial(source.read, _BLOCK)):
                    target.write(block)

    def _refusal(self, member: ZipInfo, problem: str) -> ReadError:
        return ReadError(f"{member.orig_filename!r} in the archive {problem}", self._path.name)


@contextmanager
def opened_archive(path: Path) -> Iterator[Archive]:
    """Open an archive to read it. Raises OSError for a file that is not regular, and the errors of ``archive_of``."""
    with opened(path) as file, archive_of(file, path) as archive:
        yield archive


@contextmanager
def archive_of(file: IO[bytes], path: Path) -> Iterator[Archive]:
    """Read the archive in an open file, whose path errors name.

    Raises BadZipFile for one that is damaged or no archive, and ReadError if two members have one name.
    """
    with _sound(lambda: ZipFile(file)) as members:
        yield Archive(members, path)


def _sound(read: Callable[[], Value]) -> Value:
    """Return the result of a function that reads an archive. Raises BadZipFile for each error of a damaged one."""
    try:
        return read()
    except _BROKEN as error:
        raise BadZipFile(str(error)) from error
