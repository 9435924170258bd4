"""Questions about paths. For a name that the system does not take, too long or with a NUL, the answer is no."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def exists(path: Path) -> bool:
    """Say whether there is anything at a path."""
    return _mode(path) is not None


def is_file(path: Path) -> bool:
    """Say whether there is a regular file at a path: no folder, pipe, socket or device."""
    mode = _mode(path)
    return mode is not None and stat.S_ISREG(mode)


def is_folder(path: Path) -> bool:
    """Say whether there is a folder at a path."""
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def is_possible(path: Path) -> bool:
    """Say whether the system takes a name, whatever is there."""
    try:
        path.stat()
    except OSError as error:
        return error.errno not in (errno.ENAMETOOLONG, errno.EINVAL)
    except ValueError:
        return False
    return True


def is_same(first: Path, second: Path) -> bool:
    """Say whether two paths lead to the same file, links and hard links included, or would if it were written."""
    try:
        if exists(first) and exists(second):
            return first.samefile(second)
        return os.path.realpath(first) == os.path.realpath(second)
    except (OSError, ValueError):
        return False


def real(path: Path) -> Path:
    """Return where a path leads, links followed; one that leads to itself stays. Path.resolve raises RuntimeError."""
    return Path(os.path.realpath(path))


def _mode(path: Path) -> int | None:
    try:
        return path.stat().st_mode
    except (OSError, ValueError):
        return None
