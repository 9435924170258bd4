"""Which of the resizes of a file is meant, and what it is run on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp.cli import images
from ir_interp.errors import ReadError, closest
from ir_interp.op import ResizeOp
from ir_interp.sources import check_regular


def choose(found: list[ResizeOp], name: str | None, file: Path) -> ResizeOp:
    """Return the resize of a name, or the only one. Raises ReadError where that is none or several."""
    chosen = [op for op in found if name is None or op.name == name]
    if len(chosen) == 1:
        return chosen[0]
    if not found:
        raise ReadError("no resize in it", file.name)
    names = [op.name for op in found]
    if name is None:
        raise ReadError(f"{len(found)} resizes; name one with --layer: {', '.join(names)}", file.name)
    problem = f"no resize named {name!r}; {closest(name, names)}" if not chosen else f"{len(chosen)} named {name!r}"
    raise ReadError(problem, file.name)


def array_or_image(path: Path, op: ResizeOp) -> NDArray[Any]:
    """Return an array (.npy) or an image as the input of a resize. Raises ReadError where it is neither."""
    if path.suffix.lower() != ".npy":
        return images.read(path, op)
    try:
        check_regular(path)
        loaded = np.load(path, allow_pickle=False, mmap_mode="r")
        if isinstance(loaded, np.ndarray):
            return loaded
        loaded.close()
        raise ValueError("it holds several arrays")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", str(path)) from error
    except (ValueError, EOFError) as error:
        raise ReadError(f"not a NumPy array: {error}", path.name) from error
