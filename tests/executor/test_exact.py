"""The executor in exact arithmetic against the oracle: every kernel, coordinate, rank and type, on awkward shapes."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from ir_interp import (
    Antialias,
    Area,
    Arithmetic,
    Aspect,
    Border,
    Box,
    Coordinates,
    Crop,
    Cubic,
    Gaussian,
    Hamming,
    Lanczos,
    Length,
    Linear,
    Magic,
    Mean,
    Mitchell,
    Nearest,
    Pad,
    ResizeSpec,
    Rounding,
    Scales,
    Sizes,
    Smooth,
    SpecError,
    Step,
    resize,
)
from tests.support.oracle import expected, stored
from tests.support.verdicts import Outcome
from tests.sweeps.executor import agree_with_oracle, sweep_oracle

Array = np.ndarray[Any, np.dtype[Any]]
Shape = tuple[int, ...]

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
NUMBERS = ("float32", "float64", "float16", "bfloat16", *INTEGERS)
COPIED = (*NUMBERS, "bool", "str")
LONGEST = (45, 11, 7, 5, 3, 3)  # of an axis, by rank

EVERY = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])

AREAS = st.sampled_from([Area(), Mean()])
NEAREST = st.builds(Nearest, rounding=st.sampled_from(Rounding))
LINEAR = st.sampled_from(
    [
        Linear(),
        Linear(antialias=Antialias.SHRINKING),
        Linear(border=Border.MIRRORED),
        Linear(antialias=Antialias.SHRINKING, border=Border.SYMMETRIC),
        Linear(antialias=Antialias.SHRINKING, exclude_outside=True),
        Linear(antialias=Antialias.ANY_SHRINKING, exclude_outside=True),
    ]
)
CUBIC = st.builds(
    Cubic,
    a=st.sampled_from([-0.75, -0.5, -0.3]) | st.floats(-1, 0),
    antialias=st.sampled_from([Antialias.OFF, Antialias.SHRINKING]),
    exclude_outside=st.booleans(),
)
OTHERS = st.builds(
    lambda kind, antialias, outside: kind(antialias=antialias, exclude_outside=outside),
    st.sampled_from(
        [
            Box,
            Gaussian,
            Hamming,
            Mitchell,
            functools.partial(Lanczos, radius=3),
            functools.partial(Lanczos, radius=4),
            functools.partial(Magic, year=2013),
            functools.partial(Magic, year=2021),
        ]
    ),
    st.sampled_from([Antialias.OFF, Antialias.SHRINKING]),
    st.booleans(),
)
SCALE = st.sampled_from([0.5, 0.6, 0.3, 1.0, 1.2, 1.4, 1.5, 2.0, 3.0]) | st.floats(0.0625, 3.5, width=32)
EDGE = st.sampled_from([0.0, 1.0, 0.5, 0.25, 0.1, -0.2, 1.3]) | st.floats(-0.5, 1.5, width=32)


@st.composite
def resizes(draw: st.DrawFn, kernels: st.SearchStrategy[Any], *, crops: bool = True) -> tuple[Shape, ResizeSpec]:
    """Draw a spec and an input shape that fit."""
    kernel = draw(kernels)
    rank = draw(st.integers(1, 6))
    shape = tuple(draw(st.lists(st.integers(1, LONGEST[rank - 1]), min_size=rank, max_size=rank)))
    axes = draw(st.none() | st.permutations(range(rank)).flatmap(lambda order: _some(order, rank)))
    count = rank if axes is None else len(axes)
    size = st.integers(0, LONGEST[rank - 1] + 4)
    target = draw(_targets(count, size))
    aspect = draw(st.sampled_from(Aspect)) if isinstance(target, Sizes) else Aspect.STRETCH
    spec = ResizeSpec(
        kernel=kernel,
        coordinates=draw(_coordinates(kernel, count, crops=crops)),
        axes=axes,
        target=target,
        aspect=aspect,
        step=draw(st.sampled_from(Step)),
        length=draw(st.sampled_from(Length)) if aspect is Aspect.STRETCH else Length.WHOLE,
        pads=draw(_pads(rank)),
    )
    return shape, spec


def _some(order: list[int], rank: int) -> st.SearchStrategy[tuple[int, ...]]:
    """Return the first few axes of an order, some counted from the end."""
    negative = st.lists(st.booleans(), min_size=rank, max_size=rank)
    named = negative.map(lambda flags: [axis - rank * flag for axis, flag in zip(order, flags, strict=True)])
    return st.tuples(named, st.integers(1, rank)).map(lambda pair: tuple(pair[0][: pair[1]]))


def _targets(count: int, size: st.SearchStrategy[int]) -> st.SearchStrategy[Sizes | Scales]:
    sizes = st.lists(size, min_size=count, max_size=count).map(lambda values: Sizes(tuple(values)))
    scales = st.lists(SCALE, min_size=count, max_size=count).map(lambda values: Scales(tuple(values)))
    return sizes | scales


def _coordinates(kernel: object, count: int, *, crops: bool) -> st.SearchStrategy[Coordinates | Crop]:
    if isinstance(kernel, Area | Mean):
        return st.sampled_from([Coordinates.ASYMMETRIC, Coordinates.ALIGN_CORNERS])
    windows = st.lists(st.tuples(EDGE, EDGE), min_size=count, max_size=count).map(tuple)
    crop = st.builds(Crop, roi=windows, extrapolation=st.sampled_from([0.0, 3.5, -200.0]))
    return st.sampled_from(Coordinates) | crop if crops else st.sampled_from(Coordinates)


def _pads(rank: int) -> st.SearchStrategy[tuple[Pad, ...]]:
    pad = st.builds(Pad, axis=st.integers(0, rank - 1), begin=st.integers(0, 2), end=st.integers(0, 2))
    return st.just(()) | st.just(()) | pad.map(lambda one: (one,))


def random_array(shape: Shape, dtype: str, seed: int) -> Array:
    """Return values from all over the type's range; floats stay near 1, so that errors can be relative to them."""
    rng = np.random.default_rng(seed)
    if dtype == "str":
        return rng.integers(1000, size=shape).astype("U3")
    if dtype == "bool":
        return rng.integers(2, size=shape).astype(bool)
    if dtype in INTEGERS:
        bounds = np.iinfo(dtype)
        return rng.integers(bounds.min, bounds.max, size=shape, dtype=dtype, endpoint=True)
    return rng.uniform(-4, 4, shape).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


@EVERY
@given(resizes(LINEAR | CUBIC | OTHERS | AREAS), st.sampled_from(NUMBERS), st.integers(0, 2**32 - 1))
@example(((10, 40), ResizeSpec(  # the filter widens though no coordinate moves
    kernel=Linear(antialias=Antialias.SHRINKING),
    coordinates=Coordinates.ALIGN_CORNERS,
    target=Sizes((10, 39)),
    aspect=Aspect.NOT_LARGER,
)), "float32", 0)  # fmt: skip
@example(((1, 2, 3, 5), ResizeSpec(  # inputs of one axis are copied first, so that those beside another's are fewer
    kernel=Cubic(a=-0.7297027748021796),
    coordinates=Crop(roi=((0.0, 0.0), (0.0, 0.0), (1.0, -0.5), (0.0, 0.0))),
    axes=(0, 1, 3, 2),
    target=Scales((1.0, 0.5, 0.5, 0.5)),
)), "float32", 0)  # fmt: skip
@example(((1, 2), ResizeSpec(  # a triangle narrower than a pixel ends exactly on one
    kernel=Linear(antialias=Antialias.ANY_SHRINKING, exclude_outside=True), target=Sizes((5, 1))
)), "float64", 0)  # fmt: skip
@example(((4, 4), ResizeSpec(  # no output, so no widening
    kernel=Cubic(a=-0.5, antialias=Antialias.SHRINKING), target=Sizes((0, 2))
)), "float32", 0)  # fmt: skip
def test_weighs_as_the_oracle(drawn: tuple[Shape, ResizeSpec], dtype: str, seed: int) -> None:
    shape, spec = drawn
    x = random_array(shape, dtype, seed)
    ours, theirs = resize(x, spec), expected(x, spec)
    assert agree_with_oracle(x, spec, ours, theirs), f"{shape} {spec}: {ours}, not {stored(theirs, x.dtype)}"


@pytest.mark.parametrize("place", [Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC])
@pytest.mark.parametrize("kernel", [Box, Gaussian])
def test_pixels_at_a_cut(kernel: type[Box | Gaussian], place: Coordinates) -> None:
    """Of all sizes up to 30, float64 rounds offsets across the cut in some fifteen (12 to 11: both kernels)."""
    for n, m in itertools.combinations(range(1, 31), 2):
        spec = ResizeSpec(
            kernel=kernel(antialias=Antialias.SHRINKING), coordinates=place, axes=(0,), target=Sizes((n,))
        )
        x = np.cos(np.arange(1.0, m + 1) ** 2)  # shrinks from the larger
        np.testing.assert_allclose(resize(x, spec), expected(x, spec), rtol=0, atol=1e-12, err_msg=f"{m} to {n}")


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Shape, ResizeSpec]:
    """Draw a resize of a box, or of an image that is smoothed before."""
    shape = draw(st.lists(st.integers(1, 12), min_size=2, max_size=3).map(tuple))
    kernel = draw(LINEAR | CUBIC | OTHERS | NEAREST)
    sums = not isinstance(kernel, Nearest)
    box = []
    for length in shape[:2]:
        start = draw(st.floats(0, length - 0.5, width=32))
        box.append((start, draw(st.floats(start + 0.25, length))))
    return shape, ResizeSpec(
        kernel=kernel,
        coordinates=draw(st.sampled_from([Coordinates.HALF_PIXEL, Coordinates.ASYMMETRIC])),
        axes=(0, 1),
        target=Sizes(draw(st.tuples(st.integers(0, 14), st.integers(0, 14)))),
        box=tuple(box) if draw(st.booleans()) else None,
        before=Smooth(border=draw(st.sampled_from(Border))) if sums and draw(st.booleans()) else None,
    )


@settings(EVERY, max_examples=30)
@given(boxes(), st.sampled_from(("float64", "uint8")), st.integers(0, 2**32 - 1))
def test_boxes_and_smoothed_images_as_the_oracle(drawn: tuple[Shape, ResizeSpec], dtype: str, seed: int) -> None:
    shape, spec = drawn
    x = random_array(shape, dtype, seed)
    ours, theirs = resize(x, spec), expected(x, spec)
    assert agree_with_oracle(x, spec, ours, theirs), f"{shape} {spec}: {ours}, not {stored(theirs, x.dtype)}"


@EVERY
@given(resizes(NEAREST), st.sampled_from(NUMBERS), st.integers(0, 2**32 - 1))
def test_nearest_copies_bit_for_bit(drawn: tuple[Shape, ResizeSpec], dtype: str, seed: int) -> None:
    shape, spec = drawn
    x = random_array(shape, dtype, seed)
    ours, theirs = resize(x, spec), expected(x, spec)
    assert ours.dtype == x.dtype
    assert ours.shape == theirs.shape
    assert ours.tobytes() == theirs.tobytes(), f"{shape} {spec}: {ours}, not {theirs}"


@EVERY
@given(resizes(NEAREST, crops=False), st.sampled_from(("bool", "str")), st.integers(0, 2**32 - 1))
def test_nearest_copies_what_is_no_number(drawn: tuple[Shape, ResizeSpec], dtype: str, seed: int) -> None:
    shape, spec = drawn
    if spec.pads:  # a pad is a number
        return
    x = random_array(shape, dtype, seed)
    ours = resize(x, spec)
    assert ours.dtype == x.dtype
    assert ours.tolist() == expected(x, spec).tolist()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_nearest_copies_infinities_and_nan(dtype: str) -> None:
    x = np.array([1, np.inf, 2, np.nan, -np.inf, -0.0]).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
    spec = ResizeSpec(kernel=Nearest(rounding=Rounding.FLOOR), target=Sizes((12,)))
    assert resize(x, spec).tobytes() == expected(x, spec).tobytes()
    assert np.isinf(resize(x, spec).astype(float)).sum() == 4


@pytest.mark.sampled(20)
@pytest.mark.parametrize("arithmetic", Arithmetic)
@pytest.mark.parametrize(
    ("coordinates", "rounding"),
    [
        (Coordinates.HALF_PIXEL, Rounding.ROUND_PREFER_FLOOR),
        (Coordinates.HALF_PIXEL, Rounding.ROUND_PREFER_CEIL),
        (Coordinates.ASYMMETRIC, Rounding.FLOOR),
        (Coordinates.ASYMMETRIC, Rounding.SIMPLE),
    ],
)
def test_whole_scales_repeat_pixels(coordinates: Coordinates, rounding: Rounding, arithmetic: Arithmetic) -> None:
    for scale, length in itertools.product(range(1, 17), (1, 2, 3, 7, 10, 64, 2000)):
        x, scales = np.arange(length), Scales((float(scale),))
        spec = ResizeSpec(kernel=Nearest(rounding=rounding), coordinates=coordinates, target=scales)
        assert resize(x, spec, arithmetic=arithmetic).tolist() == np.repeat(x, scale).tolist()


@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_nearest_keeps_integers_that_no_float64_holds(dtype: str) -> None:
    x = np.array([2**53 + 1, 2**63 - 1, 3], dtype=dtype)
    spec = ResizeSpec(kernel=Nearest(rounding=Rounding.FLOOR), coordinates=Coordinates.ASYMMETRIC, target=Sizes((6,)))
    assert resize(x, spec).tolist() == [2**53 + 1, 2**53 + 1, 2**63 - 1, 2**63 - 1, 3, 3]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_round_half_to_even(dtype: str) -> None:
    x = np.array([0, 1, 2, 3, 4, 7], dtype=dtype)
    spec = ResizeSpec(kernel=Linear(), coordinates=Coordinates.ASYMMETRIC, target=Scales((2.0,)))
    assert resize(x, spec).tolist() == [0, 0, 1, 2, 2, 2, 3, 4, 4, 6, 7, 7]


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64"])
def test_negative_integers_round_half_to_even(dtype: str) -> None:
    x = np.array([-4, -3, -2, -1], dtype=dtype)
    spec = ResizeSpec(kernel=Linear(), coordinates=Coordinates.ASYMMETRIC, target=Scales((2.0,)))
    assert resize(x, spec).tolist() == [-4, -4, -3, -2, -2, -2, -1, -1]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_saturate_where_cubic_overshoots(dtype: str) -> None:
    bounds = np.iinfo(dtype)
    x = np.array([bounds.min] * 4 + [bounds.max] * 4, dtype=dtype)
    spec = ResizeSpec(kernel=Cubic(a=-0.75), target=Sizes((16,)))
    ours = resize(x, spec)
    assert set(ours[:7].tolist()) == {bounds.min}
    assert set(ours[9:].tolist()) == {bounds.max}
    assert agree_with_oracle(x, spec, ours, expected(x, spec))


def test_float16_overflows_to_infinity() -> None:
    x = np.array([0, 0, 65504, 65504, 0, 0], dtype=np.float16)
    assert np.isinf(resize(x, ResizeSpec(kernel=Cubic(a=-0.75), target=Sizes((12,))))).any()


@pytest.mark.parametrize("dtype", ["bool", "str"])
def test_what_is_no_number_is_not_averaged(dtype: str) -> None:
    with pytest.raises(SpecError, match="copied"):
        resize(random_array((4,), dtype, 0), ResizeSpec(kernel=Linear(), target=Sizes((8,))))


@EVERY
@given(resizes(NEAREST | LINEAR | CUBIC | AREAS), st.data())
def test_memory_layout_does_not_matter(drawn: tuple[Shape, ResizeSpec], data: st.DataObject) -> None:
    shape, spec = drawn
    x = _view(shape, data)
    before = x.copy()
    ours = resize(x, spec)
    assert ours.tobytes() == resize(np.ascontiguousarray(x), spec).tobytes()
    assert x.tobytes() == before.tobytes()
    assert not np.may_share_memory(ours, x)


@pytest.mark.parametrize("length", [3, 5, 9, 17])
def test_rows_far_apart_give_the_same_bits(length: int) -> None:
    """One output in a row is a product with a vector: BLAS sums it otherwise where the rows are not packed."""
    spec = ResizeSpec(
        kernel=Linear(antialias=Antialias.SHRINKING), coordinates=Coordinates.HALF_PIXEL, target=Sizes((16, 1))
    )
    x = random_array((32, length), "float32", 0)[::2]
    assert resize(x, spec).tobytes() == resize(np.ascontiguousarray(x), spec).tobytes()


def _view(shape: Shape, data: st.DataObject) -> Array:
    """Return a strided, reversed or transposed view of this shape."""
    steps = [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in shape]
    order = data.draw(st.permutations(range(len(shape))))
    stored_shape = [0] * len(shape)
    for position, axis in enumerate(order):
        stored_shape[position] = shape[axis] * abs(steps[axis])
    whole = random_array(tuple(stored_shape), "float32", 0)
    return whole.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in steps)]


@pytest.mark.parametrize("kernel", [Nearest(rounding=Rounding.FLOOR), Linear(), Cubic(a=-0.5), Area()], ids=repr)
@pytest.mark.parametrize(
    ("shape", "sizes"),
    [((3,), (0,)), ((2, 3), (0, 4)), ((2, 3), (4, 0)), ((0, 3), (0, 5)), ((1,), (1,)), ((1, 1), (5, 7)), ((9,), (1,))],
    ids=str,
)
def test_no_element_and_one_element(kernel: Nearest | Linear | Cubic | Area, shape: Shape, sizes: Shape) -> None:
    spec = ResizeSpec(kernel=kernel, coordinates=Coordinates.ASYMMETRIC, target=Sizes(sizes))
    x = np.arange(1.0, 1 + math.prod(shape)).reshape(shape)
    ours = resize(x, spec)
    assert ours.shape == sizes
    assert agree_with_oracle(x, spec, ours, expected(x, spec))


def test_random_readings_in_exact_arithmetic() -> None:
    wrong = [verdict for verdict in sweep_oracle(250, seed=2024) if verdict.outcome is not Outcome.EQUAL]
    assert not wrong, "\n".join(map(str, wrong))
