"""Compilation of loops."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

START: Any = np.intp(0)
"""The first place. numba compiles a function again for an argument that is the literal 0."""

Function = TypeVar("Function", bound=Callable[..., Any])
_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


def compiled(function: Function) -> Function:
    """Compile a function on its first call, and cache the code for later processes if there is a place for it.

    numba recompiles a loop when its own file changes. A loop also consists of functions of other files, so here any
    change in this folder counts.
    """
    try:
        loop: Any = numba.njit(function, nogil=True, error_model="numpy", cache=True)
        loop._cache._cache_file._source_stamp = _SOURCES
    except RuntimeError:  # neither beside this file nor in the user's own folder
        loop = numba.njit(function, nogil=True, error_model="numpy")
    compiled_loop: Function = loop
    return compiled_loop
