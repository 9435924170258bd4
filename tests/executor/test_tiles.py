"""The fast executor against the plain one: every path computes the taps, whatever the layout, and on any thread."""

from __future__ import annotations

import math
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from numpy.typing import NDArray
from threadpoolctl import threadpool_info

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Coordinates,
    Cubic,
    Linear,
    Nearest,
    ResizeSpec,
    Rounding,
    ShapeError,
    Sizes,
    SpecError,
    resize,
)
from ir_interp.executor import definition
from ir_interp.plan.taps import plan
from ir_interp.specs import IntegerRounding, Kernel

Array = NDArray[Any]
KERNELS: list[Kernel] = [
    Nearest(rounding=Rounding.FLOOR),
    Nearest(rounding=Rounding.ROUND_PREFER_CEIL),
    Linear(),
    Linear(antialias=Antialias.SHRINKING),
    Linear(antialias=Antialias.SHRINKING, exclude_outside=True),
    Cubic(a=-0.75),
    Cubic(a=-0.5, antialias=Antialias.SHRINKING, exclude_outside=True),
    Area(),
]
MOST = 2**20  # elements of a small array: 66 on each of five axes would be 5 GB
COORDINATES = [Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS]


def _spec(kernel: Kernel, axes: tuple[int, ...], sizes: tuple[int, ...], coordinates: Coordinates) -> ResizeSpec:
    place = Coordinates.ASYMMETRIC if isinstance(kernel, Area) else coordinates
    return ResizeSpec(
        kernel=kernel, coordinates=place, axes=axes, target=Sizes(sizes), arithmetic=Arithmetic.ONNXRUNTIME
    )


def _plain(x: Array, spec: ResizeSpec) -> Array:
    """Return what the plain executor makes of ``x``, in float64."""
    work = x if isinstance(spec.kernel, Nearest) else x.astype(np.float64)
    return definition.run(work, plan(spec, x.shape))


def _check(x: Array, spec: ResizeSpec, tolerance: float = 2e-6) -> None:
    actual, wanted = resize(x, spec), _plain(x, spec)
    if isinstance(spec.kernel, Nearest):
        np.testing.assert_array_equal(actual, wanted)
    else:
        limit = tolerance * max(1.0, float(np.abs(x).max(initial=0)))
        np.testing.assert_allclose(actual.astype(np.float64), wanted, rtol=0, atol=limit)


@st.composite
def _drawn(draw: st.DrawFn) -> tuple[tuple[int, ...], ResizeSpec]:
    shape = tuple(draw(st.lists(st.sampled_from([1, 2, 3, 5, 8, 17, 33]), min_size=1, max_size=5)))
    axes = tuple(draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True)))
    sizes = tuple(draw(st.sampled_from([1, 2, 3, 7, 16, 34, 66])) for _ in axes)
    out_shape = dict(enumerate(shape)) | dict(zip(axes, sizes, strict=True))
    assume(max(math.prod(shape), math.prod(out_shape.values())) <= MOST)
    return shape, _spec(draw(st.sampled_from(KERNELS)), axes, sizes, draw(st.sampled_from(COORDINATES)))


@settings(max_examples=80, deadline=None)
@given(_drawn())
def test_small_arrays(drawn: tuple[tuple[int, ...], ResizeSpec]) -> None:
    shape, spec = drawn
    _check(np.random.default_rng(0).standard_normal(shape).astype(np.float32), spec)


LARGE = [
    ((3, 270, 480), (1, 2), (160, 160)),
    ((40, 64, 65), (1, 2), (128, 130)),
    ((1, 1, 1201, 997), (2, 3), (701, 503)),
    ((1, 270, 481, 3), (1, 2), (160, 161)),
    ((2, 9, 33, 64, 20), (2, 3, 4), (17, 128, 31)),
    ((700, 900), (0,), (3,)),
    ((900, 700), (1,), (2100,)),
    ((3, 4096), (1,), (1,)),
    ((5, 3), (0, 1), (3000, 401)),
    ((400000,), (0,), (300001,)),
    ((33, 33, 3, 1), (1, 2, 3), (66, 66, 6)),  # short rows, many items, and an axis after the first
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: str(kernel)[:60])
@pytest.mark.parametrize(("shape", "axes", "sizes"), LARGE, ids=str)
def test_arrays_of_several_tiles(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...], kernel: Kernel
) -> None:
    x = np.random.default_rng(1).random(shape, np.float32)
    _check(x, _spec(kernel, axes, sizes, Coordinates.HALF_PIXEL))


@pytest.mark.parametrize(
    "dtype", ["float16", "float64", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64"]
)
@pytest.mark.parametrize("kernel", KERNELS[:1] + KERNELS[2:6:3], ids=lambda kernel: str(kernel)[:30])
def test_every_type(kernel: Kernel, dtype: str) -> None:
    x = (np.random.default_rng(2).random((40, 65, 96)) * 100).astype(dtype)
    spec = replace(_spec(kernel, (1, 2), (131, 50), Coordinates.HALF_PIXEL), integers=IntegerRounding.HALF_EVEN)
    wanted = _plain(x, spec).astype(np.float64)
    if x.dtype.kind in "iu":
        wanted = np.clip(wanted, np.iinfo(dtype).min, np.iinfo(dtype).max)
    limit = {"float16": 0.06, "float64": 1e-10}.get(dtype, 0.5001)
    np.testing.assert_allclose(resize(x, spec).astype(np.float64), wanted, rtol=0, atol=limit)


def test_any_layout_gives_the_same() -> None:
    x = np.random.default_rng(3).random((6, 90, 120), np.float32)
    spec = _spec(Cubic(a=-0.5), (1, 2), (150, 77), Coordinates.HALF_PIXEL)
    wanted = resize(x, spec)
    for other in (
        np.asfortranarray(x),
        np.repeat(x, 2, axis=2)[:, :, ::2],
        x[::-1][::-1],
        x.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    ):
        np.testing.assert_array_equal(resize(other, spec), wanted)


@pytest.mark.parametrize("kernel", [KERNELS[0], KERNELS[2], KERNELS[6]], ids=lambda kernel: str(kernel)[:30])
def test_any_number_of_threads_gives_the_same(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(4).random((12, 300, 400), np.float32)
    spec = _spec(kernel, (1, 2), (333, 222), Coordinates.HALF_PIXEL)
    results = []
    for count in ("1", "2", "3"):
        monkeypatch.setenv("IR_INTERP_THREADS", count)
        results.append(resize(x, spec))
    np.testing.assert_allclose(results[1], results[0], rtol=0, atol=1e-6)
    np.testing.assert_allclose(results[2], results[0], rtol=0, atol=1e-6)


def test_many_callers_at_once_leave_the_threads_of_products_alone() -> None:
    x = np.random.default_rng(8).random((16, 300, 300), np.float32)
    spec = _spec(Linear(), (1, 2), (400, 400), Coordinates.HALF_PIXEL)
    wanted = resize(x, spec)
    before = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    with ThreadPoolExecutor(4) as callers:
        for result in callers.map(lambda _: resize(x, spec), range(12)):
            np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-6)
    assert [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"] == before


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_forked_process_resizes_too() -> None:
    x = np.random.default_rng(9).random((16, 300, 300), np.float32)
    spec = _spec(Nearest(rounding=Rounding.FLOOR), (1, 2), (400, 400), Coordinates.ASYMMETRIC)
    resize(x, spec)
    child = multiprocessing.get_context("fork").Process(target=resize, args=(x, spec))
    child.start()
    child.join(30)
    assert child.exitcode == 0


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_reaches_its_own_taps_only(value: float) -> None:
    x = np.zeros((1, 300), np.float32)
    x[0, 100] = value
    y = resize(x, _spec(Linear(), (1,), (600,), Coordinates.HALF_PIXEL))
    assert np.flatnonzero(~np.isfinite(y[0])).tolist() == [199, 200, 201, 202]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_what_is_not_finite_shrinks_plainly(dtype: str) -> None:
    x = np.ones((1, 600), dtype)
    x[0, 300] = np.inf
    y = resize(x, _spec(Linear(), (1,), (200,), Coordinates.HALF_PIXEL))
    assert np.flatnonzero(np.isinf(y[0])).tolist() in ([], [100])
    assert np.isfinite(y[0, :99]).all()


def test_objects_are_copied_along_several_axes() -> None:
    x = np.array([["a", None], [1, (2, 3)]], object)
    y = resize(x, _spec(KERNELS[0], (0, 1), (4, 6), Coordinates.ASYMMETRIC))
    assert y.tolist() == np.repeat(np.repeat(x, 2, axis=0), 3, axis=1).tolist()


def test_large_values_are_finite_all_the_same() -> None:
    x = np.full((4, 4), 1e30, np.float32)
    np.testing.assert_allclose(resize(x, _spec(Linear(), (0, 1), (8, 8), Coordinates.HALF_PIXEL)), 1e30, rtol=1e-6)


def test_out_takes_the_result() -> None:
    x = np.random.default_rng(5).random((3, 20, 30), np.float32)
    spec = _spec(Linear(), (1, 2), (31, 47), Coordinates.HALF_PIXEL)
    out = np.full((3, 31, 47), np.nan, np.float32)
    assert resize(x, spec, out=out) is out
    np.testing.assert_array_equal(out, resize(x, spec))


def test_out_that_does_not_fit() -> None:
    x = np.zeros((4, 4), np.float32)
    spec = _spec(Linear(), (0, 1), (4, 4), Coordinates.HALF_PIXEL)
    with pytest.raises(
        ShapeError, match=r"^out must be a float32 array of shape \[4, 4\] in C order, not float64 \[4, 4\]$"
    ):
        resize(x, spec, out=np.zeros((4, 4)))
    with pytest.raises(SpecError, match=r"^out must not overlap the input$"):
        resize(x, spec, out=x)


def test_input_is_left_alone() -> None:
    for kernel in KERNELS:
        x = np.random.default_rng(6).random((3, 50, 40), np.float32)
        before = x.copy()
        resize(x, _spec(kernel, (1, 2), (25, 90), Coordinates.HALF_PIXEL))
        np.testing.assert_array_equal(x, before)
