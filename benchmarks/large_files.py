"""Pyramids of files larger than memory, against reading the input and writing the result alone.

python -m benchmarks.large_files zarr --gib 8 --memory 1GiB FOLDER

A run resizes a uint16 image into five levels in a process of its own, and prints wall time, peak memory, and the ratio
to a floor: the same input read once, chunk by chunk, and the same result copied, codecs included.
"""

from __future__ import annotations

import argparse
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_CHUNK = 1024
_LEVELS = "5"


def main() -> None:
    """Make the image, resize it, and print a line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("zarr", "tif"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--memory", default="1GiB")
    given = parser.parse_args()
    side = math.isqrt(int(given.gib * 2**30 / 2)) // _CHUNK * _CHUNK
    source, result = (given.folder / f"{name}.{given.kind}" for name in ("image", "pyramid"))
    if not source.exists():
        (_zarr if given.kind == "zarr" else _tif)(source, side)
    command = [sys.executable, "-m", "ir_interp", "run", str(source), "--like", "opencv:area", "--scales", "0.5"]
    command += ["--levels", _LEVELS, "--memory", given.memory, "--output", str(result), "--quiet"]
    wall = _timed(lambda: subprocess.run(command, check=True))
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20
    floor = _timed(lambda: (_read_zarr if given.kind == "zarr" else _read_tif)(source, result))
    print(f"{given.kind} {side}x{side}: {wall:.1f} s, floor {floor:.1f} s, ratio {wall / floor:.2f}, {peak:.2f} GiB")


def _timed(run: Callable[[], Any]) -> float:
    os.sync()  # since pages that an earlier step wrote would be stored meanwhile
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _pixels(side: int) -> Any:
    """Return a chunk of noise and slopes, which compresses as photos do."""
    noise = np.random.default_rng(0).integers(0, 64, (_CHUNK, _CHUNK))
    return (np.add.outer(np.arange(_CHUNK), np.arange(_CHUNK)) * 16 + noise).astype(np.uint16)


def _zarr(path: Path, side: int) -> None:
    import zarr

    array = zarr.create_array(
        path, shape=(side, side), chunks=(_CHUNK, _CHUNK), dtype="uint16", dimension_names=("y", "x")
    )
    chunk = _pixels(side)
    for row in range(0, side, _CHUNK):
        for column in range(0, side, _CHUNK):
            array[row : row + _CHUNK, column : column + _CHUNK] = chunk + np.uint16((row + column) % 2**12)


def _tif(path: Path, side: int) -> None:
    import rasterio
    from rasterio.transform import Affine
    from rasterio.windows import Window

    profile = {"driver": "GTiff", "count": 1, "width": side, "height": side, "dtype": "uint16", "tiled": True}
    profile |= {"blockxsize": 512, "blockysize": 512, "compress": "deflate", "predictor": 2, "BIGTIFF": "YES"}
    chunk = _pixels(side)
    with rasterio.open(path, "w", crs="EPSG:32633", transform=Affine(10, 0, 0, 0, -10, 0), **profile) as file:
        for row in range(0, side, _CHUNK):
            for column in range(0, side, _CHUNK):
                file.write(chunk + np.uint16((row + column) % 2**12), 1, window=Window(column, row, _CHUNK, _CHUNK))


def _read_zarr(source: Path, result: Path) -> None:
    import zarr

    array: Any = zarr.open_array(source, mode="r")
    for row in range(0, array.shape[0], _CHUNK):
        array[row : row + _CHUNK]
    for level in sorted(result.iterdir()):
        if not level.is_dir():
            continue
        made: Any = zarr.open_array(level, mode="r")
        copy: Any = zarr.create_array(
            result.with_name("copy.zarr") / level.name,
            shape=made.shape,
            chunks=made.chunks,
            dtype=made.dtype,
            compressors=made.compressors,
        )
        for row in range(0, made.shape[0], made.chunks[0]):
            copy[row : row + made.chunks[0]] = made[row : row + made.chunks[0]]


def _read_tif(source: Path, result: Path) -> None:
    import rasterio
    import rasterio.shutil
    from rasterio.windows import Window

    with rasterio.open(source) as file:
        for row in range(0, file.height, _CHUNK):
            file.read(1, window=Window(0, row, file.width, _CHUNK))
    copied = {"COMPRESS": "DEFLATE", "PREDICTOR": "YES", "OVERVIEWS": "FORCE_USE_EXISTING", "BIGTIFF": "YES"}
    rasterio.shutil.copy(result, result.with_name("copy.tif"), driver="COG", NUM_THREADS="ALL_CPUS", **copied)


if __name__ == "__main__":
    main()
