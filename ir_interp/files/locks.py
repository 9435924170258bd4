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
    """Open a file to read it and to add to it, for this call alone until it is closed.

    Raises IrInterpError where another has it open so, and where it is no regular file or cannot be written. Windows,
    and file systems without locks, let both have it.
    """
    check_outputs([path])
    file = path.open("a+b")
    if _is_taken(file.fileno()):
        file.close()
        raise IrInterpError(f"{path} is written by another run; wait until that ends, or choose another name")
    file.seek(0)
    return file


def _is_taken(descriptor: int) -> bool:
    """Say whether another has a file that this call would lock, or had it, and removed it meanwhile."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # such a file system has no locks
        return False
    return os.fstat(descriptor).st_nlink == 0
