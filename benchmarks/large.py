"""Resize a Zarr image that memory does not hold to a quarter, beside reading and writing the same chunks.

python -m benchmarks.large --gib 40 --folder /tmp/large
"""

from __future__ import annotations

import argparse
import itertools
import math
import resource
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

_CHUNK = 4096
_LAYER = """<layer id="1" name="quarter" type="Interpolate" version="opset11">
    <data mode="bilinear_pillow" shape_calculation_mode="scales"/>
    <input><port id="0" precision="U8"><dim>{side}</dim><dim>{side}</dim></port><port id="1"><dim>2</dim></port></input>
    <output><port id="2" precision="U8"><dim>{small}</dim><dim>{small}</dim></port></output>
</layer>
"""


def main() -> None:
    """Print how long it takes, and how much memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0)
    parser.add_argument("--memory", default="1GiB")
    parser.add_argument("--folder", type=Path, default=Path("large"))
    chosen = parser.parse_args()
    count = math.ceil(math.sqrt(chosen.gib * 2**30) / _CHUNK)
    side, folder = count * _CHUNK, chosen.folder
    folder.mkdir(exist_ok=True)
    if not (folder / "big.zarr").exists():
        _make(folder / "big.zarr", side)
    small = folder / "small.zarr"
    shutil.rmtree(small, ignore_errors=True)
    (folder / "layer.xml").write_text(_LAYER.format(side=side, small=side // 4), encoding="utf-8")
    command = [sys.executable, "-m", "ir_interp", "run", folder / "layer.xml", "--scales", "0.25,0.25"]
    command += ["--input", folder / "big.zarr", "--output", small, "--memory", chosen.memory]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True)
    resized, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    start, processor = time.perf_counter(), time.process_time()
    _copy(folder, small)
    copied, processor = time.perf_counter() - start, time.process_time() - processor
    size = side * side / 2**30
    print(f"{size:.1f} GiB, {side}x{side} in {count * count} chunks of {_CHUNK}x{_CHUNK}, to a quarter")
    print(
        f"resized in {resized:.1f} s, {size * 1024 / resized:.0f} MiB/s, with {used.ru_maxrss / 2**10:.0f} MiB at most"
    )
    print(f"chunks read and written in {copied:.1f} s; that is {resized / copied:.2f} times as long")
    print(f"time of processors: {used.ru_utime + used.ru_stime:.1f} s and {processor:.1f} s")


def _make(path: Path, side: int) -> None:
    """Write an image whose chunks are all different; it takes a tenth of its size on the disk, or less."""
    made: Any = zarr.create_array(path, shape=(side, side), chunks=(_CHUNK, _CHUNK), dtype="uint8")
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 200, (_CHUNK // 64, _CHUNK // 64), np.uint8).repeat(64, axis=0).repeat(64, axis=1)
    grain = (rng.random((_CHUNK, _CHUNK)) < 0.02).astype(np.uint8) * 40
    for row, column in itertools.product(range(side // _CHUNK), repeat=2):
        values = coarse + np.roll(grain, 37 * row + column, axis=1) + np.uint8((row + 3 * column) % 16)
        made[row * _CHUNK : (row + 1) * _CHUNK, column * _CHUNK : (column + 1) * _CHUNK] = values


def _copy(folder: Path, small: Path) -> None:
    """Read every chunk of the input, and read and write every chunk of the output, on as many threads."""
    big: Any = zarr.open_array(folder / "big.zarr", mode="r")
    made: Any = zarr.open_array(small, mode="r")
    path = folder / "copy.zarr"
    shutil.rmtree(path, ignore_errors=True)
    copy: Any = zarr.create_array(path, shape=made.shape, chunks=made.chunks, dtype=made.dtype)

    def read(piece: tuple[slice, ...]) -> NDArray[Any]:
        values: NDArray[Any] = big[piece]
        return values[:1, :1]

    def write(piece: tuple[slice, ...]) -> None:
        copy[piece] = made[piece]

    with ThreadPoolExecutor(2) as pool:
        for _ in pool.map(read, _pieces(big.shape, big.chunks)):
            pass
        for _ in pool.map(write, _pieces(made.shape, made.chunks)):
            pass


def _pieces(shape: tuple[int, ...], chunks: tuple[int, ...]) -> list[tuple[slice, ...]]:
    starts = [range(0, length, each) for length, each in zip(shape, chunks, strict=True)]
    return [
        tuple(slice(start, start + each) for start, each in zip(place, chunks, strict=True))
        for place in itertools.product(*starts)
    ]


if __name__ == "__main__":
    main()
