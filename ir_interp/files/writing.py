"""Paths, locks, temporary folders, and writes such that a failure leaves nothing behind and no input is lost.

Checks of paths are False for a name that the system refuses, such as one too long or with a NUL. Temporary folders are
removed even if their process is killed. Last the parts of protobuf's encoding by which a message is read and written
around bytes that never are in memory as a whole.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from itertools import combinations
from mmap import mmap
from pathlib import Path
from typing import Any, BinaryIO

from ir_interp.errors import IrInterpError


def exists(path: Path) -> bool:
    """Return whether a path exists."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """Return whether a path is a regular file: not a folder, pipe, socket or device."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def is_link(path: Path) -> bool:
    """Return whether a path is a symbolic link, to a file or to nothing."""
    mode = _mode(path, follows_links=False)
    return mode is not None and stat.S_ISLNK(mode)


def is_possible(path: Path) -> bool:
    """Return whether the system accepts a name, whether or not the file exists."""
    try:
        path.stat()
    except OSError as error:
        return error.errno not in (errno.ENAMETOOLONG, errno.EINVAL)
    except ValueError:
        return False
    return True


def is_same(first: Path, second: Path) -> bool:
    """Return whether two paths lead to the same file (links and hard links included), or would if written."""
    try:
        if exists(first) and exists(second):
            return first.samefile(second)
        return os.path.realpath(first) == os.path.realpath(second)
    except (OSError, ValueError):
        return False


def real(path: Path) -> Path:
    """Return a path with links followed; a link to itself is kept, for which Path.resolve raises RuntimeError."""
    return Path(os.path.realpath(path))


def _mode(path: Path, *, follows_links: bool = True) -> int | None:
    try:
        return path.stat(follow_symlinks=follows_links).st_mode
    except (OSError, ValueError):
        return None


if sys.platform != "win32":
    import fcntl

_SECONDS = 10.0  # longest wait for another program, which only renames some files while it holds the lock
_PAUSE = 0.01  # seconds between two attempts


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, so that files which belong together are replaced together.

    Windows, and file systems without locks, have none. Raises OSError if another program holds the lock for too long.
    """
    if sys.platform == "win32":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        _wait(descriptor, folder)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path) -> None:
    end = time.monotonic() + _SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > end:
                raise BlockingIOError(
                    error.errno, "Another program holds the lock of its folder", str(folder)
                ) from None
            time.sleep(_PAUSE)
        except OSError:  # such a file system has no locks
            return
        else:
            return


if sys.platform != "win32":
    import fcntl

_PREFIX = ".ir-interp-"
_NEW = 60.0  # seconds; a younger folder may not be locked yet


@contextmanager
def scratch(place: Path | None = None) -> Iterator[Path]:
    """Yield a new folder in ``place``, or in the default folder for temporary files, and remove it at the end.

    Folders left behind by killed processes are removed too. A lock, which ends with its process, marks those in use.
    """
    where = place or Path(tempfile.gettempdir())
    for left in where.glob(f"{_PREFIX}*"):
        with suppress(OSError):
            _remove_abandoned(left)
    is_kept = sys.platform == "win32"  # where a file that is still mapped cannot be removed
    with (
        tempfile.TemporaryDirectory(prefix=_PREFIX, dir=where, ignore_cleanup_errors=is_kept) as folder,
        locked_folder(Path(folder)),
    ):
        yield Path(folder)


def is_scratch(folder: Path) -> bool:
    """Return whether a folder is a scratch folder, by its name."""
    return folder.name.startswith(_PREFIX)


def _remove_abandoned(folder: Path) -> None:
    """Remove a folder of this user whose process is gone. Raises OSError if it is in use or not a folder."""
    if sys.platform == "win32":
        return
    # Another user may have put a link of this name into a shared folder for temporary files.
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        state = os.fstat(descriptor)
        if state.st_uid == os.getuid() and time.time() - state.st_mtime > _NEW:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder)
    finally:
        os.close(descriptor)


class OutputError(IrInterpError):
    """A file that cannot or must not be written."""


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path] = ()) -> None:
    """Raise OutputError for an output that is also an input, is listed twice, or cannot be written.

    Links are followed: files are compared by identity, not by name.
    """
    written, read = list(outputs), list(inputs)
    for path in written:
        if problem := _problem(path):
            raise OutputError(f"{path} cannot be written: {problem}")
        if any(is_same(path, source) for source in read):
            raise OutputError(f"{path} is an input and would be overwritten; choose another name")
    for first, second in combinations(written, 2):
        if is_same(first, second):
            raise OutputError(f"{first} would be written twice; choose another name for one of the two")


def _problem(path: Path) -> str:
    """Return why a file cannot be written; an empty text if it can."""
    try:
        if not path.parent.is_dir():
            return os.strerror(errno.ENOTDIR) if path.parent.exists() else _missing(path.parent)
        if not os.access(path.parent, os.W_OK):
            return os.strerror(errno.EACCES)
        if path.is_dir():
            return os.strerror(errno.EISDIR)
        return "Not a file" if path.exists() and not path.is_file() else ""
    except OSError as error:  # for example a name that is too long
        return error.strerror or str(error)


def _missing(folder: Path) -> str:
    return f"folder {folder} does not exist; create it first"


@contextmanager
def replacing(*destinations: Path) -> Iterator[tuple[Path, ...]]:
    """Yield a temporary path for each destination; at the end all are renamed into place, after an error none.

    The temporary files are in a folder beside the destinations and keep their names, so that references by name
    between them stay valid; other files written there, such as external data, are moved too. Raises OutputError if
    the folder cannot be written.
    """
    check_outputs(destinations)
    folder = destinations[0].parent
    try:
        with scratch(folder) as inside:
            temporary = tuple(inside / path.name for path in destinations)
            yield temporary
            # Without the lock, the .xml of one program could end up beside the .bin of another.
            with nullcontext() if is_scratch(folder.absolute()) else locked_folder(folder):
                # The destinations come last: whoever sees one finds the files that it refers to.
                for path in sorted(filter(is_file, inside.rglob("*")), key=temporary.__contains__):
                    destination = folder / path.relative_to(inside)
                    destination.parent.mkdir(parents=True, exist_ok=True)
                    path.replace(destination)
    except OSError as error:
        raise OutputError(f"{destinations[0]} cannot be written: {error.strerror or error}") from error


@contextmanager
def making(folder: Path) -> Iterator[Path]:
    """Yield a temporary folder, which becomes ``folder`` at the end; after an error nothing is left.

    Raises OutputError if ``folder`` exists and is not an empty folder, or cannot be written.
    """
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise OutputError(f"{folder} exists and is not an empty folder; choose another name")
        if not folder.parent.exists():
            raise OutputError(f"{folder} cannot be written: {_missing(folder.parent)}")
        with scratch(folder.absolute().parent) as inside:
            unfinished = inside / folder.name
            unfinished.mkdir()
            yield unfinished
            unfinished.replace(folder)
    except OSError as error:
        raise OutputError(f"{folder} cannot be written: {error.strerror or error}") from error


if sys.platform != "win32":
    import fcntl


def opened_alone(path: Path) -> BinaryIO:
    """Open a file to read and append, locked for this call until it is closed.

    Raises IrInterpError if another process holds the lock, or if the file is not regular or cannot be written. Windows,
    and file systems without locks, let both open it.
    """
    check_outputs([path])
    file = path.open("a+b")
    if _is_taken(file.fileno()):
        file.close()
        raise IrInterpError(f"another run is writing {path}; wait until it ends, or choose another name")
    file.seek(0)
    return file


def _is_taken(descriptor: int) -> bool:
    """Return whether another process has locked a file, or had locked and then removed it."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # such a file system has no locks
        return False
    return os.fstat(descriptor).st_nlink == 0  # locked, but already removed: another process will create it anew


_MOST = 2**20
"""Fields of a message. A file of more is read as a whole, by code that takes less time for each."""
_BYTES = 2  # the wire type of messages, texts and bytes (protobuf's encoding page, "Message Structure")
_FIXED = {1: 8, 5: 4}
Field = tuple[int, int, int, int]
Data = bytes | mmap


def field_start(message: Any, name: str, size: int) -> bytes:
    """Return the tag and length in front of a field of ``size`` bytes, of a type of message."""
    return _written(wire_number(message, name) << 3 | 2) + _written(size)


def wire_number(message: Any, name: str) -> int:
    """Return the number of a field of a type of message."""
    number: int = message.DESCRIPTOR.fields_by_name[name].number
    return number


def _written(number: int) -> bytes:
    """Return a number in groups of 7 bits, the lowest first (protobuf's encoding page, "Base 128 Varints")."""
    low, high = number & 127, number >> 7
    return bytes([low | 128]) + _written(high) if high else bytes([low])


def wire_fields(data: Data, place: int, end: int, most: int = _MOST) -> Iterator[Field]:
    """Yield the fields of a message: number, start, start of the value, and end.

    Raises ValueError or IndexError if the message is broken.
    """
    count = 0
    while place < end:
        start, count = place, count + 1
        if count > most:
            raise ValueError(f"more than {most} fields")
        tag, place = _number(data, place)
        kind, value = tag & 7, place
        if kind == _BYTES:
            length, value = _number(data, place)
            place = value + length
        elif kind in _FIXED:
            place += _FIXED[kind]
        elif kind == 0:
            _, place = _number(data, place)
        else:
            raise ValueError(f"a field of wire type {kind}")
        if place > end:
            raise ValueError("a field beyond the end of its message")
        yield tag >> 3, start, value, place


def _number(data: Data, place: int) -> tuple[int, int]:
    """Return a number, and where it ends."""
    number = 0
    for shift in range(0, 70, 7):  # at most 64 bits
        byte = data[place]
        number |= (byte & 127) << shift
        place += 1
        if byte < 128:
            return number, place
    raise ValueError("a number of more than 64 bits")
