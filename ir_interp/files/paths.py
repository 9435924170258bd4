"""Checks of paths. They are False for a name that the system refuses, such as one too long or with a NUL."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


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
