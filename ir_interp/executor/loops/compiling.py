"""How loops are compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., Any])
_SOURCES = hashlib.sha256(
    b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
).hexdigest()


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the code for later processes where there is a place.

    numba compiles a loop again when its own file changes. A loop consists of functions of other files as well, so here
    any change of this folder counts.
    """
    try:
        loop: Any = numba.njit(function, nogil=True, error_model="numpy", cache=True)
        loop._cache._cache_file._source_stamp = _SOURCES
    except RuntimeError:  # neither beside this file nor in the user's own folder
        loop = numba.njit(function, nogil=True, error_model="numpy")
    compiled_loop: Function = loop
    return compiled_loop
