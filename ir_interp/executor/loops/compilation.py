# mypy: disable-error-code="untyped-decorator,no-untyped-call"
"""Compilation of loops, and the cache of the compiled code, which numba unpickles.

A cache folder that users other than this one and root can write to is not used.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba.core import caching, config

from ir_interp.imports import check_guarded

check_guarded(config)

Function = TypeVar("Function", bound=Callable[..., Any])
_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


def compiled(function: Function) -> Function:
    """Compile a function on its first call, and cache the code for later processes if there is a cache folder.

    numba recompiles a loop when its own file changes. A loop also consists of functions of other files, so here any
    change in this folder counts.
    """
    loop: Any = numba.njit(function, nogil=True, error_model="numpy")
    try:
        cache = _Cache(function)
    except RuntimeError:  # there is no cache folder
        pass
    else:
        cache._cache_file._source_stamp = _SOURCES
        loop._cache = cache
    compiled_loop: Function = loop
    return compiled_loop


def check_owned(folder: Path) -> None:
    """Raise PermissionError for a folder that a user other than this one and root can write to, or can replace.

    A parent with the sticky bit, as /tmp has it, lets nobody replace the folder of another.
    """
    if not hasattr(os, "getuid"):  # Windows gives the folders of a user to this user alone
        return
    status = folder.stat()
    is_ours = status.st_uid in (os.getuid(), 0) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    for parent in folder.resolve().parents:
        mode = parent.stat().st_mode
        is_ours &= not mode & stat.S_IWOTH or bool(mode & stat.S_ISVTX)
    if not is_ours:
        raise PermissionError(errno.EPERM, "other users can write to it", str(folder))


def _checked(locator: type[Any]) -> type[Any]:
    """Return a locator of numba that creates private folders, and refuses others."""

    class Private(locator):
        def ensure_cache_path(self) -> None:
            folder = Path(self.get_cache_path())
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            check_owned(folder)
            super().ensure_cache_path()

    return Private


class _Implementation(caching.CompileResultCacheImpl):
    _locator_classes = [  # noqa: RUF012 (numba declares it so)
        _checked(locator)
        for locator in (caching.UserProvidedCacheLocator, caching.InTreeCacheLocator, caching.UserWideCacheLocator)
    ]


class _Cache(caching.FunctionCache):
    _impl_class = _Implementation
