"""Files that one process writes at a time."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import BinaryIO

from ir_interp.errors import IrInterpError
from ir_interp.files.atomic import check_outputs

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
