"""Compare resizes with the image libraries that are installed, pixel by pixel, over random sizes.

``python -m tests.sweeps.libraries --pixels 1e7 --only pillow`` compares so many output pixels of every call, type and
number of channels. Exits with 1 where integers differ that are not known to (``Library.approximate``), and where a
library refuses what is not refused here. ``--edges`` takes the library's enums and numbers, factors, odd channels and
further element types. SciPy and scikit-image have no enums, and their calls take no factors here.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ir_interp import IrInterpError
from ir_interp.libraries import get, names
from ir_interp.translation.dialect import Context
from tests.support.libraries import Call, calls, edges, lengths
from tests.support.tolerances import tolerance

Array = NDArray[Any]


def known(call: Call, version: int | None = None) -> str:
    """Return why some values of a call differ; nothing where none may."""
    library = get(call.library)
    context = Context(version=library.version(version), dtype=call.dtype)
    attributes = library.dialect.complete(library.checked(call.arguments, context.version), context.version)
    return library.approximate(attributes, context)


@dataclass
class Compared:
    """How many values were compared, how many differ, and by how much at most; how many images each side refused.

    ``share`` is the largest difference of floats as a part of the bound of its image (``tolerances``).
    """

    count: int = 0
    unequal: int = 0
    largest: float = 0.0
    share: float = 0.0
    here: int = 0
    there: int = 0

    def add(self, theirs: Array, ours: Array, allowed: float) -> None:
        """Count the values of an image, of which floats are ``allowed`` to lie apart."""
        assert theirs.shape == ours.shape, f"{list(theirs.shape)} there, {list(ours.shape)} here"
        apart = np.abs(theirs.astype(np.float64) - ours)
        self.count, self.unequal = self.count + apart.size, self.unequal + int((apart > 0).sum())
        self.largest = max(self.largest, float(apart.max(initial=0.0)))
        if ours.dtype.kind == "f" and apart.max(initial=0.0):
            self.share = max(self.share, float(apart.max()) / allowed if allowed else np.inf)


def compared(call: Call, pixels: float, seed: int) -> Compared:
    """Return how a call compares with the library on random images."""
    rng, found, tries = np.random.default_rng(seed), Compared(), 0
    while found.count < pixels and tries < _MOST_TRIES:
        tries += 1
        height, width, rows, columns = lengths(rng)
        x, placed = call.image(rng, height, width), call.placed(rng, height, width)
        try:
            ours = placed.ours(x, rows, columns)
        except IrInterpError:
            found.here += 1
            continue
        if 0 in ours.shape:
            continue  # which the libraries refuse
        try:
            theirs = placed.run(x, rows, columns)
        except ImportError:
            raise
        except Exception:  # OpenCV's and PyTorch's own, and those of Python
            found.there += 1
            continue
        found.add(theirs, ours, tolerance(call.library, placed.bound(x, rows, columns), x))
    return found


_MOST_TRIES = 20_000


def main() -> int:
    """Print a line for every call, and return 1 where one differs that should not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pixels", type=float, default=1e5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--edges", action="store_true", help="enums, factors, odd channels, further types")
    parser.add_argument("--only", choices=names(), action="append")
    arguments = parser.parse_args()
    failed = False
    for name in arguments.only or names():
        for package in get(name).packages:
            with suppress(importlib.metadata.PackageNotFoundError):
                print(f"{package} {importlib.metadata.version(package)}")
        for call in (edges if arguments.edges else calls)(name):
            found = compared(call, arguments.pixels, arguments.seed)
            reason = known(call)
            allowed = 0 if not reason else 2 if call.dtype == "uint16" else 1
            wrong = "int" in call.dtype and (found.largest > allowed or found.there > 0)
            wrong |= found.share > 1
            failed |= wrong
            mark = "!!" if wrong else "  "
            told = f"; {reason}" if found.unequal and reason else ""
            refused = f"; refused: {found.here} images here, {found.there} by the library alone"
            told += refused if found.here or found.there else ""
            told += f"; {found.share:.2g} of the bound" if found.share else ""
            unequal = f"{found.unequal} of {found.count} unequal, largest {found.largest:.3g}"
            print(f"{mark} {call}: {unequal}{told}", flush=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
