"""Arrays that stay in files, from where the system reads their pages, and drops them, as it needs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.files.memory import blocks

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
