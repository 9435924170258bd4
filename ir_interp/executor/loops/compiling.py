"""How loops are compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

Function = TypeVar("Function", bound=Callable[..., None])


def compiled(function: Function) -> Function:
    """Compile a function when it is first called, and keep the code for later processes where there is a place."""
    try:
        made: Function = numba.njit(function, nogil=True, error_model="numpy", cache=True)
    except RuntimeError:  # neither beside this file nor in the user's own folder
        made = numba.njit(function, nogil=True, error_model="numpy")
    return made
