"""Temporary folders that are removed even if their process is killed."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ir_interp.files.folder_lock import locked

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
        locked(Path(folder)),
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
