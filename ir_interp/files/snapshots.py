"""Names of checked files that no other process can swap, for libraries that open a file again by its name.

Another process may put a pipe in the place of a checked file. To open a pipe waits for a writer, perhaps for ever; a
library in this process could not be stopped.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from ir_interp.errors import ReadError
from ir_interp.files.kinds import opened

_BLOCK = 2**22  # bytes
_MOST_COPIED = 2**26  # bytes: temporary folders are often in memory


def copy_file(source: Path, target: Path) -> None:
    """Copy the bytes of a regular file. Raises OSError as ``opened``, and if the disk is full."""
    with opened(source) as file, target.open("wb") as written:
        shutil.copyfileobj(file, written, _BLOCK)


def link_or_copy(source: Path, target: Path) -> None:
    """Make a regular file available under a new name: as a link if the file system supports it, otherwise as a copy.

    Raises OSError as ``copy_file``.
    """
    if not _linked(source, target):
        copy_file(source, target)


def _linked(source: Path, target: Path) -> bool:
    """Return whether a file has a new name, a hard link: not on another file system, or to a file of another user."""
    with suppress(OSError):
        os.link(source.resolve(), target)
        if stat.S_ISREG(target.lstat().st_mode):
            return True
        target.unlink()
    return False


def snapshot(folder: Path, path: Path, *beside: Path) -> Path:
    """Return the name of a file in a folder of this process; ``beside`` it are others, below its folder in both.

    Files that cannot be linked and are too large to copy keep their names. Raises ReadError for a file that is not
    regular by now, or that cannot be read.
    """
    for file in (path, *beside):
        target = folder / file.relative_to(path.parent)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            if _linked(file, target):
                continue
            if file.stat().st_size > _MOST_COPIED:
                return path
            copy_file(file, target)
        except OSError as error:
            raise ReadError(f"{file} cannot be read: {error.strerror or error}", path.name) from error
    return folder / path.name
