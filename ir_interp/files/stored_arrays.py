"""Arrays that stay in files, from where the system reads their pages, and drops them, as it needs."""

from __future__ import annotations

import os
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.files.memory import blocks

LARGE = 2**20
"""Bytes of the smallest weight that stays in a file. Frontends read smaller ones, which may be sizes."""

_ALIGNMENT = 64  # bytes: that of TensorFlow's tensors, the most that a runtime asks for


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredArray:
    """An array in a file, from the byte ``offset`` on: the NumPy name of its element type, and its shape."""

    path: Path
    offset: int
    dtype: str
    shape: tuple[int, ...]

    def mapped(self) -> NDArray[Any]:
        """Return the array, mapped from its file; what is written to it stays in memory."""
        return np.memmap(self.path, self.dtype, "c", self.offset, self.shape)


def append(array: NDArray[Any], path: Path) -> StoredArray:
    """Write an array behind others in a file, which is new if there is none."""
    with path.open("ab") as file:
        file.write(bytes(-file.tell() % _ALIGNMENT))
        offset = file.tell()
        file.writelines(blocks(array))
    return StoredArray(path=path, offset=offset, dtype=str(array.dtype), shape=array.shape)


def created(path: Path, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return a new array in a file, mapped to be written. Raises OSError if the disk lacks the space."""
    with path.open("xb") as file:
        if hasattr(os, "posix_fallocate"):  # otherwise a full disk ends the process that writes a page
            os.posix_fallocate(file.fileno(), 0, prod(shape) * dtype.itemsize)
    return np.memmap(path, dtype, "r+", shape=shape)
