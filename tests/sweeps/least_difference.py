"""Find how little two resizes of different meaning differ: what a tolerance must stay below to tell them apart.

``python -m tests.sweeps.least_difference --cases 150 --seed 3`` resizes random images by every pair of some kernels and
coordinates, and prints the smallest differences, relative to the largest value, of those that are no rounding.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Iterator, Sequence

import numpy as np

from ir_interp import Antialias, Coordinates, Cubic, Linear, ResizeSpec, Sizes, resize
from ir_interp.converters.verify.tolerances import OUTPUT

_ROUNDING = 2e-6  # what is less is the same resize, said otherwise
_COORDINATES = (
    Coordinates.HALF_PIXEL,
    Coordinates.ALIGN_CORNERS,
    Coordinates.ASYMMETRIC,
    Coordinates.PYTORCH_HALF_PIXEL,
)
_KERNELS: tuple[Linear | Cubic, ...] = (
    Linear(),
    Linear(antialias=Antialias.SHRINKING),
    Cubic(a=-0.75),
    Cubic(a=-0.5),
    Cubic(a=-0.75, exclude_outside=True),
)


def differences(cases: int, seed: int) -> Iterator[float]:
    """Yield how far each two resizes of a random image lie apart."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        lengths = rng.integers(8, 120, 2)
        target = Sizes(tuple(max(2, int(n * np.exp(rng.uniform(-1, 1.3)))) for n in lengths))
        image = rng.random((1, 1, *lengths), np.float32)
        made = [
            resize(image, ResizeSpec(kernel=kernel, coordinates=coordinates, axes=(2, 3), target=target))
            for coordinates, kernel in itertools.product(_COORDINATES, _KERNELS)
        ]
        for one, other in itertools.combinations(made, 2):
            yield float(np.abs(one - other).max()) / max(1.0, float(one.max()))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the smallest differences, and how many would pass for equal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=150)
    parser.add_argument("--seed", type=int, default=3)
    options = parser.parse_args(arguments)
    found = np.sort([each for each in differences(options.cases, options.seed) if each > _ROUNDING])
    parts = ", ".join(f"{1 - part:.1%} beyond {np.quantile(found, part):.3g}" for part in (0.001, 0.01, 0.1))
    below = int((found <= OUTPUT).sum())
    print(f"{len(found)} pairs of seed {options.seed}: the least {found[0]:.3g}, {parts}; {below} within {OUTPUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
