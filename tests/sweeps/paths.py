"""Compare every path of the executor with the plain form, on random resizes: NumPy, loops, pieces, prepared.

``python -m tests.sweeps.paths --cases 5000 --seed 1`` exits with 1 where a bit differs.
"""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Coordinates,
    Cubic,
    Lanczos,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Rounding,
    Sizes,
    SpecError,
    prepare,
    region,
    resize,
)
from ir_interp.executor import definition, library_sums, loop_runner
from ir_interp.executor.definition import store
from ir_interp.executor.loop_runner import is_installed
from ir_interp.executor.ordered_sums import planned_steps
from ir_interp.libraries import parse
from ir_interp.plan.integer_sums import CORNER_BITS, Corners, WholeSum, rounding_at_once, whole_piece
from ir_interp.plan.library_passes import is_of_ipp
from ir_interp.plan.taps import plan
from ir_interp.specs import IntegerRounding, Kernel
from tests.support.loops import use_loops
from tests.support.sweeps import options

Array = NDArray[Any]
Rng = np.random.Generator
LOOPS = ("0", "1") if is_installed() else ("0",)
CALLS = ("opencv:linear", "opencv:cubic", "opencv:area", "pillow:bilinear", "pillow:bicubic", "torch:bilinear")
KERNELS: tuple[Kernel, ...] = (
    Linear(),
    Linear(),
    Linear(antialias=Antialias.SHRINKING, exclude_outside=True),
    Cubic(a=-0.75),
    Cubic(a=-0.5, antialias=Antialias.SHRINKING),
    Lanczos(radius=3, antialias=Antialias.SHRINKING, exclude_outside=True),
    Area(),
    Mean(),
    Nearest(rounding=Rounding.FLOOR),
)


def drawn(rng: Rng) -> tuple[Array, ResizeSpec]:
    """Return a random array and a resize of it: of images as rows x columns x channels, of planes, by whole factors.

    Integral factors shrink or grow, since loops take shorter ways where the same few weights repeat.
    """
    channels = int(rng.choice([1, 2, 3, 3, 3, 4, 5, 20]))
    height, width = (int(rng.choice([1, 2, 3, 5, 8, 12, 31, 60, 96])) for _ in range(2))
    layout = int(rng.integers(0, 4))
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    shape, axes = [
        ((height, width, channels), (0, 1)),
        ((channels, height, width), (1, 2)),
        ((1, channels, height, width), (2, 3)),
        ((1, height, width, channels), (1, 2)),
    ][layout]
    factor = int(rng.choice([0, 0, 0, 2, 3, 4]))
    target = [int(rng.choice([1, 2, 3, 6, 7, 16, 36, 61, 120])) for _ in axes]
    if factor:
        target = [max(1, shape[axis] // factor) for axis in axes]
        shape = tuple(n * factor if axis in axes else n for axis, n in enumerate(max_shape(shape, axes, target)))
    elif rng.random() < 0.3:
        target = [shape[axis] * int(rng.choice([2, 2, 3])) for axis in axes]
    if rng.random() < 0.2:
        keep = int(rng.integers(0, 2))
        axes, target = axes[keep : keep + 1], target[keep : keep + 1]
    dtype = str(
        rng.choice(
            ["uint8", "uint8", "uint8", "int8", "float32", "float32", "float64", "float16", "uint16", "int16", "int32"]
        )
    )
    x = values(rng, shape, dtype)
    if dtype == "uint8" and layout == 0 and rng.random() < 0.3 and len(axes) == 2:
        called = replace(parse(str(rng.choice(CALLS))), axes=axes, target=Sizes(tuple(target)))
        with suppress(SpecError):  # a library that does not take so many channels
            prepare(called, shape, dtype)
            return x, called
    kernel = KERNELS[rng.integers(len(KERNELS))]
    corner = isinstance(kernel, Area | Mean)
    spec = ResizeSpec(
        kernel=kernel,
        coordinates=Coordinates.ASYMMETRIC if corner else list(Coordinates)[rng.integers(len(Coordinates))],
        axes=axes,
        target=Sizes(tuple(target)),
        arithmetic=[Arithmetic.ONNXRUNTIME, Arithmetic.EXACT, Arithmetic.OPENVINO][rng.integers(3)],
        integers=[None, None, *IntegerRounding][rng.integers(6)],
    )
    return x, spec


def max_shape(shape: tuple[int, ...], axes: tuple[int, ...], target: list[int]) -> tuple[int, ...]:
    """Return a shape whose resized axes are as long as their target."""
    lengths = dict(zip(axes, target, strict=True))
    return tuple(lengths.get(axis, n) for axis, n in enumerate(shape))


def values(rng: Rng, shape: tuple[int, ...], dtype: str) -> Array:
    """Return random numbers; of integers many are the largest and the least, where sums lie at halves and beyond."""
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    bounds = np.iinfo(dtype)
    if dtype == "int32":
        return rng.integers(-(2**20), 2**20, shape, dtype)
    x = rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([bounds.min, bounds.max, 0, 1], dtype), shape)
    return np.where(rng.random(shape) < 0.3, ends, x)


def plainly(x: Array, spec: ResizeSpec) -> Array | None:
    """Return a resize in its plain form, tap by tap over all of an array; None where there is no such form here."""
    bound = plan(spec, x.shape)
    if isinstance(spec.kernel, Nearest):
        return definition.run(x, bound)
    if x.dtype.kind == "f":
        return _in_floats(x, spec)
    sums = prepare(spec, x.shape, x.dtype)._case.exact_sums
    if sums:
        for each in sums:
            x = _summed(x, each)
        return np.asarray(x)
    if bound.spec.has_passes:
        run = library_sums.run_ipp if is_of_ipp(bound) else library_sums.run_passes
        return run(x, bound, whole_piece(bound))
    steps = planned_steps(bound, x.dtype.name, whole_piece(bound).outputs)
    if steps and isinstance(steps[0], Corners):
        return _cornered(x, steps[0])
    return None if steps else _in_floats(x, spec)


def _in_floats(x: Array, spec: ResizeSpec) -> Array:
    """Return sums of floats, one tap after the other, as elements of the array's type."""
    wide = x.dtype.itemsize > 2 and x.dtype != np.float32
    sums = definition.run(x.astype(np.float64 if wide else np.float32), plan(spec, x.shape))
    made = np.empty(sums.shape, x.dtype)
    store(sums, made, rounding_at_once(spec, x.dtype.name))
    return made


def _summed(x: Array, sums: WholeSum) -> Array:
    """Return a sum of whole numbers in int64, rounded by what is cut off."""
    total = x.astype(np.int64)
    for window in sums.windows:
        column = (-1,) + (1,) * (x.ndim - window.axis - 1)
        total = np.asarray(
            sum(
                np.take(total, window.first + tap, axis=window.axis) * weights.astype(np.int64).reshape(column)
                for tap, weights in enumerate(window.weights.T)
            )
        )
    one, bounds = 1 << sums.bits, np.iinfo(x.dtype)
    below, rest = total >> sums.bits, (total & (one - 1)) * 2
    at_half = {
        IntegerRounding.HALF_EVEN: below % 2 == 1,
        IntegerRounding.HALF_AWAY: total > 0,
        IntegerRounding.HALF_UP: np.ones(total.shape, bool),
    }
    up = (rest > one) | ((rest == one) & at_half[sums.rounding])
    return np.asarray(np.clip(below + up, bounds.min, bounds.max).astype(x.dtype))


def _cornered(x: Array, step: Corners) -> Array:
    """Return the sum over corners, each of them over the whole array."""
    work: Any = np.int64 if step.fixed else np.float32
    total: Any = None
    for which in itertools.product((0, 1), repeat=len(step.axes)):
        corner, weight = x, None
        for axis, side, places, weights in zip(step.axes, reversed(which), step.indices, step.weights, strict=True):
            corner = np.take(corner, places[side].astype(np.intp), axis=axis, mode="clip")
            column = weights[side].astype(work).reshape((-1,) + (1,) * (x.ndim - axis - 1))
            weight = column if weight is None else weight * column
        term = weight * corner.astype(work)
        total = term if total is None else total + term
    if step.fixed:
        return np.asarray(np.sign(total) * (np.abs(total) >> (2 * CORNER_BITS))).astype(x.dtype)
    return np.asarray(np.trunc(total)).astype(x.dtype)


def faults(rng: Rng, x: Array, spec: ResizeSpec) -> Iterator[str]:
    """Yield what differs: each path from NumPy alone to the last bit, and that from the plain form."""
    results = {}
    with pytest.MonkeyPatch.context() as patch:
        for loops in LOOPS:
            use_loops(patch, loops)
            made = resize(x, spec)
            piece = tuple(
                slice(start := int(rng.integers(0, n)), int(rng.integers(start + 1, n + 1))) for n in made.shape
            )
            alone = resize(np.array(x[region(spec, x.shape, piece)]), spec, region=piece, whole=x.shape)
            yield from ([] if _same(alone, made[piece]) else [f"piece {piece}, loops {loops}"])
            yield from ([] if _same(prepare(spec, x.shape, x.dtype)(x), made) else [f"prepared, loops {loops}"])
            results[loops] = made
    yield from (f"loops {each}" for each, made in results.items() if not _same(made, results["0"]))
    wanted = plainly(x, spec)
    if wanted is None:
        return
    if not _same(results["0"], wanted):
        yield "the plain form"


def _same(x: Array, y: Array) -> bool:
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


def main() -> None:
    """Compare, print which paths were taken how often, and every fault."""
    arguments = options(__doc__).parse_args()
    loop_runner._SURELY_SHARED = 0  # small as they are, several threads share them where there are some
    rng, taken, found = np.random.default_rng(arguments.seed), Counter[str](), 0
    for number in range(arguments.cases):
        x, spec = drawn(rng)
        for fault in faults(rng, x, spec):
            found += 1
            print(f"case {number}: {fault}: {x.dtype} {list(x.shape)}, {spec}")
        made = prepare(spec, x.shape, x.dtype)
        taken["+".join(job.name for job in made._jobs) or "no loop"] += 1
        taken[made._in_numpy[0].name if made._bound.axes else "a copy"] += 1
    for path, count in taken.most_common():
        print(f"{count:6} {path}")
    print(f"{arguments.cases} cases, {found} differ")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
