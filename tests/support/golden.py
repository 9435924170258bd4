"""Resizes whose bytes are frozen in ``tests/executor/golden.json``: the same on every processor, release and thread.

``python -m tests.support.golden`` prints the digest of each, and what differs between a piece and the whole or between
numbers of threads; ``--write`` freezes the digests. With ``--each-loop-once``, it computes only as many resizes as
take every compiled loop.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Coordinates,
    Cubic,
    Integers,
    Lanczos,
    Linear,
    Mean,
    Nearest,
    ReadError,
    ResizeSpec,
    Rounding,
    Sizes,
    SpecError,
    prepare,
    resize,
)
from ir_interp.executor import loop_runner
from ir_interp.executor.cases import jobs_of
from ir_interp.libraries import get, names, parse
from ir_interp.specs import Box, Gaussian, Hamming, Kernel, Mitchell

Array = NDArray[Any]
FROZEN = Path(__file__).parent.parent / "executor" / "golden.json"
KERNELS: dict[str, Kernel] = {
    "nearest": Nearest(rounding=Rounding.FLOOR),
    "linear": Linear(),
    "linear antialias": Linear(antialias=Antialias.SHRINKING),
    "cubic": Cubic(a=-0.75),
    "cubic antialias": Cubic(a=-0.5, antialias=Antialias.SHRINKING, exclude_outside=True),
    "lanczos": Lanczos(radius=3, antialias=Antialias.SHRINKING, exclude_outside=True),
    "hamming": Hamming(antialias=Antialias.SHRINKING),
    "box": Box(antialias=Antialias.SHRINKING),
    "gaussian": Gaussian(antialias=Antialias.SHRINKING),
    "mitchell": Mitchell(antialias=Antialias.SHRINKING),
    "area": Area(),
    "mean": Mean(),
}
DTYPES = ("float32", "float64", "float16", "uint8", "int8", "uint16", "int16", "int32", "uint64")
IMAGES = [  # shape, axes, sizes
    ((61, 83, 3), (0, 1), (40, 120)),
    ((2, 47, 90), (1, 2), (101, 33)),
    ((9, 20, 31, 2), (0, 1, 2), (14, 11, 31)),
]
RUNTIMES = {Arithmetic.ONNXRUNTIME: Integers.ONNXRUNTIME, Arithmetic.OPENVINO: Integers.OPENVINO}


def values(shape: tuple[int, ...], dtype: str) -> Array:
    """Return numbers that follow from integer arithmetic alone: no generator's next release changes them."""
    count = np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64).reshape(shape)
    mixed = count * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return (mixed >> np.uint64(64 - 8 * kind.itemsize)).astype(f"u{kind.itemsize}").view(kind)
    exponent = (mixed & np.uint64(7)).astype(np.int64) - 4  # of several sizes: sums lose bits
    return np.ldexp((mixed >> np.uint64(11)).astype(np.float64) / 2.0**53 - 0.5, exponent).astype(kind)


def cases() -> Iterator[tuple[str, Array, ResizeSpec]]:
    """Yield a name, an array and a resize of it."""
    for word, kernel in KERNELS.items():
        corner = isinstance(kernel, Area | Mean)
        for dtype in DTYPES:
            for shape, axes, sizes in IMAGES:
                place = Coordinates.ASYMMETRIC if corner else Coordinates.HALF_PIXEL
                spec = ResizeSpec(kernel=kernel, coordinates=place, axes=axes, target=Sizes(sizes))
                yield f"{word} {dtype} {shape}", values(shape, dtype), spec
    for arithmetic, integers in RUNTIMES.items():
        for word in ("linear", "linear antialias", "cubic", "cubic antialias"):
            for dtype in ("uint8", "int8", "int32"):
                shape, axes, sizes = IMAGES[1]
                made = ResizeSpec(
                    kernel=KERNELS[word], axes=axes, target=Sizes(sizes), arithmetic=arithmetic, integers=integers
                )
                yield f"{arithmetic} {word} {dtype}", values(shape, dtype), made
    for name in names():
        for word in get(name).dialect.vocabulary[get(name).first]:
            for dtype in ("uint8", "uint16", "float32"):
                try:
                    made = replace(parse(f"{name}:{word}", dtype=dtype), axes=(0, 1), target=Sizes((40, 120)))
                    resize(values((2, 2, 3), dtype), replace(made, target=Sizes((3, 3))))
                except (ReadError, SpecError):  # not for elements of this type
                    continue
                yield f"{name}:{word} {dtype}", values((61, 83, 3), dtype), made


def each_loop_once() -> Iterator[tuple[str, Array, ResizeSpec]]:
    """Yield cases until every loop was taken for floats and for integers: types of a kind differ in their size only."""
    known: set[tuple[str, bool]] = set()
    for name, x, spec in cases():
        loops = {(job.name, x.dtype.kind == "f") for job in jobs_of(prepare(spec, x.shape, x.dtype)._case)}
        if loops - known:
            known |= loops
            yield name, x, spec


def digest(y: Array) -> str:
    """Return a short digest of an array's type, shape and bytes."""
    return hashlib.sha256(f"{y.dtype.str}{y.shape}".encode() + y.tobytes()).hexdigest()[:16]


def faults(name: str, x: Array, spec: ResizeSpec, y: Array) -> Iterator[str]:
    """Yield what differs from ``y``: pieces of it, and the whole on several threads."""
    corner = tuple(slice(length // 3, length // 3 + 1 + length // 2) for length in y.shape)
    for piece in (corner, (slice(y.shape[0] - 1, None), *corner[1:]), (slice(0, 1), slice(3, 5))):
        if resize(x, spec, region=piece).tobytes() != y[piece].tobytes():
            yield f"{name}: piece {piece}"
    for count in ("2", "4"):  # ``y`` is from one
        os.environ["IR_INTERP_THREADS"] = count
        if resize(x, spec).tobytes() != y.tobytes():
            yield f"{name}: {count} threads"
    os.environ["IR_INTERP_THREADS"] = "1"


def main() -> None:
    """Print what ``tests/executor/test_golden.py`` reads, or freeze the digests."""
    from ir_interp.executor import byte_proposals, library_sums, strategies, tiles

    loop_runner._SURELY_SHARED = tiles.MIN_ELEMENTS_FOR_THREADS = 0  # small as they are, threads share them
    strategies._MIN_ELEMENTS_FOR_THREADS = byte_proposals._MIN_ELEMENTS_FOR_THREADS = (
        library_sums._MIN_ELEMENTS_FOR_THREADS
    ) = 0
    os.environ["IR_INTERP_THREADS"] = "1"
    made: dict[str, str] = {}
    differences: list[str] = []
    for name, x, spec in each_loop_once() if "--each-loop-once" in sys.argv else cases():
        y = resize(x, spec)
        made[name] = digest(y)
        differences += faults(name, x, spec, y)
    if "--write" in sys.argv:
        FROZEN.write_text(json.dumps(made, indent=0) + "\n", encoding="utf-8")
    print(json.dumps({"digests": made, "faults": differences}))


if __name__ == "__main__":
    main()
