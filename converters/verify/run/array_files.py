"""Named arrays in files: inputs and outputs of a model that runs in another process."""

from __future__ import annotations

import math
import mmap
import sys
from pathlib import Path
from typing import Any, BinaryIO

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16, which its files do not name)
import numpy as np
from numpy.typing import NDArray

from ir_interp.errors import IrInterpError

Named = list[tuple[str, NDArray[Any]]]
"""Arrays with their names, in the order of a model's inputs or outputs; names may repeat."""


def save(path: Path, arrays: Named) -> None:
    """Write arrays under any names, in order. Raises IrInterpError for strings, which NumPy would pickle."""
    for name, array in arrays:
        if array.dtype.hasobject:
            raise IrInterpError(f"tensor {name!r} holds strings, which are not compared")
    names, types = ([name for name, _ in arrays], [array.dtype.name for _, array in arrays])
    with path.open("wb") as file:  # not an archive, whose checksums take longer than a resize
        for array in (np.array([names, types]), *(array for _, array in arrays)):
            np.save(file, array)


def load(path: Path) -> Named:
    """Return the arrays that ``save`` wrote."""
    with path.open("rb") as file:
        names, types = np.load(file).tolist()
        arrays = [np.load(file) for _ in names]
    return [
        (name, array.view(dtype) if array.dtype.kind == "V" else array)
        for name, dtype, array in zip(names, types, arrays, strict=True)
    ]


def load_mapped(path: Path) -> Named:
    """Return the same arrays, mapped into memory: the system reads them when they are used, and can drop them.

    Windows does not delete a mapped file, so they are read there.
    """
    if sys.platform == "win32":
        return load(path)
    with path.open("rb") as file:
        names, types = np.load(file).tolist()
        pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return [(name, _mapped(file, pages, np.dtype(dtype))) for name, dtype in zip(names, types, strict=True)]


def _mapped(file: BinaryIO, pages: mmap.mmap, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the array at the position of a file, and move to the next."""
    np.lib.format.read_magic(file)
    shape, in_columns, _ = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    file.seek(math.prod(shape) * dtype.itemsize, 1)
    return np.ndarray(shape, dtype, pages, start, order="F" if in_columns else "C")
