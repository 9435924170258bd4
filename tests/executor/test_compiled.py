"""8-bit integers: matrix products, compiled loops and plain sums of whole numbers give the same bytes."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

import ir_interp
from ir_interp import (
    Antialias,
    Area,
    Between,
    Coordinates,
    Cubic,
    FixedPoint,
    IntegerRounding,
    Lanczos,
    Linear,
    Mean,
    Nearest,
    ResizeSpec,
    Rounding,
    Sizes,
)
from ir_interp.executor import cases, loop_runner as compiled_loops
from ir_interp.executor.loop_calls import SettledColumnsFirst, SettledRowsFirst
from ir_interp.executor.loop_runner import VARIABLE, is_installed
from ir_interp.plan.integer_sums import WholeSum, Windows, error_bound
from ir_interp.specs import Kernel
from tests.support.loops import use_loops

Array = NDArray[Any]
KERNELS: list[Kernel] = [
    Linear(),
    Linear(antialias=Antialias.SHRINKING, exclude_outside=True),
    Cubic(a=-0.75),
    Cubic(a=-0.5, antialias=Antialias.SHRINKING),
    Lanczos(radius=3, antialias=Antialias.SHRINKING, exclude_outside=True),
    Area(),
    Mean(),
]
SUMS = [None, *IntegerRounding, FixedPoint(bits=22), FixedPoint(bits=11, between=Between.KEPT)]
compiled = pytest.mark.skipif(not is_installed(), reason="numba is not installed")


@st.composite
def _resizes(draw: st.DrawFn) -> tuple[tuple[int, ...], ResizeSpec]:
    rank = draw(st.integers(1, 4))
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 12, 31]), min_size=rank, max_size=rank)))
    axes = draw(st.permutations(range(rank)))[: draw(st.integers(1, 2))]
    sizes = tuple(draw(st.sampled_from([1, 2, 3, 6, 7, 16, 36])) for _ in axes)
    kernel = draw(st.sampled_from(KERNELS))
    areas = isinstance(kernel, Area | Mean)
    spec = ResizeSpec(
        kernel=kernel,
        coordinates=Coordinates.ASYMMETRIC if areas else draw(st.sampled_from(list(Coordinates))),
        axes=tuple(axes),
        target=Sizes(sizes),
        integers=draw(st.sampled_from(SUMS)),
    )
    return shape, spec


def _bytes(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    """Return random bytes, many of them the largest and the least: there sums lie at halves, and beyond the range."""
    rng, bounds = np.random.default_rng(seed), np.iinfo(dtype)
    values = rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([bounds.min, bounds.max, 0, 1], dtype), shape)
    return np.where(rng.random(shape) < 0.5, values, ends)


def _summed(x: Array, sums: WholeSum) -> Array:
    """Return a sum in Python's own integers, rounded as it says."""
    wide = x.astype(object)
    for window in sums.windows:
        moved = np.moveaxis(wide, window.axis, 0)
        rows = [
            sum(int(weight) * moved[first + place] for place, weight in enumerate(weights))
            for first, weights in zip(window.first, window.weights, strict=True)
        ]
        wide = np.moveaxis(np.array(rows, object).reshape(len(rows), *moved.shape[1:]), 0, window.axis)
    bounds, one = np.iinfo(x.dtype), 1 << sums.bits

    def rounded(value: int) -> int:
        below, rest = divmod(value, one)
        up = 2 * rest > one
        if 2 * rest == one:
            odd, positive = below % 2 == 1, value > 0
            up = {IntegerRounding.HALF_EVEN: odd, IntegerRounding.HALF_AWAY: positive, IntegerRounding.HALF_UP: True}[
                sums.rounding
            ]
        return int(min(max(below + up, bounds.min), bounds.max))

    return np.asarray(np.vectorize(rounded, otypes=[x.dtype])(wide))


def _both(x: Array, spec: ResizeSpec, monkeypatch: pytest.MonkeyPatch) -> list[Array]:
    results = []
    for value in ("0", "1"):
        use_loops(monkeypatch, value)
        results.append(ir_interp.resize(x, spec))
    return results


@settings(max_examples=60, deadline=None)
@given(_resizes(), st.sampled_from(["uint8", "uint8", "int8"]))
def test_bytes_are_those_of_whole_numbers(drawn: tuple[tuple[int, ...], ResizeSpec], dtype: str) -> None:
    shape, spec = drawn
    x = _bytes(shape, dtype)
    wanted = x
    sums = ir_interp.prepare(spec, shape, dtype)._case.exact_sums
    with pytest.MonkeyPatch.context() as patch:
        products, loops = _both(x, spec, patch)
    np.testing.assert_array_equal(loops, products)
    for each in sums:
        wanted = _summed(wanted, each)
    if sums:
        np.testing.assert_array_equal(products, wanted)


PHOTOS = [((301, 427, 3), (0, 1), (60, 97)), ((1, 4, 240, 250), (2, 3), (500, 333)), ((301, 90, 40), (0, 1), (70, 200))]


@compiled
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel)[:40])
@pytest.mark.parametrize(("shape", "axes", "sizes"), PHOTOS, ids=str)
def test_images_in_several_threads(
    kernel: Any, shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Coordinates.ASYMMETRIC if isinstance(kernel, Area | Mean) else Coordinates.HALF_PIXEL
    spec = ResizeSpec(kernel=kernel, coordinates=place, axes=axes, target=Sizes(sizes))
    monkeypatch.setenv("IR_INTERP_THREADS", "3")
    monkeypatch.setattr(compiled_loops, "_SURELY_SHARED", 0)
    products, loops = _both(_bytes(shape, "uint8"), spec, monkeypatch)
    np.testing.assert_array_equal(loops, products)


HALVED = [((12, 2 * n, c), (0, 1)) for n in (1, 10, 31, 32, 33, 64, 96) for c in (1, 2, 3, 4)]


@compiled
@pytest.mark.parametrize("rounding", [None, FixedPoint(bits=11, between=Between.KEPT)], ids=["half_even", "half_up"])
@pytest.mark.parametrize(("shape", "axes"), [*HALVED, ((3, 14, 140), (1, 2)), ((2, 6, 90, 3), (1, 2))], ids=str)
def test_halves(shape: tuple[int, ...], axes: tuple[int, int], rounding: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, (rows, columns) = _bytes(shape, "uint8"), axes
    spec = ResizeSpec(
        kernel=Linear(),
        coordinates=Coordinates.HALF_PIXEL,
        axes=axes,
        target=Sizes((shape[rows] // 2, shape[columns] // 2)),
        integers=rounding,
    )
    products, loops = _both(x, spec, monkeypatch)
    split = x.reshape(*shape[:rows], shape[rows] // 2, 2, shape[columns] // 2, 2, *shape[columns + 1 :])
    sums = split.sum((rows + 1, columns + 2), dtype=int)
    np.testing.assert_array_equal(loops, np.rint(sums / 4) if rounding is None else (sums + 2) // 4)
    np.testing.assert_array_equal(loops, products)


@compiled
@pytest.mark.parametrize("dtype", ["uint8", "int16", "float16", "float32", "float64"])
@pytest.mark.parametrize("kernel", [Nearest(rounding=Rounding.FLOOR), Linear(), Cubic(a=-0.75)], ids=str)
@pytest.mark.parametrize("coordinates", [Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS])
def test_doubled_rows(dtype: str, kernel: Kernel, coordinates: Coordinates, monkeypatch: pytest.MonkeyPatch) -> None:
    """Outputs in pairs fill vectors of sixteen; the lengths leave none, one, some and nearly all of a vector over.

    So do regions, some of an odd number of outputs.
    """
    for width, channels in ((19, 1), (21, 1), (25, 3), (33, 1), (70, 3), (21, 4), (21, 5)):
        shape = (3, width, channels)
        x = (np.random.default_rng(width).random(shape) * 250).astype(dtype)
        spec = ResizeSpec(kernel=kernel, coordinates=coordinates, axes=(0, 1), target=Sizes((9, 2 * width)))
        products, loops = _both(x, spec, monkeypatch)
        np.testing.assert_array_equal(loops, products)
        for part in (np.s_[:, width - 13 : 2 * width], np.s_[:, 2 * width - 31 : 2 * width - 1]):
            np.testing.assert_array_equal(ir_interp.resize(x, spec, region=part), products[part])


SETTLED = [
    ResizeSpec(kernel=kernel, axes=(0, 1), target=Sizes(sizes), integers=rounding)
    for kernel in (Linear(), Cubic(a=-0.75), Cubic(a=-0.5, antialias=Antialias.SHRINKING))
    for sizes in ((37, 50), (200, 333))
    for rounding in (None, IntegerRounding.HALF_UP, IntegerRounding.HALF_AWAY)
]


@compiled
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
@pytest.mark.parametrize(
    "spec", SETTLED, ids=lambda spec: f"{type(spec.kernel).__name__} {spec.target} {spec.integers}"
)
def test_sums_in_doubt_are_settled(spec: ResizeSpec, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a doubt above every error all outputs are summed again."""
    x = _bytes((101, 90, 3), dtype)
    use_loops(monkeypatch, "0")
    expected = ir_interp.resize(x, spec)
    use_loops(monkeypatch, "1")
    for doubt in (0.75, None):
        with monkeypatch.context() as patch:
            if doubt:
                patch.setattr(cases, "error_bound", lambda *_, doubt=doubt: doubt)
            run = ir_interp.prepare(spec, x.shape, dtype)
            (job,) = run._jobs
            assert isinstance(job.call, SettledRowsFirst | SettledColumnsFirst)
            assert (job.call.ending.limits < 0.5).any()
            np.testing.assert_array_equal(run(x), expected)


@compiled
def test_a_doubt_below_the_error_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "error_bound", lambda *_: 0.0)
    x = np.random.default_rng(0).integers(0, 256, (480, 640, 3), np.uint8)
    spec = ResizeSpec(kernel=Linear(), axes=(0, 1), target=Sizes((224, 224)))
    products, loops = _both(x, spec, monkeypatch)
    assert (loops != products).any()


@pytest.mark.parametrize("shape", [(101, 90), (37, 41), (300, 11)])
@pytest.mark.parametrize("kernel", KERNELS[:5], ids=str)
def test_float32_sums_stay_within_their_bound(kernel: Kernel, shape: tuple[int, int]) -> None:
    """The largest and the least bytes alone: no sums are larger on the way."""
    spec = ResizeSpec(kernel=kernel, axes=(0, 1), target=Sizes((50, 37)))
    x = np.random.default_rng(7).choice(np.array([0, 255], np.uint8), shape)
    (sums,) = ir_interp.prepare(spec, shape, "uint8")._case.exact_sums
    for first, second in (sums.windows, sums.windows[::-1]):
        exact, single = x.astype(np.int64), x.astype(np.float32)
        for window in (first, second):
            exact = _tap_by_tap(exact, window, window.weights.astype(np.int64))
            single = _tap_by_tap(single, window, window.weights.astype(np.float32))
        bound = error_bound(first, second, 255, sums.bits)
        errors = np.abs(
            np.ldexp(single.astype(np.float64), -sums.bits) - np.ldexp(exact.astype(np.float64), -sums.bits)
        )
        assert bound / 100 < errors.max() < bound


def _tap_by_tap(x: Array, window: Windows, weights: Array) -> Array:
    x = np.moveaxis(x, window.axis, 0)
    total = np.zeros((len(weights), *x.shape[1:]), x.dtype)
    for tap, weight in enumerate(weights.T):
        total += x[window.first + tap] * weight[:, None]
    return np.moveaxis(total, 0, window.axis)


@compiled
def test_loops_take_part_from_the_first_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    code = (
        "import sys, numpy, ir_interp\n"
        "spec = ir_interp.ResizeSpec(kernel=ir_interp.Linear(), axes=(0, 1), target=ir_interp.Sizes((30, 30)))\n"
        "ir_interp.resize(numpy.zeros((60, 60, 3), numpy.uint8), spec)\n"
        "print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"


@compiled
@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "float16", "float32", "float64"])
@pytest.mark.parametrize(
    "kernel",
    [Nearest(rounding=Rounding.FLOOR), *KERNELS[:4]],
    ids=str,
)
@pytest.mark.parametrize(("shape", "axes"), [((13, 11, 3), (0, 1)), ((2, 3, 13, 11), (2, 3)), ((40, 5), (0,))])
def test_later_calls_take_a_shorter_way(
    dtype: str, kernel: Kernel, shape: tuple[int, ...], axes: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    x = (rng.random((2, *shape)) * 100).astype(dtype)
    if x.dtype.kind == "f":
        x[1].flat[7], x[1].flat[60] = np.inf, np.nan
    spec = ResizeSpec(kernel=kernel, axes=axes, target=Sizes((6, 9)[: len(axes)]))
    use_loops(monkeypatch, "0")
    wanted = [ir_interp.resize(each, spec) for each in x]
    use_loops(monkeypatch, "1")
    resize = ir_interp.prepare(spec, shape, dtype)
    copies = [x.copy() for _ in range(4)]
    copies[1].flags.writeable = False
    copies[2] = np.repeat(x, 2, axis=-1)[..., ::2]  # not contiguous
    for each in (copies[0], *copies):
        for image, result in zip(each, wanted, strict=True):
            out = np.empty_like(result)
            np.testing.assert_array_equal(resize(image), result)
            np.testing.assert_array_equal(resize(image, out=out), result)
    assert len(resize._jobs) != 1 or resize._quick is not None


@compiled
def test_a_loop_serves_read_only_images_too(monkeypatch: pytest.MonkeyPatch) -> None:
    use_loops(monkeypatch, "1")
    x = np.arange(24, dtype=np.uint8).reshape(4, 6)
    x.flags.writeable = False
    resize = ir_interp.prepare(
        ResizeSpec(kernel=Nearest(rounding=Rounding.FLOOR), target=Sizes((3, 5))), x.shape, x.dtype
    )
    np.testing.assert_array_equal(resize(x), resize(x.copy()))
    [job] = resize._jobs
    loop: Any = job.compiled[0]  # of numba
    assert all(types[0].mutable for types in loop.signatures)
