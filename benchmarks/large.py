"""Resize a Zarr image that memory does not hold to a quarter, beside reading and writing the same chunks.

python -m benchmarks.large --gib 40 --folder large

The image is like one of a microscope: bright blobs on a dark ground, and the noise of a sensor. Some chunks are made,
and each stands in many places by a hard link, so that 40 GiB take a few hundred MiB of the disk; every one is read and
decoded as if it were another.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numpy.typing import NDArray

Piece = tuple[slice, ...]
_CHUNK = 4096
_DIFFERENT = 24  # chunks
_THREADS = os.cpu_count() or 1
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
    big, small = folder / f"big{count}.zarr", folder / "small.zarr"
    if not big.exists():
        _make(big, count)
    shutil.rmtree(small, ignore_errors=True)
    (folder / "layer.xml").write_text(_LAYER.format(side=side, small=side // 4), encoding="utf-8")
    command = [sys.executable, "-m", "ir_interp", "run", folder / "layer.xml", "--scales", "0.25,0.25"]
    command += ["--input", big, "--output", small, "--memory", chosen.memory]
    start = time.perf_counter()
    subprocess.run(list(map(str, command)), check=True)
    resized, used = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    copied, processors = _copied(big, small, folder / "copy.zarr")
    size, busy = side * side / 2**30, used.ru_utime + used.ru_stime
    stored = sum(each.stat().st_size for each in big.rglob("c/*/*")) / side / side
    print(
        f"{size:.1f} GiB, {side}x{side} in {count * count} chunks of {_CHUNK}x{_CHUNK}, stored in {stored:.0%} of that"
    )
    print(
        f"resized in {resized:.1f} s, {size * 1024 / resized:.0f} MiB/s, with {used.ru_maxrss / 2**10:.0f} MiB at most"
    )
    print(f"chunks read and written in {copied:.1f} s; that is {resized / copied:.2f} times as long")
    print(f"time of processors: {busy:.1f} s and {processors:.1f} s, {busy / processors:.2f} times")
    for path in (small, folder / "copy.zarr"):
        shutil.rmtree(path)


def _make(path: Path, count: int) -> None:
    """Write an image of ``count`` x ``count`` chunks, of which neighbours differ."""
    made: Any = zarr.create_array(path, shape=(count * _CHUNK,) * 2, chunks=(_CHUNK, _CHUNK), dtype="uint8")
    first: dict[int, Path] = {}
    for row, column in itertools.product(range(count), repeat=2):
        kind, place = (7 * row + column) % _DIFFERENT, path / "c" / str(row) / str(column)
        if kind in first:
            place.parent.mkdir(exist_ok=True)
            os.link(first[kind], place)
        else:
            first[kind] = place
            made[row * _CHUNK : (row + 1) * _CHUNK, column * _CHUNK : (column + 1) * _CHUNK] = _tissue(kind)


def _tissue(seed: int) -> NDArray[np.uint8]:
    """Return what a microscope sees: 400 blobs on a dark ground, and noise that grows with the light."""
    rng = np.random.default_rng(seed)
    light = np.full((_CHUNK, _CHUNK), 12, np.float32)
    for _ in range(400):
        radius, height = rng.integers(20, 120), rng.integers(30, 180)
        y, x = rng.integers(0, _CHUNK - 2 * radius, 2)
        along = np.linspace(-2, 2, 2 * radius, dtype=np.float32) ** 2
        light[y : y + 2 * radius, x : x + 2 * radius] += height * np.exp(-(along[:, None] + along))
    noise = rng.standard_normal((_CHUNK, _CHUNK), np.float32) * np.sqrt(light) * 0.3
    return np.clip(light + noise + 0.5, 0, 255).astype(np.uint8)


def _copied(big: Path, small: Path, copy: Path) -> tuple[float, float]:
    """Read every chunk of ``big``, and write every chunk of ``small`` once more; return seconds, and of processors."""
    source: Any = zarr.open_array(big, mode="r")
    made: Any = zarr.open_array(small, mode="r")
    shutil.rmtree(copy, ignore_errors=True)
    target: Any = zarr.create_array(copy, shape=made.shape, chunks=made.chunks, dtype=made.dtype)

    def read(piece: Piece) -> int:
        return int(source[piece].size)

    def write(each: tuple[Piece, NDArray[Any]]) -> None:
        piece, values = each
        target[piece] = values

    spent = np.zeros(2)
    with ThreadPoolExecutor(_THREADS) as pool:
        spent += _timed(lambda: sum(pool.map(read, _pieces(source))))
        pieces = _pieces(made)
        for start in range(0, len(pieces), 64):
            values = [(piece, made[piece]) for piece in pieces[start : start + 64]]  # nobody counts this
            spent += _timed(lambda values=values: list(pool.map(write, values)))  # type: ignore[misc]
    return float(spent[0]), float(spent[1])


def _timed(job: Callable[[], object]) -> tuple[float, float]:
    start, processors = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - start, time.process_time() - processors


def _pieces(array: Any) -> list[Piece]:
    starts = [range(0, length, each) for length, each in zip(array.shape, array.chunks, strict=True)]
    return [
        tuple(slice(start, start + each) for start, each in zip(place, array.chunks, strict=True))
        for place in itertools.product(*starts)
    ]


if __name__ == "__main__":
    main()
