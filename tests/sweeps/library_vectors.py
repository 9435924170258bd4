"""Freeze what the installed image libraries make of small random images, for ``tests/executor/test_libraries.py``.

``python -m tests.sweeps.library_vectors pillow`` writes ``tests/executor/vectors/pillow-13.0.0.npz``: the values of
every call for each of its sizes, one after the other. With ``--edges`` it writes ``vectors/edges/...``: of integers,
with factors instead of sizes, and of further channels and element types.
"""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import IrInterpError
from ir_interp.libraries import get, names
from tests.support.libraries import ONLY_FLOATS, Call, calls, edges

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


EDGES = FOLDER / "edges"
FACTORS = ((9, 15, 0.5, 0.5), (5, 11, 1.001, 1.001), (10, 7, 0.25, 1.5), (7, 6, 2.05, 0.7), (6, 4, 1.5, 1.001))
"""Height and width of an image, and the factors that they are multiplied by."""
_OF_INTEGERS = ("uint8", "uint16", "int16")


def at_edges(library: str) -> Iterator[tuple[Call, NDArray[np.generic]]]:
    """Yield calls of integers with factors, each with an image for it."""
    for call in edges(library):
        if call.scaled and call.dtype in _OF_INTEGERS and call.channels in (1, 2, 3, 5):
            for height, width, *scales in FACTORS:
                rng = np.random.default_rng(height)
                yield replace(call, scales=(scales[0], scales[1])), call.image(rng, height, width)


def values_at_edges(library: str, run: Callable[[Call, NDArray[np.generic]], NDArray[Any]]) -> list[NDArray[Any]]:
    """Return what comes of every such call; nothing of those that are refused here."""
    made = []
    for call, x in at_edges(library):
        with suppress(IrInterpError):
            call.ours(x, 0, 0)
            made.append(run(call, x))
    return made


def _version(library: str) -> str:
    for package in get(library).packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(package).partition("+")[0]
    raise SystemExit(f"{library} is not installed")


def main() -> None:
    """Write the vectors of the installed version of some libraries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", nargs="*", choices=[*names(), []], default=[])
    parser.add_argument("--edges", action="store_true")
    arguments = parser.parse_args()
    for library in arguments.libraries or names():
        if arguments.edges:
            arrays = values_at_edges(library, lambda call, x: call.run(x, 0, 0))
        else:
            called = [(*drawn(each, sizes), sizes) for each in frozen(library) for sizes in sizes_of(each)]
            arrays = [call.run(x, *sizes[2:]) for call, x, sizes in called]
        values = np.concatenate([whole(each).reshape(-1).astype(np.int32) for each in arrays])
        path = (EDGES if arguments.edges else FOLDER) / f"{library}-{_version(library)}.npz"
        path.parent.mkdir(exist_ok=True)
        np.savez_compressed(path, allow_pickle=False, values=values)
        print(f"wrote {path.name}: {len(arrays)} images, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
