"""Compare resizes with the image libraries that are installed, pixel by pixel, over random sizes.

``python -m tests.sweeps.libraries --pixels 1e7 --only pillow`` compares so many output pixels of every call, type and
number of channels. Exits with 1 where integers differ that are not known to (``Library.approximate``).
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from contextlib import suppress

import numpy as np

from ir_interp import resize
from ir_interp.library import get, names
from ir_interp.translation.dialect import Context
from tests.support.libraries import Call, calls, lengths


def known(call: Call, version: int | None = None) -> str:
    """Return why some values of a call differ; nothing where none may."""
    library = get(call.library)
    context = Context(version=library.version(version), dtype=call.dtype)
    attributes = library.dialect.complete(library.checked(call.arguments, context.version), context.version)
    return library.approximate(attributes, context)


def compared(call: Call, pixels: float, seed: int) -> tuple[int, int, float]:
    """Return how many values were compared, how many differ, and by how much at most."""
    rng, count, unequal, largest = np.random.default_rng(seed), 0, 0, 0.0
    while count < pixels:
        height, width, rows, columns = lengths(rng)
        if call.library in ("torch", "torchvision") and columns == 1:
            continue  # torch 2.13 repeats the first row (antialias; uint8 of five channels), or its assertion fails
        x, placed = call.image(rng, height, width), call.placed(rng, height, width)
        theirs, ours = placed.run(x, rows, columns), resize(x, placed.spec, sizes=(rows, columns))
        apart = np.abs(theirs.astype(np.float64) - ours)
        count, unequal, largest = count + apart.size, unequal + int((apart > 0).sum()), max(largest, float(apart.max()))
    return count, unequal, largest


def main() -> int:
    """Print a line for every call, and return 1 where one differs that should not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pixels", type=float, default=1e5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=names(), action="append")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.only or names():
        for package in get(name).packages:
            with suppress(importlib.metadata.PackageNotFoundError):
                print(f"{package} {importlib.metadata.version(package)}")
        for call in calls(name):
            count, unequal, largest = compared(call, arguments.pixels, arguments.seed)
            reason = known(call)
            allowed = 0 if not reason else 2 if call.dtype == "uint16" else 1
            wrong = "int" in call.dtype and largest > allowed
            failed |= wrong
            mark = "!!" if wrong else "  "
            told = f"; {reason}" if unequal and reason else ""
            print(f"{mark} {call}: {unequal} of {count} unequal, largest {largest:.3g}{told}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
