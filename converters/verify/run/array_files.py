"""Named arrays in files: inputs and outputs of a model that runs in another process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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
