"""A piece of an output has the bits of the whole, whatever the resize, the element type, and the place of the cuts."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from itertools import pairwise
from typing import Any
from unittest.mock import Mock, patch

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings, strategies as st
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from ir_interp import ReadError, ResizeSpec, ShapeError, SpecError, region, resize
from ir_interp.libraries import get, names, parse
from ir_interp.plan import integer_sums, taps
from ir_interp.specs import (
    Alpha,
    Antialias,
    Area,
    Arithmetic,
    Box,
    Coordinates,
    Crop,
    Cubic,
    Hamming,
    IntegerRounding,
    Kernel,
    Lanczos,
    Length,
    Linear,
    Mean,
    Nearest,
    Pad,
    Rounding,
    Scales,
    Sizes,
    Step,
)

Array = NDArray[Any]

RUNTIMES = (Arithmetic.EXACT, Arithmetic.ONNXRUNTIME, Arithmetic.OPENVINO, Arithmetic.LITERT)
FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("uint8", "int8", "int16", "uint16", "int32", "int64", "uint32")
CALLS = [f"{name}:{word}" for name in names() for word in get(name).dialect.vocabulary[get(name).first]]
ANTIALIASED = ["torch:bilinear,antialias=True", "torch:bicubic,antialias=True", "tensorflow:bicubic,antialias=True"]


def _array(shape: tuple[int, ...], dtype: str, seed: int, *, special: bool) -> Array:
    rng = np.random.default_rng(seed)
    if dtype in INTEGERS:
        bounds = np.iinfo(dtype)
        return rng.integers(bounds.min, bounds.max, shape, dtype, endpoint=True)
    x = rng.standard_normal(shape) * 100
    if special and x.size:
        for value in (np.nan, np.inf, -np.inf, -0.0, 0.0):
            x[tuple(rng.integers(0, length) for length in shape)] = value
    return x.astype(bfloat16 if dtype == "bfloat16" else dtype)


def _cuts(draw: st.DrawFn, length: int) -> list[slice]:
    inner = draw(st.lists(st.integers(0, length), max_size=3)) if length else []
    edges = [0, *sorted(inner), length]
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _check_tiling(x: Array, spec: ResizeSpec, cuts: list[list[slice]], longest: int) -> None:
    """Compare the pieces between cuts, each of the whole input and of what it needs of it, with the whole.

    Along axes of more than ``longest`` outputs, nothing is computed for the outputs of other pieces.
    """
    wanted = resize(x, spec)
    with patch.object(taps, "_MOST_KEPT", longest):
        for number in np.ndindex(*map(len, cuts)):
            piece = tuple(each[place] for each, place in zip(cuts, number, strict=True))
            needed = region(spec, x.shape, piece)
            alone = resize(np.array(x[needed]), spec, region=piece, whole=x.shape)
            assert alone.dtype == wanted.dtype
            assert _bits(alone) == _bits(wanted[piece]), (piece, needed)
            assert _bits(resize(x, spec, region=piece)) == _bits(alone)


def _bits(x: Array) -> bytes:
    """Return the bytes of an array, of NaN no more than that it is one: which one decides the compiler of NumPy."""
    return x.tobytes() if x.dtype.kind in "iu" else np.where(x != x, np.full((), np.nan, x.dtype), x).tobytes()


_LONGEST = st.sampled_from([2**16, 6])
_LENGTHS = st.sampled_from([1, 2, 3, 5, 8, 17, 33, 70])


@st.composite
def _kernels(draw: st.DrawFn) -> Kernel:
    antialias = draw(st.sampled_from(Antialias))
    cut = draw(st.booleans()) and antialias is not Antialias.OFF
    kernels: list[Kernel] = [
        Nearest(rounding=draw(st.sampled_from(Rounding))),
        Linear(antialias=antialias, exclude_outside=cut),
        Cubic(a=-0.75, antialias=antialias, exclude_outside=cut),
        Cubic(a=-0.5, exclude_outside=True),
        Area(),
        Mean(),
        Box(antialias=antialias),
        Hamming(antialias=antialias),
        Lanczos(radius=3, antialias=antialias),
    ]
    return draw(st.sampled_from(kernels))


@st.composite
def _runtime_cases(draw: st.DrawFn) -> tuple[Array, ResizeSpec, list[list[slice]]]:
    shape = tuple(draw(st.lists(_LENGTHS, min_size=1, max_size=4)))
    axes = tuple(draw(st.lists(st.integers(0, len(shape) - 1), min_size=1, unique=True)))
    kernel = draw(_kernels())
    coordinates: Coordinates | Crop = draw(st.sampled_from(Coordinates))
    if isinstance(kernel, Area | Mean):
        coordinates = Coordinates.ASYMMETRIC
    elif draw(st.integers(0, 4)) == 0:
        edges = st.sampled_from([-0.3, 0.0, 0.25, 0.8, 1.0, 1.2])
        coordinates = Crop(roi=tuple((draw(edges), draw(edges)) for _ in axes), extrapolation=7.5)
    if draw(st.booleans()):
        target: Sizes | Scales = Sizes(tuple(draw(_LENGTHS) for _ in axes))
    else:
        target = Scales(tuple(draw(st.sampled_from([0.3, 0.5, 1.0, 1.4, 2.0, 2.6])) for _ in axes))
    pads = st.integers(0, 3)
    spec = ResizeSpec(
        kernel=kernel,
        coordinates=coordinates,
        axes=axes,
        target=target,
        step=draw(st.sampled_from(Step)),
        length=draw(st.sampled_from(Length)),
        pads=tuple(Pad(axis=axis, begin=draw(pads), end=draw(pads)) for axis in axes) if draw(st.booleans()) else (),
        arithmetic=draw(st.sampled_from(RUNTIMES)),
        integers=draw(st.sampled_from([None, None, *IntegerRounding])),
    )
    dtype = draw(st.sampled_from(FLOATS + INTEGERS))
    x = _array(shape, dtype, draw(st.integers(0, 99)), special=draw(st.booleans()))
    return x, spec, [_cuts(draw, length) for length in resize(x, spec).shape]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(_runtime_cases(), _LONGEST)
def test_any_tiling_is_the_whole(case: tuple[Array, ResizeSpec, list[list[slice]]], longest: int) -> None:
    _check_tiling(*case, longest)


@st.composite
def _library_cases(draw: st.DrawFn) -> tuple[Array, ResizeSpec, list[list[slice]]]:
    channels = draw(st.sampled_from([(), (1,), (3,), (4,)]))
    height, width = (draw(st.integers(1, 60)) for _ in range(2))
    dtype = draw(st.sampled_from(["uint8", "uint8", "float32", "uint16"]))
    try:
        spec = parse(draw(st.sampled_from(CALLS + ANTIALIASED)), dtype=dtype)
    except (ReadError, SpecError):  # not for elements of this type
        reject()
    target: Sizes | Scales = Sizes((draw(st.integers(1, 60)), draw(st.integers(1, 60))))
    if draw(st.booleans()):
        factor = st.sampled_from([0.25, 1 / 3, 0.37, 0.5, 1.0, 1.5, 2.0])
        target = Scales((draw(factor), draw(factor)))
    try:
        spec = replace(spec, axes=(0, 1), target=target)
    except SpecError:  # it takes no factors
        reject()
    if channels == (4,) and dtype == "uint8" and not isinstance(spec.kernel, Nearest):
        spec = replace(spec, alpha=Alpha.PREMULTIPLIED)
    x = _array((height, width, *channels), dtype, draw(st.integers(0, 99)), special=False)
    try:
        shape = resize(x, spec).shape
    except SpecError:  # its sums are those of integers of another width
        reject()
    return x, spec, [_cuts(draw, length) for length in shape]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(_library_cases(), _LONGEST)
def test_any_tiling_of_a_library_is_the_whole(case: tuple[Array, ResizeSpec, list[list[slice]]], longest: int) -> None:
    _check_tiling(*case, longest)


LARGE = [  # axes of many tiles, of long sums, of short last blocks, of one row, of channels last
    ((601, 903), (0, 1), (150, 226)),
    ((601, 903), (0, 1), (1205, 1300)),
    ((4000, 37), (0,), (9,)),
    ((37, 4000), (1,), (9,)),
    ((2600, 33, 5), (0, 1), (11, 30)),
    ((129, 1000), (1,), (333,)),
    ((100_003,), (0,), (70_001,)),
    ((300, 401, 3), (0, 1), (171, 205)),
    ((3, 2, 90, 70, 11), (2, 3, 4), (40, 141, 23)),
]
SUMMED = [
    Linear(),
    Linear(antialias=Antialias.SHRINKING),
    Cubic(a=-0.5, antialias=Antialias.SHRINKING, exclude_outside=True),
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kernel", SUMMED, ids=lambda kernel: str(kernel)[:20])
@pytest.mark.parametrize(("shape", "axes", "sizes"), LARGE, ids=str)
def test_pieces_of_large_arrays(
    shape: tuple[int, ...], axes: tuple[int, ...], sizes: tuple[int, ...], kernel: Kernel, dtype: str
) -> None:
    spec = ResizeSpec(kernel=kernel, axes=axes, target=Sizes(sizes), arithmetic=Arithmetic.ONNXRUNTIME)
    rng = np.random.default_rng(7)
    x = rng.standard_normal(shape).astype(dtype)
    wanted = resize(x, spec)
    for _ in range(6):
        starts = [int(rng.integers(0, length)) for length in wanted.shape]
        piece = tuple(
            slice(start, start + int(rng.choice([1, 2, 9, 17, 64, 5000])))
            for start in starts
        )  # fmt: skip
        alone = resize(np.array(x[region(spec, shape, piece)]), spec, region=piece, whole=shape)
        np.testing.assert_array_equal(alone, wanted[piece])


def test_a_piece_is_of_what_the_mistakes_say() -> None:
    spec = ResizeSpec(kernel=Linear(), axes=(0,), target=Sizes((5,)))
    x = np.arange(20, dtype=np.float32).reshape(10, 2)
    with pytest.raises(ShapeError, match=r"^x has shape \[10, 2\]; this region needs \[4, 2\]: \[0:4, 0:2\]$"):
        resize(x, spec, region=(slice(0, 2),), whole=(10, 2))
    with pytest.raises(SpecError, match=r"^whole has no effect without region$"):
        resize(x, spec, whole=(10, 2))
    with pytest.raises(SpecError, match=r"^region holds slice\(0, 4, 2\); expected slices of step 1$"):
        region(spec, x.shape, (slice(0, 4, 2),))
    with pytest.raises(SpecError, match=r"^region holds slice\('a', None, None\); expected slices of integers$"):
        region(spec, x.shape, (slice("a", None),))
    with pytest.raises(SpecError, match=r"^region is 3; expected a slice for each axis$"):
        region(spec, x.shape, 3)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match=r"^region has 3 slices; the output has rank 2$"):
        region(spec, x.shape, (slice(None),) * 3)
    out = np.empty((2, 2), np.float32)
    assert resize(x, spec, region=(slice(-2, None),), out=out) is out
    np.testing.assert_array_equal(out, resize(x, spec)[-2:])


def test_a_piece_of_what_lies_in_pads_needs_no_input() -> None:
    spec = ResizeSpec(kernel=Linear(), axes=(0,), target=Sizes((40,)), pads=(Pad(axis=0, begin=10, end=0),))
    assert region(spec, (10,), (slice(0, 5),)) == (slice(0, 0),)
    assert resize(np.empty(0, np.float32), spec, region=(slice(0, 5),), whole=(10,)).tolist() == [0.0] * 5


def test_small_pieces_of_images_that_no_memory_holds() -> None:
    spec = ResizeSpec(kernel=Cubic(a=-0.5, antialias=Antialias.SHRINKING), axes=(0, 1), target=Scales((0.25, 0.25)))
    needed = region(spec, (400_000, 400_000), (slice(50_000, 50_008), slice(99_990, 100_000)))
    assert needed == (slice(199_994, 200_038), slice(399_954, 400_000))
    x = np.ones([each.stop - each.start for each in needed], np.uint8)
    piece = (slice(50_000, 50_008), slice(99_990, 100_000))
    assert (resize(x, spec, region=piece, whole=(400_000, 400_000)) == 1).all()


def test_what_holds_for_the_whole_is_found_once_for_all_of_its_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long axis it takes longer than the sums of a piece."""
    largest = Mock(side_effect=integer_sums._size)
    monkeypatch.setattr(integer_sums, "_size", largest)
    spec = ResizeSpec(kernel=Linear(antialias=Antialias.SHRINKING), axes=(0,), target=Scales((0.25,)))
    x = np.arange(4321, dtype=np.uint8)
    for start in range(0, 1000, 100):
        resize(x, spec, region=[slice(start, start + 100)])
    assert largest.call_count == 1


def test_a_piece_has_the_neighbours_along_an_axis_that_keeps_its_length() -> None:
    """Intel's library takes them, times 0; so they are there."""
    spec = replace(parse("opencv:cubic"), axes=(0, 1), target=Sizes((9, 4)))
    x = np.random.default_rng(0).integers(0, 256, (9, 8, 3)).astype(np.uint8)
    piece = (slice(3, 4), slice(1, 3))
    needed = region(spec, x.shape, piece)
    assert needed[0] == slice(2, 6)
    np.testing.assert_array_equal(resize(x[needed], spec, region=piece, whole=x.shape), resize(x, spec)[piece])


@pytest.mark.parametrize("dtype", ["float32", ">f4", "float64", "uint16"])
@pytest.mark.parametrize("value", [1.0, np.nan])
def test_a_piece_of_an_image_that_keeps_its_height(dtype: str, value: float) -> None:
    """The part that a piece needs has the neighbours that integers are summed with; floats have none."""
    spec = replace(parse("opencv:linear", dtype=np.dtype(dtype).name), axes=(0, 1), target=Scales((1.0, 0.25)))
    x = np.arange(24).reshape(3, 8).astype(dtype)
    if np.dtype(dtype).kind == "f":
        x[2, 0] = value
    piece = (slice(1, 2), slice(0, 2))
    needed = region(spec, x.shape, piece)
    assert needed[0] == slice(1, 3)
    np.testing.assert_array_equal(resize(x[needed], spec, region=piece, whole=x.shape), resize(x, spec)[piece])


def test_some_channels_of_premultiplied_blocks_that_lack_pixels() -> None:
    spec = replace(parse("opencv:area"), axes=(0, 1), target=Scales((0.25, 0.25)), alpha=Alpha.PREMULTIPLIED)
    x = np.random.default_rng(0).integers(0, 256, (3, 7, 4)).astype(np.uint8)
    piece = (slice(0, 1), slice(1, 2), slice(1, 4))
    np.testing.assert_array_equal(resize(x, spec, region=piece), resize(x, spec)[piece])


HALVED = [Linear(antialias=Antialias.SHRINKING), Nearest(rounding=Rounding.FLOOR), Area(), Lanczos(radius=3)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["float32", "float16", "uint8", "uint16"])
@pytest.mark.parametrize("kernel", HALVED, ids=lambda kernel: str(kernel)[:20])
def test_a_window_of_a_long_axis_needs_no_more_than_itself(kernel: Kernel, dtype: str) -> None:
    count = 10**6 if isinstance(kernel, Lanczos) else 10**9  # bits of integers depend on the largest negative weights
    coordinates = Coordinates.ASYMMETRIC if isinstance(kernel, Area) else Coordinates.HALF_PIXEL
    spec = ResizeSpec(kernel=kernel, coordinates=coordinates, axes=(0,), target=Scales((0.5,)))
    start, stop = count // 4, count // 4 + 256
    (needed,) = region(spec, (count,), (slice(start, stop),))
    around = np.random.default_rng(0).integers(0, 128, 2 * (stop - start) + 32).astype(dtype)
    x = around[needed.start - 2 * start + 16 : needed.stop - 2 * start + 16]
    y = resize(x, spec, region=(slice(start, stop),), whole=(count,))
    np.testing.assert_array_equal(y, resize(around, spec)[8:-8])


WINDOWS = [  # a call, the type of the pixels, the length of an axis
    ("opencv:area", "uint16", 40_000),
    ("opencv:area", "uint16", 40_003),  # the last blocks lack pixels, by whose number OpenCV divides
    ("opencv:lanczos4", "uint8", 10**9),
    ("pillow:bicubic", "uint8", 10**9),
    ("torch:bilinear,antialias=True", "uint8", 10**6),
    ("scipy:1", "uint8", 10**9),
]


@pytest.mark.parametrize(("call", "dtype", "length"), WINDOWS)
def test_a_window_of_integers_of_a_library_needs_no_memory_for_the_others(call: str, dtype: str, length: int) -> None:
    spec, shape = replace(parse(call, dtype=dtype), axes=(0, 1), target=None), (length, length)
    window = (slice(100, 108), slice(length // 2 - 8, (length + 1) // 2))
    tracemalloc.start()
    try:
        needed = region(spec, shape, window, scales=(0.5, 0.5))
        x = np.full([each.stop - each.start for each in needed], 7, dtype)
        assert (resize(x, spec, scales=(0.5, 0.5), region=window, whole=shape) == 7).all()
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()


def test_an_axis_whose_taps_fit_no_memory_is_refused_before_they_are_computed() -> None:
    spec = replace(parse("torch:bilinear,antialias=True"), axes=(0,), target=Scales((0.5,)))
    with pytest.raises(ShapeError, match=r"^resizing \[1000000000\] to \[500000000\] needs 89\.4 GiB; the limit"):
        resize(np.zeros(513, np.uint8), spec, region=(slice(0, 256),), whole=(10**9,))
