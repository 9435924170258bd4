"""Freeze what the installed image libraries make of small random images, for ``tests/executor/test_libraries.py``.

``python -m tests.sweeps.library_vectors pillow`` writes ``tests/executor/vectors/pillow-13.0.0.npz``: the values of
every call for each of its sizes, one after the other.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ir_interp.library import get, names
from tests.support.libraries import ONLY_FLOATS, Call, calls

FOLDER = Path(__file__).parent.parent / "executor" / "vectors"
SIZES = ((7, 5, 11, 13), (23, 31, 6, 9), (20, 16, 10, 4), (30, 8, 3, 9), (1, 3, 4, 2))
"""Height and width of an image, and what they become."""


THIRDS = (9, 10, 27, 30)
"""Of OpenCV's cubic, with integers: every other sum ends near a half, so that the order of its terms shows."""

PARTS = 2**20
"""Values of floating point images, 0 to 1, are kept as so many whole parts of 1."""


def frozen(library: str, version: int | None = None) -> tuple[Call, ...]:
    """Return the calls whose values are kept: of integers; of floats too where a library makes floats of integers."""
    kept = ("uint8", "uint16", "int32") if library not in ONLY_FLOATS else ("uint8", "float32")
    return tuple(call for call in calls(library, version) if call.dtype in kept and call.channels < 5)


def sizes_of(call: Call) -> tuple[tuple[int, int, int, int], ...]:
    """Return the sizes whose values are kept of a call."""
    is_cubic = call.library == "opencv" and call.arguments["interpolation"] == "CUBIC"
    return (*SIZES, THIRDS) if is_cubic else SIZES


def whole(values: NDArray[np.generic]) -> NDArray[np.int64]:
    """Return the values of an image as they are kept."""
    return np.rint(values * PARTS).astype(np.int64) if values.dtype.kind == "f" else values.astype(np.int64)


def drawn(call: Call, sizes: tuple[int, int, int, int]) -> tuple[Call, NDArray[np.generic]]:
    """Return a call, and an image for it: the same in every version of NumPy."""
    rng = np.random.default_rng(sum(sizes))
    x = call.image(rng, *sizes[:2])
    return call.placed(rng, *sizes[:2]), x


def _version(library: str) -> str:
    for package in get(library).packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package).partition("+")[0]
    raise SystemExit(f"{library} is not installed")


def main() -> None:
    """Write the vectors of the installed version of some libraries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", choices=[*names(), []], default=[])
    for library in parser.parse_args().libraries or names():
        called = [(*drawn(each, sizes), sizes) for each in frozen(library) for sizes in sizes_of(each)]
        arrays = [call.run(x, *sizes[2:]) for call, x, sizes in called]
        values = np.concatenate([whole(each).reshape(-1).astype(np.int32) for each in arrays])
        path = FOLDER / f"{library}-{_version(library)}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(path, allow_pickle=False, values=values)
        print(f"wrote {path.name}: {len(arrays)} images, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
