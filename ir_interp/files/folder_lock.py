"""Locks of folders, so that one program at a time moves its files into a folder."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_SECONDS = 10.0  # longest wait for another program, which only renames some files while it holds the lock
_PAUSE = 0.01  # seconds between two attempts


@contextmanager
def locked(folder: Path) -> Iterator[None]:
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
