"""Large variables of TensorFlow whose values are in files, from where the system reads their pages, and drops them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from ir_interp.files import stored_arrays
from ir_interp.files.stored_arrays import StoredArray, append, created

_KINDS = "biufc"
"""The kinds of element types that NumPy has. TensorFlow keeps others, such as bfloat16, in memory."""


def is_stored(variable: Any) -> bool:
    """Return whether the value of a variable is in a file."""
    return hasattr(variable, "_stored")


def stored(variable: Any, folder: Path) -> StoredArray:
    """Return the value of a stored variable, in a file of a folder."""
    array: StoredArray = variable._stored
    return array if array.path.parent == folder else append(np.asarray(variable), folder / "weights")


def store(variable: Any, value: Any, folder: Path) -> None:
    """Give a variable its value; that of a large one goes into a new file of a folder, as all later ones do.

    Raises ValueError for a value of another shape or type.
    """
    from tensorflow.experimental import dlpack

    array = np.asarray(value)
    if array.dtype.kind not in _KINDS or array.nbytes < stored_arrays.LARGE:
        variable.assign(value)
        return
    path = folder / uuid4().hex
    mapped = created(path, array.dtype, array.shape)
    mapped[...] = array
    variable.assign(dlpack.from_dlpack(mapped.__dlpack__()))  # which copies nothing
    variable._stored = StoredArray(path=path, offset=0, dtype=str(array.dtype), shape=array.shape)
    variable.assign = lambda value: mapped.__setitem__(..., value)


@contextmanager
def creating_stored(folder: Path) -> Iterator[None]:
    """Let the large variables that TensorFlow creates here have their values in files of a folder."""
    import tensorflow

    def create(next_creator: Any, **settings: Any) -> Any:
        variable = next_creator(**settings)
        if tensorflow.executing_eagerly():
            store(variable, variable.read_value(), folder)
        return variable

    with tensorflow.variable_creator_scope(create):
        yield
