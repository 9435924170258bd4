"""Measure the peak memory of resizing 1 GiB: ``python benchmarks/memory.py`` (Linux), each case in its own process."""

from __future__ import annotations

import math
import resource
import subprocess
import sys

import numpy as np

import ir_interp
from ir_interp import Cubic, Linear, Nearest, ResizeSpec, Rounding, Sizes

_MIB = 2**20
_FLOOR = Nearest(rounding=Rounding.FLOOR)
CASES = {
    "linear, halved": ("float32", (16, 16, 1024, 1024), (512, 512), Linear()),
    "cubic, by 1.25": ("float32", (16, 16, 1024, 1024), (1280, 1280), Cubic(a=-0.75)),
    "nearest, halved": ("float32", (16, 16, 1024, 1024), (512, 512), _FLOOR),
    "linear float16, halved": ("float16", (32, 16, 1024, 1024), (512, 512), Linear()),
    "linear uint8, halved": ("uint8", (64, 16, 1024, 1024), (512, 512), Linear()),
    "one image, linear, halved": ("float32", (1, 1, 16384, 16384), (8192, 8192), Linear()),
}


def main() -> None:
    """Print what each case needs beyond its input and output."""
    print("| case | input MiB | output MiB | beyond MiB |", "|---|---:|---:|---:|", sep="\n")
    for name in CASES:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=True)
        print(done.stdout.strip())


def _measure(name: str) -> str:
    dtype, shape, sizes, kernel = CASES[name]
    spec = ResizeSpec(kernel=kernel, axes=(2, 3), target=Sizes(sizes))
    small = np.ones((1, 1, *(min(length, 64) for length in shape[2:])), dtype)
    ir_interp.resize(small, spec, sizes=(32, 32))  # so that modules and threads are there
    x, y = np.ones(shape, dtype), np.zeros((*shape[:2], *sizes), dtype)
    y[...] = 1  # both are in memory now
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ir_interp.resize(x, spec, out=y)
    beyond = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    mebibytes = [math.prod(array.shape) * array.itemsize / _MIB for array in (x, y)]
    return f"| {name} | {mebibytes[0]:.0f} | {mebibytes[1]:.0f} | {beyond / 1024:.0f} |"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(_measure(sys.argv[1]))
    else:
        main()
